#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kubelet/container/field_path.h"

namespace porthole::kubelet {

/// Of the variables of one container together, and of its command and arguments. Linux starts no program with more than 6 MiB of them and
/// Windows none with more than 64 KiB, but a few variables of which each names the one before many times would fill any memory.
inline constexpr std::size_t MaxEnvironmentBytes = 8 << 20;

/// Looks a variable up; nullptr leaves its reference unchanged. The result is used before the next call.
using Lookup = std::function<const std::string*(std::string_view name)>;

/// Replaces `$(NAME)` in commands, arguments and environment values: `$$` is a literal `$`, so `$$(NAME)` stays `$(NAME)`.
/// Error: BadRequest if the result has more than `most` bytes.
Result<std::string> expand(std::string_view text, const Lookup& lookup, std::size_t most = MaxEnvironmentBytes);

/// Name and value, in the order of definition; names are unique.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// Finds variables by name in an environment that outlives it and does not change.
class VariablesByName {
public:
    explicit VariablesByName(const Environment& environment) {
        for (const auto& [name, value] : environment) values_.emplace(name, &value);
    }
    /// nullptr if there is none.
    const std::string* find(std::string_view name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? nullptr : found->second;
    }

private:
    std::unordered_map<std::string_view, const std::string*> values_;
};

/// Reads values of a pod that are stored in other objects.
class ObjectSource {
public:
    virtual ~ObjectSource() = default;
    /// Error: NotFound with upstream's message; others if the API cannot be asked. The same for secret().
    virtual Task<std::shared_ptr<const core::ConfigMap>> config_map(std::string namespace_, std::string name) = 0;
    virtual Task<std::shared_ptr<const core::Secret>> secret(std::string namespace_, std::string name) = 0;
};

/// The environment variables that describe `services`, named as by upstream and Docker links.
Environment service_environment(const std::vector<std::shared_ptr<const core::Service>>& services);
/// The services that a pod gets variables for: those of its namespace if it enables service links, and always `kubernetes` of the default
/// namespace.
std::vector<std::shared_ptr<const core::Service>> services_for(const core::Pod& pod,
                                                               const std::vector<std::shared_ptr<const core::Service>>& all);

/// All variables of a container: envFrom, then env, with `$(NAME)` expanded, then service variables not set otherwise.
/// Error: NotFound and BadRequest with upstream's text for a missing reference (shown as CreateContainerConfigError); BadRequest beyond
/// MaxEnvironmentBytes.
Task<Environment> make_environment(const core::Pod& pod, const core::Container& container, const DownwardContext& context,
                                   Environment services, ObjectSource& objects);

}  // namespace porthole::kubelet
