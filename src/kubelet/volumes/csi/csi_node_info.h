#pragma once
#include <map>
#include <set>
#include <string>

#include "api/core_v1.h"
#include "base/log.h"
#include "client/client.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// Where a driver of volumes says that its node is.
struct CsiNodeDriver {
    std::string node_id;                          ///< the driver's own name for the node
    std::int64_t most_volumes = 0;                ///< of the driver at a time; 0 for no limit
    std::map<std::string, std::string> topology;  ///< what the node can reach
    bool operator==(const CsiNodeDriver&) const = default;
};

/// Publishes which CSI drivers the node has: in its CSINode, in an annotation of the Node, and as the Node's labels of topology. The
/// CSINode is there from the start and belongs to the Node. What an earlier kubelet published of a driver stays until the driver registers
/// again or is removed. Lives on the kubelet's loop; all references outlive it.
class CsiNodeInfo {
public:
    CsiNodeInfo(client::Client& client, Logger log, std::string node_name);

    /// Makes the CSINode and what could not be published at once, until cancelled. `initialized` is called when the CSINode is there first.
    Task<> run(std::function<void()> initialized);
    bool is_initialized() const { return !node_uid_.empty(); }
    /// The Node's uid: another one than before has no CSINode yet.
    void node_seen(const std::string& uid);

    /// Error: in upstream's words, also where the Node has another value of a label of topology; what was known of the driver before is
    /// kept then.
    Task<> install(std::string driver, CsiNodeDriver info);
    /// Of a driver that is installed: what it says later of `most_volumes`. Error: it is tried again by run().
    Task<> set_limit(std::string driver, std::int64_t most_volumes);
    /// Error: it is tried again by run().
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
    std::string node_uid_;  ///< whose CSINode was published last
    std::map<std::string, CsiNodeDriver> drivers_;
    std::set<std::string> gone_;  ///< drivers that are still to be taken out
    bool stale_ = true;
    Semaphore one_at_a_time_{1};
    Event wake_;
};

}  // namespace porthole::kubelet
