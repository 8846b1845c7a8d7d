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

    /// The health that `server.server` tells. Any error means that it does not answer. A server may be asked several times concurrently.
    Task<net::ServerHealth> ask(client::ClientConfig server);
    /// Closes connections to other servers.
    void keep_only(const std::vector<net::BalancedServer>& servers);
    std::size_t connections() const { return kept_.size(); }

private:
    struct Way {
        std::string ca_pem;
        std::unique_ptr<client::Transport> transport;
    };

    EventLoop& loop_;
    const Connect connect_;
    std::map<std::string, std::shared_ptr<const Way>> kept_;  ///< by URL; ask() holds the one that it uses
};

}  // namespace porthole::node_join
