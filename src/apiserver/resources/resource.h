#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/strategy/conversion.h"
#include "apiserver/strategy/strategy.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// One kind in one served version. Points into the registry and the table that it comes from.
struct Resource {
    const schema::Kind* kind = nullptr;    ///< as served
    const schema::Kind* stored = nullptr;  ///< as stored
    const Strategy* strategy = nullptr;
    Conversion conversion;
    std::string prefix;  ///< of the store's keys, "/registry/apps/deployments/"

    /// Stored bytes can be sent as they are.
    bool sends_stored_bytes() const { return kind == stored; }
    std::string key(std::string_view namespace_, std::string_view name) const;
    /// The prefix of everything in a namespace; of all namespaces for "".
    std::string prefix_of(std::string_view namespace_) const;
};

/// Everything served, by group, version and plural. Resources have stable addresses.
class ResourceTable {
public:
    /// A kind without an entry in `strategies` gets the default one.
    ResourceTable(const schema::Registry& registry, std::vector<Strategy> strategies, Conversions conversions);

    /// nullptr when nothing is served there.
    const Resource* find(std::string_view group, std::string_view version, std::string_view plural) const;
    /// The resource of a kind in its stored version. Requires: there is one.
    const Resource& stored(std::string_view group, std::string_view plural) const;
    template <class T>
    const Resource& of() const {
        return stored(T::kind().group, T::kind().plural);
    }
    /// The stored resource under whose prefix `key` is; nullptr for other keys.
    const Resource* find_by_key(std::string_view key) const;
    /// The served kinds whose objects are stored as `stored`, by group and version.
    std::vector<const schema::Kind*> served_as(const schema::Kind& stored) const;
    /// Those in their stored version, in the order of the registry.
    const std::vector<const Resource*>& all_stored() const { return stored_; }

private:
    std::vector<std::unique_ptr<Strategy>> strategies_;
    std::map<std::string, std::unique_ptr<Resource>, std::less<>> by_path_;  // "group/version/plural"
    std::map<std::string, const Resource*, std::less<>> by_prefix_;
    std::vector<const Resource*> stored_;
};

}  // namespace porthole::apiserver
