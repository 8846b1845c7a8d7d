#include "proxy/nftables/elements.h"

#include "schema/json/json.h"

namespace porthole::proxy::nftables {
namespace {

using schema::Value;

constexpr std::string_view PartSeparator = " . ", DataSeparator = " : ";

std::string concatenated(std::initializer_list<std::string> parts) {
    std::string text;
    for (const std::string& part : parts) text.append(text.empty() ? "" : PartSeparator).append(part);
    return text;
}

std::string text_of(const FrontendKey& service) {
    return concatenated({service.address.to_string(), to_string(service.protocol), std::to_string(service.port)});
}

std::string text_of(const Backend& backend) { return concatenated({backend.address.to_string(), std::to_string(backend.port)}); }

std::string go_to(const std::string& chain) { return "goto " + chain; }

const char* endpoints_map(Protocol protocol) {
    switch (protocol) {
        case Protocol::Tcp:
            return EndpointsTcp;
        case Protocol::Udp:
            return EndpointsUdp;
        case Protocol::Sctp:
            return EndpointsSctp;
    }
    return "";
}

void read_elements(const Value& set, std::set<std::string>& into) {
    const Value* elements = set.find("elem");
    if (!elements || !elements->is_array()) return;
    for (const Value& element : elements->as_array()) into.insert(read_element(element));
}

}  // namespace

Element service_ip(const FrontendKey& service, const std::string& chain) { return {ServiceIps, text_of(service), go_to(chain)}; }

Element internal_service_ip(const FrontendKey& service, const std::string& chain) {
    return {InternalServiceIps, text_of(service), go_to(chain)};
}

Element no_endpoint_service(const FrontendKey& service, bool drop) {
    return {NoEndpointServices, text_of(service), drop ? "drop" : go_to(RejectChain)};
}

Element affinity_service(const FrontendKey& service, const std::string& chain) {
    return {AffinityServices, text_of(service), go_to(chain)};
}

Element endpoint(const FrontendKey& service, std::size_t slot, const Backend& backend) {
    return {endpoints_map(service.protocol),
            concatenated({service.address.to_string(), std::to_string(service.port), std::to_string(slot)}), text_of(backend)};
}

Element firewall_ip(const FrontendKey& service) { return {FirewallIps, text_of(service), ""}; }

Element firewall_allowed_source(const FrontendKey& service, const IpPrefix& source) {
    // The kernel's listing has a single address without a length.
    const bool single = source.length() == source.base().bits();
    return {FirewallAllowedSources, concatenated({text_of(service), single ? source.base().to_string() : source.to_string()}), ""};
}

Element cluster_ip(const IpAddress& address) { return {ClusterIps, address.to_string(), ""}; }

Element hairpin_connection(const IpAddress& pod) { return {HairpinConnections, concatenated({pod.to_string(), pod.to_string()}), ""}; }

Element local_pod_cidr(const IpPrefix& prefix) { return {LocalPodCidrs, prefix.to_string(), ""}; }

std::optional<AffinityEntry> read_affinity(std::string_view element) {
    const std::size_t client_end = element.find(PartSeparator), key_end = element.find(DataSeparator);
    if (client_end == element.npos || key_end == element.npos) return std::nullopt;
    return AffinityEntry{std::string(element.substr(0, key_end)), std::string(element.substr(client_end + PartSeparator.size()))};
}

std::string affinity_endpoint(const FrontendKey& service, const Backend& backend) {
    return text_of(service).append(DataSeparator).append(text_of(backend));
}

std::string read_element(const schema::Value& value) {
    if (value.is_string()) return value.as_string();
    if (value.is_int()) return std::to_string(value.as_int());
    if (value.is_array() && value.as_array().size() == 2)
        return read_element(value.as_array()[0]).append(DataSeparator).append(read_element(value.as_array()[1]));
    if (const schema::Value* parts = value.find("concat"); parts && parts->is_array()) {
        std::string text;
        for (const schema::Value& part : parts->as_array()) text.append(text.empty() ? "" : PartSeparator).append(read_element(part));
        return text;
    }
    if (const schema::Value* element = value.find("elem")) return read_element(schema::at(*element, "val"));
    if (const schema::Value* prefix = value.find("prefix"))
        return read_element(schema::at(*prefix, "addr")) + "/" + read_element(schema::at(*prefix, "len"));
    for (const char* verdict : {"goto", "jump"}) {
        if (const schema::Value* target = value.find(verdict))
            return std::string(verdict) + " " + read_element(schema::at(*target, "target"));
    }
    return value.find("drop") ? "drop" : "";
}

Result<Listing> read_listing(std::string_view json) {
    TRY(const Value document, schema::parse_json(json));
    const Value* objects = document.find("nftables");
    if (!objects || !objects->is_array()) return Error(Reason::BadRequest, "no nftables listing");
    Listing listing;
    for (const Value& object : objects->as_array()) {
        for (const char* kind : {"set", "map"}) {
            if (const Value* set = object.find(kind)) read_elements(*set, listing.elements[read_element(schema::at(*set, "name"))]);
        }
        if (const Value* chain = object.find("chain")) listing.rules[read_element(schema::at(*chain, "name"))] += 0;
        if (const Value* rule = object.find("rule")) ++listing.rules[read_element(schema::at(*rule, "chain"))];
    }
    return listing;
}

}  // namespace porthole::proxy::nftables
