#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kubelet/container/field_path.h"

namespace porthole::kubelet {

/// Looks a variable up; nullopt leaves its reference unchanged.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// Replaces `$(NAME)` in commands, arguments and environment values: `$$` is a literal `$`, so `$$(NAME)` stays `$(NAME)`.
std::string expand(std::string_view text, const Lookup& lookup);

/// Name and value, in the order of definition; names are unique.
using Environment = std::vector<std::pair<std::string, std::string>>;
std::optional<std::string> find_variable(const Environment& environment, std::string_view name);

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
/// Error: NotFound and BadRequest with upstream's text for a missing reference (shown as CreateContainerConfigError).
Task<Environment> make_environment(const core::Pod& pod, const core::Container& container, const DownwardContext& context,
                                   Environment services, ObjectSource& objects);

}  // namespace porthole::kubelet
