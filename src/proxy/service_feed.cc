#include "proxy/service_feed.h"

namespace porthole::proxy {
namespace {

namespace core = api::core::v1;
namespace discovery = api::discovery::v1;

template <class T>
std::string key(const T& object) {
    return client::key_of(object).text();
}

bool is_of(Family family, const IpAddress& address) { return address.is_v4() == (family == Family::V4); }

/// Those of the family, each once. A service may have a hundred thousand.
class Addresses {
public:
    Addresses(Family family, std::vector<IpAddress>& into) : family_(family), into_(into) {}
    void add(const std::string& text) {
        const auto address = IpAddress::parse(text);
        if (address && is_of(family_, *address) && seen_.insert(*address).second) into_.push_back(*address);
    }

private:
    Family family_;
    std::vector<IpAddress>& into_;
    std::set<IpAddress> seen_;
};

const std::string* find(const std::map<std::string, std::string>& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
}

}  // namespace

ServiceFeed::ServiceFeed(client::Informers& informers, std::string node_name, std::function<void()> changed)
    : services_(informers.get<core::Service>()),
      slices_(informers.get<discovery::EndpointSlice>()),
      nodes_(informers.get<core::Node>()),
      node_name_(std::move(node_name)),
      changed_(std::move(changed)) {}

void ServiceFeed::fill(ServiceTable& table, Family family, Adapt adapt) {
    const auto service_seen = [this, &table, family, adapt](const core::Service& service) {
        if (auto info = service_info(service, family)) {
            if (adapt.service) adapt.service(*info);
            table.set_service(*std::move(info));
        } else {
            table.remove_service(key(service));
        }
        changed_();
    };
    services_.subscribe({.added = [=](const auto& now) { service_seen(*now); },
                         .updated = [=](const auto&, const auto& now) { service_seen(*now); },
                         .deleted =
                             [this, &table](const auto& last) {
                                 table.remove_service(key(*last));
                                 changed_();
                             }});
    const auto slice_seen = [this, &table, family](const discovery::EndpointSlice& slice) {
        if (auto info = slice_info(slice, family))
            table.set_slice(*std::move(info));
        else
            table.remove_slice(key(slice));
        changed_();
    };
    slices_.subscribe({.added = [=](const auto& now) { slice_seen(*now); },
                       .updated = [=](const auto&, const auto& now) { slice_seen(*now); },
                       .deleted =
                           [this, &table](const auto& last) {
                               table.remove_slice(key(*last));
                               changed_();
                           }});
    const auto node_seen = [this, &table, family, adapt](const core::Node& node) {
        if (node.metadata.name != node_name_) return;
        NodeView view = node_view(node, family);
        if (adapt.node) adapt.node(view);
        table.set_node(std::move(view));
        if (table.changed()) changed_();
    };
    nodes_.subscribe(
        {.added = [=](const auto& now) { node_seen(*now); }, .updated = [=](const auto&, const auto& now) { node_seen(*now); }});
}

Task<> ServiceFeed::wait_for_sync() {
    for (client::InformerCore* source : {&services_.core(), &slices_.core(), &nodes_.core()}) {
        CO_TRY_VOID(co_await source->wait_for_sync());
    }
    co_return {};
}

std::shared_ptr<const core::Service> ServiceFeed::service(const std::string& key) const {
    const std::size_t slash = key.find('/');
    if (slash == key.npos) return nullptr;
    return services_.find({key.substr(0, slash), key.substr(slash + 1)});
}

void tell_of_cut_services(const ServiceTable& table, std::set<std::string>& told, const Logger& log) {
    for (const std::string& service : table.cut())
        if (!told.contains(service))
            log.warn("a service has too many addresses, ports and endpoints: not all are served", {{"service", service}});
    told = table.cut();
}

std::optional<ServiceInfo> service_info(const core::Service& service, Family family) {
    const core::ServiceSpec& spec = service.spec;
    if (spec.type == "ExternalName" || spec.cluster_ip.empty() || spec.cluster_ip == "None") return std::nullopt;
    if (service.metadata.labels.contains("service.kubernetes.io/service-proxy-name")) return std::nullopt;

    ServiceInfo info;
    info.key = service.metadata.namespace_ + "/" + service.metadata.name;
    Addresses cluster_ips(family, info.cluster_ips), external_ips(family, info.external_ips);
    cluster_ips.add(spec.cluster_ip);
    for (const std::string& address : spec.cluster_ips) cluster_ips.add(address);
    for (const std::string& address : spec.external_ips) external_ips.add(address);
    if (spec.type == "LoadBalancer") {
        Addresses load_balancer_ips(family, info.load_balancer_ips);
        for (const auto& ingress : service.status.load_balancer.ingress) {
            if (ingress.ip_mode != "Proxy") load_balancer_ips.add(ingress.ip);
        }
        for (const std::string& range : spec.load_balancer_source_ranges) {
            if (const auto prefix = IpPrefix::parse(range); prefix && is_of(family, prefix->base())) info.source_ranges.push_back(*prefix);
        }
    }
    for (const core::ServicePort& port : spec.ports) {
        info.ports.push_back(
            {port.name, protocol_of(port.protocol), static_cast<std::uint16_t>(port.port), static_cast<std::uint16_t>(port.node_port)});
    }
    if (spec.session_affinity == "ClientIP") {
        const auto& config = spec.session_affinity_config;
        const bool given = config && config->client_ip && config->client_ip->timeout_seconds;
        info.affinity = std::chrono::seconds(given ? *config->client_ip->timeout_seconds : 10800);
    }
    info.external_local = spec.external_traffic_policy == "Local";
    info.internal_local = spec.internal_traffic_policy == "Local";
    if (info.external_local) info.health_check_node_port = static_cast<std::uint16_t>(spec.health_check_node_port);
    const std::string* preserve = find(service.metadata.annotations, "preserve-destination");
    info.preserve_destination = preserve && *preserve == "true";
    const std::string* mode = find(service.metadata.annotations, "service.kubernetes.io/topology-mode");
    if (!mode) mode = find(service.metadata.annotations, "service.kubernetes.io/topology-aware-hints");
    info.ignore_hints = !(mode && (*mode == "Auto" || *mode == "auto")) && !spec.traffic_distribution;
    return info;
}

std::optional<SliceInfo> slice_info(const discovery::EndpointSlice& slice, Family family) {
    const std::string* service = find(slice.metadata.labels, "kubernetes.io/service-name");
    if (!service || service->empty()) return std::nullopt;
    SliceInfo info;
    info.key = slice.metadata.namespace_ + "/" + slice.metadata.name;
    info.service = slice.metadata.namespace_ + "/" + *service;
    if (slice.address_type != (family == Family::V4 ? "IPv4" : "IPv6")) return info;
    for (const discovery::EndpointPort& port : slice.ports) {
        info.ports.push_back(
            {port.name.value_or(""), protocol_of(port.protocol.value_or("")), static_cast<std::uint16_t>(port.port.value_or(0))});
    }
    for (const discovery::Endpoint& from : slice.endpoints) {
        EndpointInfo endpoint;
        const auto address = from.addresses.empty() ? IpAddress::parse("") : IpAddress::parse(from.addresses.front());
        if (!address || !is_of(family, *address)) continue;
        endpoint.address = *address;
        endpoint.ready = from.conditions.ready.value_or(true);
        endpoint.serving = from.conditions.serving.value_or(endpoint.ready);
        endpoint.terminating = from.conditions.terminating.value_or(false);
        // Servers before 1.21 name the node only in the topology.
        const std::string* hostname = find(from.deprecated_topology, "kubernetes.io/hostname");
        endpoint.node_name = from.node_name.value_or(hostname ? *hostname : "");
        if (from.hints) {
            for (const auto& zone : from.hints->for_zones) endpoint.zone_hints.insert(zone.name);
            for (const auto& node : from.hints->for_nodes) endpoint.node_hints.insert(node.name);
        }
        info.endpoints.push_back(std::move(endpoint));
    }
    return info;
}

NodeView node_view(const core::Node& node, Family family) {
    NodeView view;
    view.name = node.metadata.name;
    if (const std::string* zone = find(node.metadata.labels, "topology.kubernetes.io/zone")) view.zone = *zone;
    Addresses node_port_addresses(family, view.node_port_addresses);
    for (const core::NodeAddress& address : node.status.addresses) {
        if (address.type == "InternalIP") node_port_addresses.add(address.address);
    }
    for (const std::string& cidr : node.spec.pod_cidrs) {
        if (const auto prefix = IpPrefix::parse(cidr); prefix && is_of(family, prefix->base())) view.pod_prefixes.push_back(*prefix);
    }
    return view;
}

}  // namespace porthole::proxy
