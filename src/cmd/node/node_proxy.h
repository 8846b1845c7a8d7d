#pragma once
#include <memory>

#include "client/events.h"
#include "client/informers/informer.h"
#include "cmd/program/runtime_setup.h"
#include "proxy/health_server.h"
#include "proxy/options/options.h"

namespace porthole::cmd {

/// The collaborators of a node's proxy; all outlive it.
struct NodeProxySeams {
    RealWorld& world;
    FileSystem& files;
    client::Informers& informers;
    client::EventRecorder& events;
    proxy::HealthListener* health;  ///< may be null
    Logger log;
};

/// The service proxy of this operating system: nftables on Linux, load balancers of the host network service on Windows.
class NodeProxy {
public:
    virtual ~NodeProxy() = default;
    virtual const proxy::ProxyStatus& status() const = 0;
    /// Works until cancelled.
    virtual Task<> run() = 0;
    /// Removes everything that it has created.
    virtual Task<> clean_up() = 0;
};

/// Error: BadRequest for options that this system does not support.
Result<std::unique_ptr<NodeProxy>> make_node_proxy(NodeProxySeams seams, proxy::KubeProxyOptions options);

}  // namespace porthole::cmd
