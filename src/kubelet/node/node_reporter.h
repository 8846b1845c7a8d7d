#pragma once
#include <functional>

#include "base/log.h"
#include "client/client.h"
#include "client/events.h"
#include "kubelet/node/node_health.h"
#include "kubelet/node/node_object.h"
#include "runtime/random.h"

namespace porthole::kubelet {

/// Those of `amounts` that are not set by the kubelet, but by an administrator or a device plugin.
ResourceList extended_resources(const ResourceList& amounts);
ResourceList node_capacity(const NodeIdentity& identity, const HostFacts& facts, FileSystem& files);
ResourceList node_allocatable(const NodeIdentity& identity, const ResourceList& capacity);

/// Maintains the node's object: creates it, reports its status on change and every five minutes, renews its lease (of 40 s) every ten
/// seconds. The services must outlive the loops.
class NodeReporter {
public:
    struct Services {
        EventLoop& loop;
        Random& random;
        Logger log;
        client::Client& client;
        client::EventRecorder& events;
        Host& host;
        FileSystem& files;
        ImageService& images;
        std::function<NodeHealth()> health;
    };
    NodeReporter(Services services, NodeIdentity identity);

    /// The two loops, each until cancelled. Failures are logged and retried.
    Task<> run_status();
    Task<> run_lease();
    /// Report soon: something has changed.
    void wake() { wake_.set(); }
    bool registered() const { return registered_; }
    core::ObjectReference reference() const;

private:
    Task<> register_node();
    Task<> report();
    Task<core::Node> initial_node();
    void fill_status(core::NodeStatus& status);
    void set_condition(core::NodeStatus& status, core::NodeCondition condition, const char* event);
    Task<> refresh_images();
    Task<> renew_lease();
    Task<core::Node> correct_labels(core::Node there, std::map<std::string, std::string> wanted);

    Services services_;
    NodeIdentity identity_;
    HostFacts facts_;
    std::vector<core::ContainerImage> images_;
    bool registered_ = false;
    MonotonicTime reported_{};
    std::map<std::string, std::string> last_condition_;  ///< type → status, for events
    std::optional<api::core::v1::Node> last_;
    std::string node_uid_;
    Event wake_;
};

}  // namespace porthole::kubelet
