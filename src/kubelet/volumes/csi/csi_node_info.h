#pragma once
#include <map>
#include <set>
#include <string>

#include "api/core_v1.h"
#include "base/log.h"
#include "client/client.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// A driver's data about its node.
struct CsiNodeDriver {
    std::string node_id;                          ///< the driver's own name for the node
    std::int64_t most_volumes = 0;                ///< of the driver at a time; 0 for no limit
    std::map<std::string, std::string> topology;  ///< segments that the node can access
    bool operator==(const CsiNodeDriver&) const = default;
};

/// Publishes which CSI drivers the node has: in its CSINode, in an annotation of the Node, and as the Node's topology labels; the CSINode
/// also says that the node translates in-tree volumes. It exists from the start and is owned by the Node. A driver's entry from an earlier
/// kubelet stays until the driver registers again or is removed. Lives on the kubelet's loop; all references outlive it.
class CsiNodeInfo {
public:
    CsiNodeInfo(client::Client& client, Logger log, std::string node_name);

    /// Creates the CSINode, and retries what could not be published, until cancelled. `initialized` is called when the CSINode first
    /// exists.
    Task<> run(std::function<void()> initialized);
    bool is_initialized() const { return !node_uid_.empty(); }
    /// Called with the Node's uid: a new Node has no CSINode yet.
    void node_seen(const std::string& uid);

    /// Error: with upstream's message, also if the Node has another value of a topology label; the driver's previous data are kept then.
    Task<> install(std::string driver, CsiNodeDriver info);
    /// Updates `most_volumes` of an installed driver. Error: run() retries it.
    Task<> set_limit(std::string driver, std::int64_t most_volumes);
    /// Error: run() retries it.
    Task<> uninstall(std::string driver);

private:
    Task<> publish_with(std::string driver, CsiNodeDriver info);
    Task<> publish();
    Task<> publish_to(const api::core::v1::Node& node);
    Task<> publish_node(const api::core::v1::Node& node);
    Task<> publish_csi_node(std::string node_uid);

    client::Client& client_;
    Logger log_;
    std::string node_name_;
    std::string node_uid_;  ///< of the last published CSINode
    std::map<std::string, CsiNodeDriver> drivers_;
    std::set<std::string> gone_;  ///< drivers that still have to be removed
    bool stale_ = true;
    Semaphore one_at_a_time_{1};
    Event wake_;
};

}  // namespace porthole::kubelet
