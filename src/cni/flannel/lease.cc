#include "cni/flannel/lease.h"

#include <algorithm>

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::cni::flannel {

namespace {

constexpr const char* Prefix = "flannel.alpha.coreos.com/";

std::string annotation(const api::core::v1::Node& node, const std::string& name) {
    const auto found = node.metadata.annotations.find(Prefix + name);
    return found == node.metadata.annotations.end() ? "" : found->second;
}

std::optional<IpAddress> v4(const std::string& text) {
    const auto address = IpAddress::parse(text);
    return address && address->is_v4() ? std::optional(*address) : std::nullopt;
}

std::optional<IpAddress> address_of(const api::core::v1::Node& node) {
    for (const char* name : {"public-ip-overwrite", "public-ip"}) {
        if (const auto address = v4(annotation(node, name))) return address;
    }
    for (const auto& address : node.status.addresses) {
        if (address.type != "InternalIP") continue;
        if (const auto parsed = v4(address.address)) return parsed;
    }
    return std::nullopt;
}

/// A MAC in lower case with colons; "" for what is not the address of one station.
std::string station_address(std::string_view text) {
    constexpr std::string_view Digits = "0123456789abcdef";
    std::string mac = to_lower(text);
    std::ranges::replace(mac, '-', ':');
    if (mac.size() != 17) return "";
    for (std::size_t i = 0; i < mac.size(); ++i)
        if (i % 3 == 2 ? mac[i] != ':' : !Digits.contains(mac[i])) return "";
    const bool is_group = Digits.find(mac[1]) % 2 == 1;
    return is_group || mac == "00:00:00:00:00:00" ? "" : mac;
}

}  // namespace

std::optional<IpPrefix> pod_range_of(const api::core::v1::Node& node) {
    std::vector<std::string> cidrs = node.spec.pod_cidrs;
    if (cidrs.empty()) cidrs.push_back(node.spec.pod_cidr);
    for (const std::string& cidr : cidrs) {
        const auto prefix = IpPrefix::parse(cidr);
        if (prefix && prefix->base().is_v4()) return *prefix;
    }
    return std::nullopt;
}

std::optional<Lease> lease_of(const api::core::v1::Node& node) {
    const auto subnet = pod_range_of(node);
    const auto address = address_of(node);
    if (!subnet || !address) return std::nullopt;
    Lease lease{.node = node.metadata.name, .subnet = *subnet, .public_ip = *address};
    lease.backend = find_backend(annotation(node, "backend-type"));
    if (const auto data = schema::parse_json(annotation(node, "backend-data")); data && data->is_object()) {
        lease.vni = static_cast<std::uint32_t>(schema::at(*data, "VNI").int_or(0));
        lease.vtep_mac = station_address(data->string_at({"VtepMAC"}));
    }
    return lease;
}

std::map<std::string, std::string> annotations_of(const Lease& lease) {
    const Backend backend = lease.backend.value_or(Backend::HostGateway);
    const std::string data =
        backend == Backend::Vxlan ? schema::to_json(schema::Value::object({{"VNI", lease.vni}, {"VtepMAC", lease.vtep_mac}})) : "null";
    return {{std::string(Prefix) + "backend-type", to_string(backend)},
            {std::string(Prefix) + "backend-data", data},
            {std::string(Prefix) + "public-ip", lease.public_ip.to_string()},
            {std::string(Prefix) + "kube-subnet-manager", "true"}};
}

bool may_be_of_another_node(const IpPrefix& range, std::span<const IpPrefix> cluster, std::span<const IpPrefix> services,
                            std::span<const IpPrefix> own) {
    const auto holds = [&](const IpPrefix& other) { return other.length() <= range.length() && other.overlaps(range); };
    const auto overlaps = [&](const IpPrefix& other) { return other.overlaps(range); };
    return (cluster.empty() || std::ranges::any_of(cluster, holds)) && std::ranges::none_of(services, overlaps) &&
           std::ranges::none_of(own, overlaps);
}

std::optional<Lease> find_other_backend(const std::map<std::string, Lease>& leases, const std::string& self, Backend backend) {
    const auto other = std::ranges::find_if(
        leases, [&](const auto& entry) { return entry.first != self && entry.second.backend && *entry.second.backend != backend; });
    return other == leases.end() ? std::nullopt : std::optional(other->second);
}

}  // namespace porthole::cni::flannel
