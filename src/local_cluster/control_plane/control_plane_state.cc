#include "local_cluster/control_plane/control_plane_state.h"

#include "base/result.h"
#include "net/http/http_client.h"
#include "node_join/pki.h"
#include "runtime/asio_loop.h"
#include "runtime/scope.h"

namespace porthole::local_cluster {

using namespace std::chrono_literals;
using schema::Value;
namespace {

using Tls = std::shared_ptr<const net::TlsClientContext>;

Task<ApiServerState> ask_api_server(AsioLoop& loop, ApiServerProcess server, std::uint16_t port, Tls tls) {
    net::HttpClient client(loop, {.host = server.address, .port = port, .unix_path = {}}, std::move(tls));
    const auto ready = co_await client.send({.method = "GET", .path = "/readyz"});
    const auto metrics = co_await client.send({.method = "GET", .path = "/metrics"});
    CO_TRY_VOID(co_await client.close());
    if (!ready) co_return ready.error();
    ApiServerState state{.server = std::move(server), .status = ready->code == 200 ? "ready" : "not ready", .leads = {}};
    for (const char* component : {"kube-controller-manager", "kube-scheduler"})
        if (metrics && metrics->body.contains("\nleader_election_master_status{name=\"" + std::string(component) + "\"} 1"))
            state.leads.push_back(component);
    co_return state;
}

Task<> add_api_server(AsioLoop& loop, ApiServerState& into, std::uint16_t port, Tls tls) {
    auto asked = co_await with_timeout(ask_api_server(loop, into.server, port, std::move(tls)), 2s, "asking an API server");
    if (is_cancelled(asked)) co_return asked.error();
    if (asked)
        into = *std::move(asked);
    else
        into.status = asked.error().message;
    co_return {};
}

Task<> add_member(AsioLoop& loop, EtcdMemberState& into, DataDir data) {
    CO_TRY(into.health, co_await ask_etcd_member(loop, std::move(data), into.member));
    co_return {};
}

}  // namespace

Task<ControlPlaneState> ask_control_plane(AsioLoop& loop, DataDir data, Cluster cluster) {
    CO_TRY(const node_join::Pki pki, node_join::Pki::load(data.pki()));
    CO_TRY(const Tls tls, net::TlsClientContext::create(
                              {.ca_pem = pki.ca_pem, .certificate_pem = pki.admin.certificate_pem, .key_pem = pki.admin.key_pem}));
    ControlPlaneState state;
    for (ApiServerProcess& server : api_servers(data, cluster))
        state.servers.push_back({.server = std::move(server), .status = "", .leads = {}});
    for (EtcdMember& member : etcd_members(data, cluster)) state.members.push_back({.member = std::move(member), .health = {}});
    std::vector<Task<>> questions;
    for (ApiServerState& server : state.servers) questions.push_back(add_api_server(loop, server, cluster.options.port, tls));
    for (EtcdMemberState& member : state.members) questions.push_back(add_member(loop, member, data));
    CO_TRY(const auto asked, co_await when_all(std::move(questions)));
    for (const Result<void>& one : asked) CO_TRY_VOID(one);
    co_return state;
}

schema::Value to_value(const ControlPlaneState& state) {
    Value servers = Value::array(), members = Value::array();
    for (const ApiServerState& one : state.servers) {
        Value leads = Value::array();
        for (const std::string& component : one.leads) leads.as_array().push_back(component);
        servers.as_array().push_back(Value::object(
            {{"name", one.server.name}, {"address", one.server.address}, {"status", one.status}, {"leads", std::move(leads)}}));
    }
    for (const auto& [member, health] : state.members)
        members.as_array().push_back(Value::object({{"name", member.name},
                                                    {"address", member.address},
                                                    {"status", health.healthy ? "healthy" : health.why_not},
                                                    {"leads", health.leads}}));
    return Value::object({{"servers", std::move(servers)}, {"etcdMembers", std::move(members)}});
}

}  // namespace porthole::local_cluster
