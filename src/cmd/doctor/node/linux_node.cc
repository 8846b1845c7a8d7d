#include "cmd/doctor/node/linux_node.h"

#include "api/core_v1.h"
#include "base/result.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "cmd/doctor/node/disk_encryption.h"
#include "cmd/doctor/node/node_gather.h"
#include "net/http/http_client.h"
#include "net/interface_address.h"
#include "node_join/cluster_network.h"
#include "runtime/asio_loop.h"
#include "runtime/files/file_system.h"

namespace porthole::cmd::doctor {
namespace {

using namespace std::chrono_literals;

constexpr const char* Bridge = "cni0";  // of the agent's own pod network
constexpr std::uint16_t KubeletHealth = 10248, ProxyHealth = 10256;

/// Both are parts of the agent, and answer each at a port of its own.
Task<NodeEvidence::Service> ask_health(AsioLoop& loop, std::string name, std::uint16_t port) {
    net::HttpClient client(loop, {.host = "127.0.0.1", .port = port, .unix_path = {}}, nullptr);
    const auto answer = co_await with_timeout(client.send({.method = "GET", .path = "/healthz"}), 5s, "asking for health");
    CO_TRY_VOID(co_await client.close());
    NodeEvidence::Service service{.name = std::move(name), .state = "healthy", .runs = answer && answer->code == 200, .remedy = {}};
    if (!service.runs) service.state = answer ? "not healthy: " + answer->body : "not running: " + answer.error().message;
    service.present = answer.has_value();
    service.remedy = "start the agent: systemctl start porthole-agent, or porthole up; journalctl -u porthole-agent has its log";
    co_return service;
}

/// As the cluster knows it; where that does not tell, the one with which this machine would reach the server.
Task<std::string> find_address(AsioLoop& loop, client::ClientConfig config) {
    const std::string server = config.server;
    const auto known = co_await with_timeout(ask_address(loop, std::move(config)), 10s, "asking the API server");
    if (known) co_return *known;
    const auto address = net::source_address_towards(server);
    co_return address ? address->to_string() : "";
}

/// What the cluster says of its ranges.
Task<node_join::ClusterNetwork> ask_network(AsioLoop& loop, client::ClientConfig config) {
    CO_TRY(const auto transport, client::make_http_transport(loop, config, "porthole-doctor"));
    client::Client client(*transport);
    CO_TRY(const auto info, co_await client.get<api::core::v1::ConfigMap>({"kube-public", "cluster-info"}));
    co_return node_join::cluster_network(info.data);
}

}  // namespace

Task<NodeEvidence> gather_linux_node(AsioLoop& loop, client::ClientConfig config, std::string folder, bool agent_is_there) {
    NodeEvidence evidence;
    evidence.server = config.server;
    look_at_servers(*make_file_system(), folder, evidence);
    CO_TRY(evidence.address, co_await find_address(loop, config));
    for (const auto& [name, port] : {std::pair("kubelet", KubeletHealth), std::pair("kube-proxy", ProxyHealth)}) {
        CO_TRY(NodeEvidence::Service service, co_await ask_health(loop, name, port));
        service.present |= agent_is_there;
        evidence.services.push_back(std::move(service));
    }
    evidence.ports = {{10250, "kubelet"}, {KubeletHealth, "kubelet"}, {ProxyHealth, "kube-proxy"}};
    evidence.pod_network = Bridge;
    evidence.network_remedy = "the agent creates it with the first pod of the node; if not, journalctl -u porthole-agent has the reason";
    look_at_machine(loop, "", evidence);
    // Below /var/lib the kubelet's files and the container runtime's may be in directories of their own.
    look_at_encryption(*make_file_system(), folder.starts_with("/var/lib/") ? "/var/lib" : folder, evidence);
    for (const net::Interface& one : net::interfaces()) {
        if (one.name != Bridge) continue;
        for (const IpAddress& address : one.addresses)
            if (const auto facts = net::interface_with(address)) evidence.pod_mtu = facts->mtu;
    }
    if (const auto network = co_await with_timeout(ask_network(loop, config), 10s, "asking the API server")) {
        evidence.cluster_cidr = network->cluster_cidr;
        evidence.service_cidr = network->service_cidr;
        evidence.cluster_domain = network->cluster_domain;
    }
    const auto behind = co_await with_timeout(ask_clock(loop, config), 10s, "asking the API server");
    if (behind) {
        evidence.seconds_behind = *behind;
    } else {
        evidence.server_error = behind.error().message;
    }
    co_return evidence;
}

}  // namespace porthole::cmd::doctor
