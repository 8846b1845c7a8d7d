#include "proxy/service_table.h"

#include <algorithm>

namespace porthole::proxy {

namespace {

using Endpoints = std::vector<const EndpointInfo*>;

/// Of one service: a frontend takes some, and each of its backends and source ranges one.
constexpr std::size_t MostPlaces = 1'000'000, PlacesOfAFrontend = 32;

std::size_t places_of(const Frontend& frontend) {
    return PlacesOfAFrontend + frontend.backends.size() + frontend.inside_backends.size() + frontend.source_ranges.size();
}

/// Ready ones, or while there are none those that end but still serve.
Endpoints usable(const Endpoints& all) {
    Endpoints ready, ending;
    for (const EndpointInfo* endpoint : all) {
        if (endpoint->ready) ready.push_back(endpoint);
        if (endpoint->serving && endpoint->terminating) ending.push_back(endpoint);
    }
    return ready.empty() ? ending : ready;
}

void sort_unique(std::vector<Backend>& backends) {
    std::ranges::sort(backends);
    backends.erase(std::ranges::unique(backends).begin(), backends.end());
}

}  // namespace

const char* to_string(Protocol protocol) {
    switch (protocol) {
        case Protocol::Tcp:
            return "tcp";
        case Protocol::Udp:
            return "udp";
        case Protocol::Sctp:
            return "sctp";
    }
    return "";
}

Protocol protocol_of(const std::string& name) { return name == "UDP" ? Protocol::Udp : name == "SCTP" ? Protocol::Sctp : Protocol::Tcp; }

void ServiceTable::set_node(NodeView node) {
    if (node == node_) return;
    node_ = std::move(node);
    for (const auto& [key, service] : services_) dirty_.insert(key);
}

void ServiceTable::set_service(ServiceInfo service) {
    dirty_.insert(service.key);
    const std::string key = service.key;
    services_[key].info = std::move(service);
}

void ServiceTable::remove_service(const std::string& key) {
    const auto found = services_.find(key);
    if (found == services_.end()) return;
    found->second.info.reset();
    dirty_.insert(key);
}

void ServiceTable::set_slice(SliceInfo slice) {
    remove_slice(slice.key);
    service_of_slice_[slice.key] = slice.service;
    dirty_.insert(slice.service);
    auto& slices = services_[slice.service].slices;
    const std::string key = slice.key;
    slices[key] = std::move(slice);
}

void ServiceTable::remove_slice(const std::string& key) {
    const auto owner = service_of_slice_.find(key);
    if (owner == service_of_slice_.end()) return;
    services_[owner->second].slices.erase(key);
    dirty_.insert(owner->second);
    service_of_slice_.erase(owner);
}

std::set<FrontendKey> ServiceTable::update() {
    std::set<FrontendKey> changed;
    while (!dirty_.empty()) {
        const std::string key = *dirty_.begin();
        dirty_.erase(dirty_.begin());
        const auto found = services_.find(key);
        if (found == services_.end()) continue;
        Service& service = found->second;
        take_over(key, service, changed);
        update_local(&service, key);
        update_health(key, service);
        if (!service.info && service.slices.empty()) services_.erase(found);
    }
    return changed;
}

const ServiceInfo* ServiceTable::service_of(const FrontendKey& frontend) const {
    const auto owner = owners_.find(frontend);
    if (owner == owners_.end()) return nullptr;
    const auto service = services_.find(owner->second);
    return service != services_.end() && service->second.info ? &*service->second.info : nullptr;
}

/// Puts the service's frontends in place of its former ones. An address and port that another service holds stay with it.
void ServiceTable::take_over(const std::string& key, Service& service, std::set<FrontendKey>& changed) {
    auto [wanted, is_cut] = frontends_of(service);
    if (is_cut)
        cut_.insert(key);
    else
        cut_.erase(key);
    std::erase_if(contested_, [&](const auto& entry) { return entry.second == key; });
    for (const FrontendKey& old : std::set<FrontendKey>(service.frontends)) {
        if (wanted.contains(old)) continue;
        frontends_.erase(old);
        owners_.erase(old);
        service.frontends.erase(old);
        changed.insert(old);
        const auto [first, last] = contested_.equal_range(old);
        for (auto next = first; next != last; ++next) dirty_.insert(next->second);
    }
    for (auto& [frontend_key, frontend] : wanted) {
        const auto [owner, added] = owners_.try_emplace(frontend_key, key);
        if (owner->second != key) {
            contested_.emplace(frontend_key, key);
            continue;
        }
        Frontend& present = frontends_[frontend_key];
        if (!added && present == frontend) continue;
        present = std::move(frontend);
        service.frontends.insert(frontend_key);
        changed.insert(frontend_key);
    }
}

void ServiceTable::update_local(const Service* service, const std::string& key) {
    std::set<IpAddress> now;
    for (const auto& [slice_key, slice] : service->slices) {
        for (const EndpointInfo& endpoint : slice.endpoints) {
            if (endpoint.node_name == node_.name) now.insert(endpoint.address);
        }
    }
    for (const IpAddress& address : now) {
        if (!service->local_addresses.contains(address) && ++local_references_[address] == 1) local_addresses_.insert(address);
    }
    for (const IpAddress& address : service->local_addresses) {
        if (now.contains(address) || --local_references_[address] > 0) continue;
        local_references_.erase(address);
        local_addresses_.erase(address);
    }
    services_[key].local_addresses = std::move(now);
}

void ServiceTable::update_health(const std::string& key, Service& service) {
    const auto former = health_.find(service.health_port);
    if (former != health_.end() && former->second.service == key) health_.erase(former);
    service.health_port = service.info ? service.info->health_check_node_port : 0;
    if (service.health_port == 0) return;
    std::set<IpAddress> ready;
    for (const auto& [slice_key, slice] : service.slices) {
        for (const EndpointInfo& endpoint : slice.endpoints) {
            if (endpoint.ready && endpoint.node_name == node_.name) ready.insert(endpoint.address);
        }
    }
    health_[service.health_port] = {key, ready.size()};
}

ServiceTable::Wanted ServiceTable::frontends_of(const Service& service) const {
    Wanted wanted;
    if (!service.info) return wanted;
    const ServiceInfo& info = *service.info;
    std::size_t left = MostPlaces;
    for (const ServiceInfo::Port& port : info.ports) {
        const Chosen chosen = choose(service, port);
        const auto local_or_cluster = [&](bool local) {
            Frontend frontend;
            frontend.affinity = info.affinity;
            frontend.backends = local ? chosen.local : chosen.cluster;
            frontend.drop_unanswered = local && chosen.local.empty() && chosen.any_elsewhere;
            return frontend;
        };
        const Frontend internal = local_or_cluster(info.internal_local);
        Frontend external = local_or_cluster(info.external_local);
        external.kind = info.external_local ? Frontend::Kind::ExternalLocal : Frontend::Kind::External;
        if (info.external_local) external.inside_backends = chosen.cluster;

        const auto add = [&](const std::vector<IpAddress>& addresses, std::uint16_t number, const Frontend& frontend) {
            const std::size_t places = places_of(frontend);
            for (const IpAddress& address : addresses) {
                const FrontendKey key{address, port.protocol, number};
                if (wanted.frontends.contains(key)) continue;
                if (places > left) return void(wanted.is_cut = true);
                left -= places;
                wanted.frontends.emplace(key, frontend);
            }
        };
        add(info.cluster_ips, port.port, internal);
        add(info.external_ips, port.port, external);
        Frontend restricted = external;
        restricted.source_ranges = info.source_ranges;
        add(info.load_balancer_ips, port.port, restricted);
        if (port.node_port != 0) add(node_.node_port_addresses, port.node_port, external);
        if (wanted.is_cut) break;
    }
    return wanted;
}

ServiceTable::Chosen ServiceTable::choose(const Service& service, const ServiceInfo::Port& port) const {
    Endpoints all, here;
    std::map<const EndpointInfo*, std::uint16_t> ports;
    for (const auto& [key, slice] : service.slices) {
        for (const SliceInfo::Port& offered : slice.ports) {
            if (offered.name != port.name || offered.protocol != port.protocol || offered.port == 0) continue;
            for (const EndpointInfo& endpoint : slice.endpoints) {
                all.push_back(&endpoint);
                if (endpoint.node_name == node_.name) here.push_back(&endpoint);
                ports[&endpoint] = offered.port;
            }
        }
    }
    const auto backends = [&](const Endpoints& endpoints) {
        std::vector<Backend> result;
        for (const EndpointInfo* endpoint : endpoints) result.push_back({endpoint->address, ports[endpoint]});
        sort_unique(result);
        return result;
    };
    Chosen chosen;
    const Endpoints everywhere = usable(all);
    chosen.any_elsewhere = !everywhere.empty();
    chosen.cluster = backends(near(*service.info, everywhere));
    chosen.local = backends(usable(here));
    return chosen;
}

/// Follows the hints of the slices, but only if every endpoint has some and one of them means us.
Endpoints ServiceTable::near(const ServiceInfo& info, Endpoints ready) const {
    if (info.ignore_hints || ready.empty() || !ready.front()->ready) return ready;
    const auto hinted = [&](auto hints, const std::string& place) {
        Endpoints close;
        for (const EndpointInfo* endpoint : ready) {
            if ((endpoint->*hints).empty()) return Endpoints();
            if ((endpoint->*hints).contains(place)) close.push_back(endpoint);
        }
        return close;
    };
    if (Endpoints close = hinted(&EndpointInfo::node_hints, node_.name); !close.empty()) return close;
    if (node_.zone.empty()) return ready;
    if (Endpoints close = hinted(&EndpointInfo::zone_hints, node_.zone); !close.empty()) return close;
    return ready;
}

}  // namespace porthole::proxy
