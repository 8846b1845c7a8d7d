#include "dns/cluster_dns.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::dns {

namespace {

namespace core = api::core::v1;
namespace discovery = api::discovery::v1;
using namespace std::chrono_literals;

void add_address(const std::string& text, std::vector<IpAddress>& into) {
    const auto address = IpAddress::parse(text);
    if (address && std::ranges::find(into, *address) == into.end()) into.push_back(*address);
}

}  // namespace

ServiceNames service_names(const core::Service& service) {
    ServiceNames names{.namespace_ = service.metadata.namespace_, .name = service.metadata.name};
    names.publish_not_ready = service.spec.publish_not_ready_addresses;
    if (service.spec.type == "ExternalName")
        names.external_name = service.spec.external_name;
    else if (service.spec.cluster_ip != "None") {
        add_address(service.spec.cluster_ip, names.cluster_ips);
        for (const std::string& address : service.spec.cluster_ips) add_address(address, names.cluster_ips);
    }
    for (const core::ServicePort& port : service.spec.ports) {
        names.ports.push_back(
            {to_lower(port.name), port.protocol.empty() ? "tcp" : to_lower(port.protocol), static_cast<std::uint16_t>(port.port)});
    }
    return names;
}

std::optional<SliceNames> slice_names(const discovery::EndpointSlice& slice) {
    const auto service = slice.metadata.labels.find("kubernetes.io/service-name");
    if (service == slice.metadata.labels.end()) return std::nullopt;
    SliceNames names{.namespace_ = slice.metadata.namespace_, .name = slice.metadata.name, .service = service->second};
    for (const auto& port : slice.ports) {
        names.ports.push_back({to_lower(port.name.value_or("")), port.protocol ? to_lower(*port.protocol) : "tcp",
                               static_cast<std::uint16_t>(port.port.value_or(0))});
    }
    for (const auto& from : slice.endpoints) {
        SliceNames::Endpoint endpoint{.hostname = to_lower(from.hostname.value_or("")), .ready = from.conditions.ready.value_or(true)};
        for (const std::string& address : from.addresses) add_address(address, endpoint.addresses);
        if (!endpoint.addresses.empty()) names.endpoints.push_back(std::move(endpoint));
    }
    return names;
}

ClusterDns::ClusterDns(ClusterDnsContext context, ClusterDnsOptions options)
    : context_(std::move(context)),
      options_(std::move(options)),
      services_(context_.informers.get<core::Service>()),
      slices_(context_.informers.get<discovery::EndpointSlice>()),
      namespaces_(context_.informers.get<core::Namespace>()),
      nodes_(context_.informers.get<core::Node>()),
      zone_(options_.zone, context_.random),
      forwarder_(context_.loop, context_.upstream, context_.random),
      resolver_(context_.loop, zone_, forwarder_, [this] { return complete(); }) {
    follow();
    read_servers();
}

bool ClusterDns::complete() const { return services_.synced() && slices_.synced() && namespaces_.synced(); }

void ClusterDns::follow() {
    services_.subscribe({.added = [this](const auto& now) { zone_.set_service(service_names(*now)); },
                         .updated = [this](const auto&, const auto& now) { zone_.set_service(service_names(*now)); },
                         .deleted = [this](const auto& last) { zone_.remove_service(last->metadata.namespace_, last->metadata.name); }});
    const auto slice_seen = [this](const discovery::EndpointSlice& slice) {
        auto names = slice_names(slice);
        if (names)
            zone_.set_slice(*std::move(names));
        else
            zone_.remove_slice(slice.metadata.namespace_, slice.metadata.name);
    };
    slices_.subscribe({.added = [=](const auto& now) { slice_seen(*now); },
                       .updated = [=](const auto&, const auto& now) { slice_seen(*now); },
                       .deleted = [this](const auto& last) { zone_.remove_slice(last->metadata.namespace_, last->metadata.name); }});
    namespaces_.subscribe({.added = [this](const auto& now) { zone_.add_namespace(now->metadata.name); },
                           .deleted = [this](const auto& last) { zone_.remove_namespace(last->metadata.name); }});
    const auto node_seen = [this](const core::Node& node) {
        std::set<IpAddress> addresses;
        for (const core::NodeAddress& one : node.status.addresses)
            if (const auto address = IpAddress::parse(one.address)) addresses.insert(*address);  // names are left out
        set_node_addresses(node.metadata.name, std::move(addresses));
    };
    nodes_.subscribe({.added = [=](const auto& now) { node_seen(*now); },
                      .updated = [=](const auto&, const auto& now) { node_seen(*now); },
                      .deleted = [this](const auto& last) { set_node_addresses(last->metadata.name, {}); }});
}

bool ClusterDns::knows(const IpAddress& client) const {
    return client.is_loopback() || options_.zone.server_address == client ||
           std::ranges::any_of(options_.zone.own_prefixes, [&](const IpPrefix& prefix) { return prefix.contains(client); }) ||
           node_addresses_.contains(client);
}

void ClusterDns::set_node_addresses(const std::string& node, std::set<IpAddress> addresses) {
    std::set<IpAddress>& known = addresses_of_node_[node];
    if (known != addresses) {  // mostly it is a heartbeat
        for (const IpAddress& former : known) node_addresses_.erase(node_addresses_.find(former));
        node_addresses_.insert(addresses.begin(), addresses.end());
        known = std::move(addresses);
    }
    if (known.empty()) addresses_of_node_.erase(node);
}

/// Leaves out addresses that lead back to ourselves.
void ClusterDns::read_servers() {
    const auto text = context_.files.read(options_.resolv_conf);
    std::vector<IpAddress> servers = text ? read_resolv_conf(*text) : std::vector<IpAddress>();
    std::erase_if(servers, [&](const IpAddress& server) {
        return server == options_.zone.server_address ||
               std::ranges::any_of(options_.zone.own_prefixes, [&](const IpPrefix& prefix) { return prefix.contains(server); });
    });
    forwarder_.set_servers(std::move(servers));
}

Task<> ClusterDns::run() {
    for (;;) {
        read_servers();
        const auto slept = co_await context_.loop.sleep(30s);
        if (slept) continue;
        CO_TRY_VOID(co_await forwarder_.close());
        co_return slept.error();
    }
}

Task<> ensure_dns_service(client::Client& client, std::string cluster_ip) {
    core::Service service;
    service.metadata.namespace_ = "kube-system";
    service.metadata.name = "kube-dns";
    service.metadata.labels = {{"k8s-app", "kube-dns"}, {"kubernetes.io/cluster-service", "true"}, {"kubernetes.io/name", "KubeDNS"}};
    service.spec.type = "ClusterIP";
    service.spec.cluster_ip = cluster_ip;
    service.spec.cluster_ips = {std::move(cluster_ip)};
    service.spec.ports = {{.name = "dns", .protocol = "UDP", .port = 53, .target_port = 53},
                          {.name = "dns-tcp", .protocol = "TCP", .port = 53, .target_port = 53}};
    const auto created = co_await client.create(std::move(service));
    if (!created && created.error().reason != Reason::AlreadyExists) co_return created.error();
    co_return {};
}

}  // namespace porthole::dns
