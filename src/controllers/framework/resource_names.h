#pragma once
#include <string>
#include <string_view>

#include "client/client.h"
#include "schema/registry.h"

namespace porthole::controllers {

/// Under which name the objects of a kind are served.
struct ResourceName {
    std::string group, version, plural;
    bool namespaced = true;
    /// "services", "deployments.apps"
    std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
    /// The API's path of the subresource scale of one of its objects.
    std::string scale_path(const std::string& namespace_, const std::string& name) const;
};

/// "apps" of "apps/v1", "" of "v1".
std::string group_of_api_version(std::string_view api_version);

/// Finds the resources of kinds: built-in ones in the tables, others by discovery. Holds no state.
class ResourceNames {
public:
    ResourceNames(client::Client& client, const schema::Registry& kinds) : client_(client), kinds_(kinds) {}

    /// In the version that the server prefers. Errors: NotFound with upstream's message; the API's.
    Task<ResourceName> find(std::string group, std::string kind) const;

    /// Whether its objects have the subresource scale: by discovery.
    Task<bool> has_scale(ResourceName resource) const;

private:
    Task<schema::Value> resources(std::string group, std::string version) const;
    Task<std::vector<std::string>> served_versions(std::string group) const;

    client::Client& client_;
    const schema::Registry& kinds_;
};

}  // namespace porthole::controllers
