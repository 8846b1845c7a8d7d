#include "apiserver/allocation/service_allocator.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "api/networking_v1.h"
#include "apiserver/storage/keys.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Service;
using api::core::v1::ServicePort;
using api::networking::v1::IPAddress;
using schema::Value;

constexpr std::string_view PortPrefix = "/allocation/node-ports/";
constexpr std::string_view AlreadyAllocated = "provided IP is already allocated";
constexpr const char* ManagedBy = "ipaddress.kubernetes.io/managed-by";
constexpr const char* Manager = "ipallocator.k8s.io";  ///< upstream's, whose server else replaces the object
constexpr const char* None = "None";

std::string port_key(std::int32_t port) { return std::string(PortPrefix) + std::to_string(port); }
std::string address_key(const std::string& address) { return object_key(IPAddress::kind(), "", address); }
const char* family_of(std::string_view address) { return address.contains(':') ? "IPv6" : "IPv4"; }
const char* family_of(const IpPrefix& cidr) { return cidr.base().is_v6() ? "IPv6" : "IPv4"; }

bool is_headless(const Service& service) { return service.spec.cluster_ip == None; }
bool has_cluster_ip(const Service& service) { return service.spec.type != "ExternalName" && !is_headless(service); }
bool wants_node_ports(const Service& service) {
    if (service.spec.type == "NodePort") return true;
    return service.spec.type == "LoadBalancer" && service.spec.allocate_load_balancer_node_ports.value_or(true);
}
bool wants_health_port(const Service& service) {
    return service.spec.type == "LoadBalancer" && service.spec.external_traffic_policy == "Local";
}

Value strings(const std::vector<std::string>& texts) {
    Value list = Value::array();
    for (const std::string& text : texts) list.as_array().emplace_back(text);
    return list;
}

/// Addresses of a prefix that may be given out: without the network's own and, in IPv4, the broadcast address.
std::uint64_t usable(const IpPrefix& cidr) {
    const int bits = std::min(cidr.base().bits() - cidr.length(), 32);
    const std::uint64_t all = std::uint64_t{1} << bits;
    const std::uint64_t reserved = cidr.base().is_v6() ? 1 : 2;
    return all > reserved ? all - reserved : 0;
}

/// The lower part, kept for those who choose their own. See KEP-3070.
std::uint64_t static_band(std::uint64_t size, std::uint64_t divisor, std::uint64_t limit) {
    if (size <= 16) return 0;
    return std::min(std::max<std::uint64_t>(16, size / divisor), limit);
}

}  // namespace

ServiceAllocator::Taken ServiceAllocator::taken_by(const Service& service) {
    Taken taken;
    if (has_cluster_ip(service)) {
        for (const std::string& address : service.spec.cluster_ips)
            if (!address.empty()) taken.addresses.insert(address);
    }
    for (const ServicePort& port : service.spec.ports)
        if (port.node_port != 0) taken.ports.insert(port.node_port);
    if (service.spec.health_check_node_port != 0) taken.ports.insert(service.spec.health_check_node_port);
    return taken;
}

bool ServiceAllocator::is_free(const IpAddress& address) const { return !store_->get(address_key(address.to_string())); }
bool ServiceAllocator::is_free(std::int32_t port) const { return !store_->get(port_key(port)); }

const IpPrefix* ServiceAllocator::cidr_of(std::string_view family) const {
    const auto found = std::ranges::find_if(settings_.cidrs, [&](const IpPrefix& cidr) { return family_of(cidr) == family; });
    return found == settings_.cidrs.end() ? nullptr : &*found;
}

void ServiceAllocator::settle_families(Service& service, const Service* old, FieldErrors& errors) const {
    auto& spec = service.spec;
    if (spec.type == "ExternalName") return;
    const bool was_dual = old && old->spec.ip_families.size() > 1;
    if (!spec.ip_family_policy) {
        const bool several = spec.ip_families.size() > 1 || spec.cluster_ips.size() > 1;
        const bool open_headless = is_headless(service) && spec.selector.empty() && is_dual_stack();
        spec.ip_family_policy = open_headless ? "RequireDualStack" : several && was_dual ? *old->spec.ip_family_policy : "SingleStack";
    }
    if (spec.ip_families.empty()) {
        for (const std::string& address : spec.cluster_ips)
            if (address != None && !address.empty()) spec.ip_families.emplace_back(family_of(address));
    }
    if (spec.ip_families.empty()) spec.ip_families.emplace_back(family_of(settings_.cidrs.front()));
    for (std::size_t i = 0; i < spec.ip_families.size(); ++i) {
        if (!cidr_of(spec.ip_families[i]) && !is_headless(service))
            errors.invalid(FieldPath("spec.ipFamilies").index(i), spec.ip_families[i], "not configured on this cluster");
    }
    const bool wants_dual = *spec.ip_family_policy != "SingleStack";
    if (*spec.ip_family_policy == "RequireDualStack" && !is_dual_stack())
        errors.invalid("spec.ipFamilyPolicy", *spec.ip_family_policy, "this cluster is not configured for dual-stack services");
    if (wants_dual && is_dual_stack() && spec.ip_families.size() == 1)
        spec.ip_families.emplace_back(spec.ip_families.front() == "IPv4" ? "IPv6" : "IPv4");
    if (!wants_dual && old && spec.ip_families.size() > 1) {
        spec.ip_families.resize(1);
        if (spec.cluster_ips.size() > 1) spec.cluster_ips.resize(1);
    }
}

std::string ServiceAllocator::pick_address(const IpPrefix& cidr) const {
    const std::uint64_t size = usable(cidr);
    if (size == 0) return "";
    const std::uint64_t band = static_band(size, 16, 256);
    // Among n taken addresses one of any n + 1 is free.
    const std::uint64_t taken = store_->count(kind_prefix(IPAddress::kind()));
    const auto search = [&](std::uint64_t first, std::uint64_t count) -> std::string {
        if (count == 0) return "";
        const std::uint64_t start = random_.below(count);
        for (std::uint64_t i = 0; i < std::min(count, taken + 1); ++i) {
            const IpAddress candidate = cidr.base().plus(1 + first + (start + i) % count);
            if (is_free(candidate)) return candidate.to_string();
        }
        return "";
    };
    std::string found = search(band, size - band);
    return found.empty() ? search(0, band) : found;
}

std::int32_t ServiceAllocator::pick_port(const std::set<std::int32_t>& chosen) const {
    const std::uint64_t size = settings_.last_node_port - settings_.first_node_port + 1u;
    const std::uint64_t band = static_band(size, 32, 128);
    const auto search = [&](std::uint64_t first, std::uint64_t count) -> std::int32_t {
        if (count == 0) return 0;
        const std::uint64_t start = random_.below(count);
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto candidate = static_cast<std::int32_t>(settings_.first_node_port + first + (start + i) % count);
            if (!chosen.contains(candidate) && is_free(candidate)) return candidate;
        }
        return 0;
    };
    const std::int32_t found = search(band, size - band);
    return found != 0 ? found : search(0, band);
}

void ServiceAllocator::allocate_addresses(Service& service, const Taken& before, FieldErrors& errors) const {
    auto& spec = service.spec;
    if (spec.type == "ExternalName") return;
    if (is_headless(service)) {
        spec.cluster_ips = {None};
        return;
    }
    spec.cluster_ips.resize(spec.ip_families.size());
    const Value wanted = strings(spec.cluster_ips);
    for (std::size_t i = 0; i < spec.cluster_ips.size(); ++i) {
        std::string& address = spec.cluster_ips[i];
        const IpPrefix* cidr = cidr_of(spec.ip_families[i]);
        if (!cidr || before.addresses.contains(address)) continue;
        if (address.empty()) {
            address = pick_address(*cidr);
            if (address.empty()) errors.internal("spec.clusterIPs", "failed to allocate a serviceIP: range is full");
            continue;
        }
        const auto parsed = IpAddress::parse(address);
        if (!parsed) continue;
        const bool inside = cidr->contains(*parsed) && *parsed != cidr->base();
        if (!inside) {
            errors.invalid("spec.clusterIPs", wanted,
                           "failed to allocate IP " + address + ": the provided IP (" + address +
                               ") is not in the valid range. The range of valid IPs is " + cidr->to_string());
        } else if (!is_free(*parsed)) {
            errors.invalid("spec.clusterIPs", wanted, "failed to allocate IP " + address + ": " + std::string(AlreadyAllocated));
        }
    }
    spec.cluster_ip = spec.cluster_ips.front();
}

void ServiceAllocator::allocate_ports(Service& service, const Service* old, const Taken& before, FieldErrors& errors) const {
    std::set<std::int32_t> chosen;
    const auto reserve = [&](std::int32_t& port, const FieldPath& path) {
        if (port == 0) {
            port = pick_port(chosen);
            if (port == 0) errors.internal(path, "failed to allocate a nodePort: range is full");
        } else if (port < settings_.first_node_port || port > settings_.last_node_port) {
            errors.invalid(path, port,
                           "provided port is not in the valid range. The range of valid ports is " +
                               std::to_string(settings_.first_node_port) + "-" + std::to_string(settings_.last_node_port));
        } else if (!chosen.contains(port) && !before.ports.contains(port) && !is_free(port)) {
            errors.invalid(path, port, "provided port is already allocated");
        }
        chosen.insert(port);
    };
    auto& ports = service.spec.ports;
    for (const ServicePort& port : ports)
        if (port.node_port != 0) chosen.insert(port.node_port);
    const std::set<std::int32_t> named = std::exchange(chosen, {});
    std::map<std::pair<std::string_view, std::int32_t>, std::int32_t> kept;  // node ports, by protocol and port
    if (old)
        for (const ServicePort& one : old->spec.ports)
            if (one.node_port != 0 && !named.contains(one.node_port)) kept.emplace(std::pair(one.protocol, one.port), one.node_port);
    for (std::size_t i = 0; wants_node_ports(service) && i < ports.size(); ++i) {
        ServicePort& port = ports[i];
        if (const auto same = kept.find({port.protocol, port.port}); port.node_port == 0 && same != kept.end())
            port.node_port = same->second;
        reserve(port.node_port, FieldPath("spec.ports").index(i) / "nodePort");
    }
    if (wants_health_port(service)) reserve(service.spec.health_check_node_port, "spec.healthCheckNodePort");
}

store::Put ServiceAllocator::address_record(const std::string& address, const Service& service) const {
    IPAddress object;
    object.metadata.name = address;
    object.metadata.uid = random_.uuid();
    object.metadata.generation = 1;
    object.metadata.creation_timestamp = service.metadata.creation_timestamp;
    object.metadata.labels = {{ManagedBy, Manager}, {"ipaddress.kubernetes.io/ip-family", family_of(address)}};
    object.spec.parent_ref = api::networking::v1::ParentReference{
        .group = "", .resource = "services", .namespace_ = service.metadata.namespace_, .name = service.metadata.name};
    ApiObject::GappedJson json = ApiObject::of(std::move(object)).to_gapped_json();
    return {.key = address_key(address), .value = std::move(json.text), .revision_at = json.gap};
}

Result<void> ServiceAllocator::begin_write(Service* service, const Service* old, TransactionDraft& draft, FieldErrors& errors) const {
    CHECK(store_);
    const Taken before = old ? taken_by(*old) : Taken();
    Taken after;
    if (service) {
        settle_families(*service, old, errors);
        if (!errors.empty()) return {};
        allocate_addresses(*service, before, errors);
        allocate_ports(*service, old, before, errors);
        if (!errors.empty()) return {};
        after = taken_by(*service);
    }
    for (const std::string& address : after.addresses) {
        if (before.addresses.contains(address)) continue;
        draft.guards.push_back(store::Guard::absent(address_key(address)));
        draft.operations.emplace_back(address_record(address, *service));
    }
    for (const std::int32_t port : after.ports) {
        if (before.ports.contains(port)) continue;
        draft.guards.push_back(store::Guard::absent(port_key(port)));
        draft.operations.emplace_back(
            store::Put{.key = port_key(port), .value = service->metadata.namespace_ + "/" + service->metadata.name});
    }
    for (const std::string& address : before.addresses)
        if (!after.addresses.contains(address)) draft.operations.emplace_back(store::Delete{address_key(address)});
    for (const std::int32_t port : before.ports)
        if (!after.ports.contains(port)) draft.operations.emplace_back(store::Delete{port_key(port)});
    return {};
}

Result<std::vector<store::Operation>> ServiceAllocator::repairs() const {
    std::vector<store::Operation> operations;
    std::set<std::string> wanted;
    TRY(const store::Range services, store_->range({.prefix = kind_prefix(Service::kind())}));
    for (const store::RecordPtr& record : services.records) {
        TRY(const Service service, schema::decode_json<Service>(*record->value.bytes()));
        const Taken taken = taken_by(service);
        for (const std::string& address : taken.addresses) {
            if (wanted.insert(address_key(address)).second && !store_->get(address_key(address)))
                operations.emplace_back(address_record(address, service));
        }
        for (const std::int32_t port : taken.ports) {
            if (wanted.insert(port_key(port)).second && !store_->get(port_key(port)))
                operations.emplace_back(
                    store::Put{.key = port_key(port), .value = service.metadata.namespace_ + "/" + service.metadata.name});
        }
    }
    TRY(const store::Range addresses, store_->range({.prefix = kind_prefix(IPAddress::kind())}));
    for (const store::RecordPtr& record : addresses.records) {
        TRY(const IPAddress address, schema::decode_json<IPAddress>(*record->value.bytes()));
        const auto manager = address.metadata.labels.find(ManagedBy);
        const bool ours = manager != address.metadata.labels.end() && manager->second == Manager;
        if (ours && !wanted.contains(record->key)) operations.emplace_back(store::Delete{record->key});
    }
    TRY(const store::Range ports, store_->range({.prefix = std::string(PortPrefix)}));
    for (const store::RecordPtr& record : ports.records)
        if (!wanted.contains(record->key)) operations.emplace_back(store::Delete{record->key});
    return operations;
}

}  // namespace porthole::apiserver
