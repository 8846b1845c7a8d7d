#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"

namespace porthole::client {

/// A resource that a server serves, built-in or custom.
struct DiscoveredResource {
    std::string group, version, kind, plural;
    bool namespaced = false;
    std::vector<std::string> verbs;
    /// For Client's calls; only its names and the flags Resource and Namespaced are set. Points into this object, which must not move.
    schema::Kind table;

    bool has_verb(std::string_view verb) const;
    /// "deployments.apps", "pods"
    std::string name() const { return group.empty() ? plural : plural + "." + group; }
};
using DiscoveredResourcePtr = std::shared_ptr<const DiscoveredResource>;

/// The resources that a server serves.
struct Discovery {
    std::vector<DiscoveredResourcePtr> resources;  ///< each in its preferred version, without subresources
    std::vector<std::string> failures;             ///< groups and versions that did not answer, with the reason
};

/// Asks the server for its resources. Groups that do not answer are failures in the result. Error: as Client::get_raw(), if the list of
/// groups is not available.
Task<Discovery> discover(Client& client);

}  // namespace porthole::client
