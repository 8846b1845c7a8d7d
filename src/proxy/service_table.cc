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
    const auto service = services_.find(owner->second.service);
    return service != services_.end() && service->second.info ? &*service->second.info : nullptr;
}

/// Puts the service's frontends in place of its former ones.
void ServiceTable::take_over(const std::string& key, Service& service, std::set<FrontendKey>& changed) {
    Wanted wanted = frontends_of(service);
    if (wanted.is_cut)
        cut_.insert(key);
    else
        cut_.erase(key);
    for (const FrontendKey& one : std::exchange(service.contested, {})) {
        const auto found = contested_.find(one);
        found->second.erase(key);
        if (found->second.empty()) contested_.erase(found);
    }
    for (const FrontendKey& old : std::set<FrontendKey>(service.frontends)) {
        if (wanted.frontends.contains(old)) continue;
        let_go(key, service, old);
        changed.insert(old);
    }
    for (auto& [frontend_key, frontend] : wanted.frontends) {
        if (!acquire(key, service, frontend_key, !wanted.chosen.contains(frontend_key))) continue;
        const auto [present, added] = frontends_.try_emplace(frontend_key, Frontend());
        if (!added && present->second == frontend) continue;
        present->second = std::move(frontend);
        changed.insert(frontend_key);
    }
}

void ServiceTable::let_go(const std::string& key, Service& service, const FrontendKey& frontend) {
    frontends_.erase(frontend);
    owners_.erase(frontend);
    service.frontends.erase(frontend);
    const auto others = contested_.find(frontend);
    if (others == contested_.end()) return;
    for (const std::string& other : others->second)
        if (other != key) dirty_.insert(other);
}

/// Makes the service the frontend's owner, or says that another one stays it: the first of those with the same right.
bool ServiceTable::acquire(const std::string& key, Service& service, const FrontendKey& frontend, bool is_assigned) {
    const auto [found, added] = owners_.try_emplace(frontend, Owner{key, is_assigned});
    Owner& owner = found->second;
    const auto contest = [&](const std::string& loser, Service& of_loser) {
        of_loser.contested.insert(frontend);
        contested_[frontend].insert(loser);
    };
    if (owner.service != key) {
        if (owner.is_assigned || !is_assigned) {
            contest(key, service);
            return false;
        }
        Service& former = services_.at(owner.service);
        former.frontends.erase(frontend);
        frontends_.erase(frontend);
        contest(owner.service, former);
        owner = {key, true};
    } else if (!added && owner.is_assigned && !is_assigned) {
        owner.is_assigned = false;
        if (const auto others = contested_.find(frontend); others != contested_.end())
            dirty_.insert(others->second.begin(), others->second.end());
    }
    owner.is_assigned = is_assigned;
    service.frontends.insert(frontend);
    return true;
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

void ServiceTable::Wanted::add(const std::vector<IpAddress>& addresses, Protocol protocol, std::uint16_t port, const Frontend& frontend,
                               bool is_chosen) {
    const std::size_t places = places_of(frontend);
    for (const IpAddress& address : addresses) {
        const FrontendKey key{address, protocol, port};
        if (!is_chosen) chosen.erase(key);
        if (frontends.contains(key)) continue;
        if (places > MostPlaces - used) return void(is_cut = true);
        used += places;
        frontends.emplace(key, frontend);
        if (is_chosen) chosen.insert(key);
    }
}

ServiceTable::Wanted ServiceTable::frontends_of(const Service& service) const {
    Wanted wanted;
    if (!service.info) return wanted;
    const ServiceInfo& info = *service.info;
    const Offers offers = offers_of(service);
    for (const ServiceInfo::Port& port : info.ports) {
        const Chosen chosen = choose(info, offers, port);
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
        Frontend restricted = external;
        restricted.source_ranges = info.source_ranges;

        wanted.add(info.cluster_ips, port.protocol, port.port, internal, false);
        wanted.add(info.external_ips, port.protocol, port.port, external, true);
        wanted.add(info.load_balancer_ips, port.protocol, port.port, restricted, false);
        if (port.node_port != 0) wanted.add(node_.node_port_addresses, port.protocol, port.node_port, external, false);
        if (wanted.is_cut) break;
    }
    return wanted;
}

/// Looked up for each port of the service: both may have thousands.
ServiceTable::Offers ServiceTable::offers_of(const Service& service) {
    Offers offers;
    for (const auto& [key, slice] : service.slices)
        for (const SliceInfo::Port& offered : slice.ports)
            if (offered.port != 0) offers[{offered.name, offered.protocol}].emplace_back(&slice, offered.port);
    return offers;
}

ServiceTable::Chosen ServiceTable::choose(const ServiceInfo& info, const Offers& offers, const ServiceInfo::Port& port) const {
    Endpoints all, here;
    std::map<const EndpointInfo*, std::uint16_t> ports;
    if (const auto offered = offers.find({port.name, port.protocol}); offered != offers.end()) {
        for (const auto& [slice, number] : offered->second) {
            for (const EndpointInfo& endpoint : slice->endpoints) {
                all.push_back(&endpoint);
                if (endpoint.node_name == node_.name) here.push_back(&endpoint);
                ports[&endpoint] = number;
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
    chosen.cluster = backends(near(info, everywhere));
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
