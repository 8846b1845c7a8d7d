#pragma once
#include <map>
#include <memory>
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

    /// `attached` returns the volumes that a node may use; called for each report.
    NodeReport(client::Client& client, client::Informer<api::core::v1::Node>& nodes, std::function<Names(const std::string& node)> attached)
        : client_(client), nodes_(nodes), attached_(std::move(attached)) {}

    /// Ends when the node's status shows its volumes. A node that does not exist has none.
    Task<> write(std::string node);
    void node_gone(const std::string& node) { written_.erase(node); }

private:
    Task<> write_now(std::string node);

    client::Client& client_;
    client::Informer<api::core::v1::Node>& nodes_;
    std::function<Names(const std::string&)> attached_;
    std::map<std::string, Names> written_;  // the last that was stored
    std::map<std::string, WaitList<void>> busy_;
};

}  // namespace porthole::controllers
