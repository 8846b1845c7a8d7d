#include "cmd/doctor/node/node_gather.h"

#include <cstdlib>

#include "api/core_v1.h"
#include "base/result.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "net/http/http_client.h"
#include "net/http/http_status.h"
#include "net/interface_address.h"
#include "net/tls/x509.h"
#include "node_join/server_list.h"
#include "runtime/asio_loop.h"

namespace porthole::cmd::doctor {

using namespace hns;
namespace {

/// "system:node:a" → "a"; "" for who is no node.
std::string node_of(const std::string& user) {
    constexpr std::string_view Prefix = "system:node:";
    return user.starts_with(Prefix) ? user.substr(Prefix.size()) : "";
}

}  // namespace

Task<HnsFacts> read_hns(Hns& service, std::string name) {
    Client client(service);
    HnsFacts facts;
    CO_TRY(const auto network, co_await client.find<hcn::HostComputeNetwork>(name));
    CO_TRY(const auto endpoints, co_await client.list<hcn::HostComputeEndpoint>());
    for (const hcn::HostComputeEndpoint& endpoint : endpoints) {
        facts.endpoint_ids.push_back(endpoint.id);
        if (network && endpoint.host_compute_network == network->id) facts.endpoints.push_back(endpoint);
    }
    CO_TRY(facts.namespaces, co_await client.list<hcn::HostComputeNamespace>());
    CO_TRY(facts.load_balancers, co_await client.list<hcn::HostComputeLoadBalancer>());
    co_return facts;
}

Task<std::int64_t> ask_clock(AsioLoop& loop, client::ClientConfig config) {
    CO_TRY(const client::ServerUrl url, client::parse_server_url(config.server));
    std::shared_ptr<const net::TlsClientContext> tls;
    if (url.tls) {
        CO_TRY(tls, net::TlsClientContext::create({.ca_pem = config.ca_pem,
                                                   .certificate_pem = config.certificate_pem,
                                                   .key_pem = config.key_pem,
                                                   .server_name = config.server_name,
                                                   .insecure_skip_verify = config.insecure_skip_verify}));
    }
    const auto proxies = config.direct ? net::ProxySettings() : net::ProxySettings::of_environment();
    const auto proxy = proxies.find(url.tls, url.host, url.port);
    net::HttpClient client(loop, {.host = url.host, .port = url.port, .unix_path = {}}, std::move(tls), proxy);
    CO_TRY(const net::HttpResponse answer, co_await client.send({.method = "GET", .path = url.prefix + "/version"}));
    const SystemTime now = loop.wall_now();
    CO_TRY_VOID(co_await client.close());
    const auto date = net::parse_http_date(answer.headers.get("date"));
    if (!date) co_return Error(Reason::BadRequest, "the server's answer has no date");
    co_return std::chrono::duration_cast<std::chrono::seconds>(*date - now).count();
}

Task<std::string> ask_address(AsioLoop& loop, client::ClientConfig config) {
    CO_TRY(const net::CertificateInfo certificate, net::parse_certificate(config.certificate_pem));
    const std::string name = node_of(certificate.subject.common_name);
    if (name.empty()) co_return Error(Reason::BadRequest, "these are not the credentials of a node");
    CO_TRY(const auto transport, client::make_http_transport(loop, config, "porthole-doctor"));
    client::Client client(*transport);
    CO_TRY(const auto node, co_await client.get<api::core::v1::Node>({"", name}));
    for (const api::core::v1::NodeAddress& address : node.status.addresses)
        if (address.type == "InternalIP") co_return address.address;
    co_return Error(Reason::NotFound, "node " + name + " has no address yet");
}

void look_at_servers(FileSystem& files, const std::string& folder, NodeEvidence& evidence) {
    const auto servers = node_join::read_server_list(files, folder);
    if (!servers) return;
    for (const node_join::KnownServer& server : *servers) {
        if (server.state.starts_with("dead")) {
            evidence.dead_servers.push_back(server.url);
        } else if (server.state.ends_with("in use")) {
            evidence.server_in_use = server.url;
        } else {
            evidence.other_servers.push_back(server.url);
        }
    }
}

namespace {

std::string variable(const char* upper, const char* lower) {
    for (const char* name : {upper, lower})
        if (const char* value = std::getenv(name); value && *value) return value;
    return "";
}

std::optional<net::InterfaceFacts> adapter_with(const std::string& text) {
    const auto address = IpAddress::parse(text);
    return address ? net::interface_with(*address) : std::nullopt;
}

}  // namespace

void look_at_machine(AsioLoop& loop, const std::string& pod_address, NodeEvidence& evidence) {
    evidence.adapters = net::list_of_interfaces();
    if (const auto own = adapter_with(evidence.address)) {
        evidence.adapter = own->name;
        evidence.mtu = own->mtu;
    }
    if (const auto leg = adapter_with(pod_address)) evidence.pod_mtu = leg->mtu;
    for (NodeEvidence::Port& port : evidence.ports) {
        const auto listener = net::Listener::tcp(loop, "0.0.0.0", port.port);
        port.taken = !listener && listener.error().reason == Reason::AlreadyExists;
    }
    evidence.http_proxy = variable("HTTP_PROXY", "http_proxy");
    evidence.https_proxy = variable("HTTPS_PROXY", "https_proxy");
    evidence.no_proxy = variable("NO_PROXY", "no_proxy");
}

}  // namespace porthole::cmd::doctor
