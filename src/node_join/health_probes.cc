#include "node_join/health_probes.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::node_join {
namespace {

constexpr Duration AnswerTime = std::chrono::seconds(2);

/// A server without its etcd refuses what its clients ask for, and its watches say nothing. The answer names each check that failed, here
/// and in upstream's server: `etcd`, `etcd-readiness`.
net::ServerHealth health_of(const client::ApiResponse& answer) {
    if (answer.code < 500) return net::ServerHealth::Ready;
    const bool lost_etcd = answer.body && answer.body->contains("[-]etcd");
    return lost_etcd ? net::ServerHealth::Failing : net::ServerHealth::NotReady;
}

}  // namespace

/// Health is told to everyone, so no credentials are shown. A server that wants some (401, 403) lives; only 5xx says that it is not ready.
Task<net::ServerHealth> HealthProbes::ask(client::ClientConfig server) {
    std::shared_ptr<const Way> way = kept_[server.server];
    if (!way || way->ca_pem != server.ca_pem) {
        CO_TRY(auto transport, connect_(server));
        way = std::make_shared<const Way>(server.ca_pem, std::move(transport));
        kept_[server.server] = way;
    }
    const auto answer = co_await with_timeout(way->transport->call({.method = "GET", .path = "/readyz"}), AnswerTime, "asking for health");
    if (answer) co_return health_of(*answer);
    // The next one comes over a new connection, unless one is there already.
    if (const auto kept = kept_.find(server.server); kept != kept_.end() && kept->second == way) kept_.erase(kept);
    co_return answer.error();
}

void HealthProbes::keep_only(const std::vector<net::BalancedServer>& servers) {
    std::erase_if(kept_,
                  [&](const auto& kept) { return std::ranges::find(servers, kept.first, &net::BalancedServer::name) == servers.end(); });
}

}  // namespace porthole::node_join
