#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Maintains `status.volumesAttached` of nodes, which tells kubelets what they may mount.
///
/// Reports of one node are written one after the other, each with the newest state, so that a volume that is about to be detached does not
/// reappear. It compares with its last write as well as with the cache, which may lag behind.
class NodeReport {
public:
    using Names = std::set<std::string>;

    NodeReport(client::Client& client, client::Informer<api::core::v1::Node>& nodes) : client_(client), nodes_(nodes) {}

    /// Whether the node may use the volume, from now on.
    void set_attached(const std::string& node, const std::string& volume, bool attached);
    /// Ends when the node's status shows its volumes. A node that does not exist has none.
    Task<> write(std::string node);
    void node_gone(const std::string& node) { told_.erase(node); }

private:
    /// What a node has been told.
    struct Told {
        std::optional<Names> names;  ///< the last that were stored
        /// As the cache had it when it was last looked at, and showed, or was given, the node's volumes. They are not compared again before
        /// one of both changes: a node may have thousands, and each asks for a report.
        std::shared_ptr<const api::core::v1::Node> seen;
    };
    Task<> write_now(std::string node);

    client::Client& client_;
    client::Informer<api::core::v1::Node>& nodes_;
    std::map<std::string, Names> attached_;  // by node
    std::map<std::string, Told> told_;
    std::map<std::string, WaitList<void>> busy_;
};

}  // namespace porthole::controllers
