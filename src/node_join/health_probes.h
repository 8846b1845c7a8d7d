#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/kubeconfig.h"
#include "net/balancer/tcp_balancer.h"
#include "runtime/event_loop.h"

namespace porthole::node_join {

/// Asks API servers whether they are ready, each over a connection that is kept until it fails or the server's authority changes. Lives on
/// one loop; the tasks of ask() must end before it.
class HealthProbes {
public:
    using Connect = std::function<Result<std::unique_ptr<client::Transport>>(const client::ClientConfig&)>;
    HealthProbes(EventLoop& loop, Connect connect) : loop_(loop), connect_(std::move(connect)) {}

    /// Whether `server.server` is ready. Any error means that it does not answer. The same one may be asked several times at once.
    Task<bool> ask(client::ClientConfig server);
    /// Connections to others are not kept.
    void keep_only(const std::vector<net::BalancedServer>& servers);
    std::size_t connections() const { return kept_.size(); }

private:
    struct Way {
        std::string ca_pem;
        std::unique_ptr<client::Transport> transport;
    };

    EventLoop& loop_;
    const Connect connect_;
    std::map<std::string, std::shared_ptr<const Way>> kept_;  ///< by URL; who asks holds the one it asks over
};

}  // namespace porthole::node_join
