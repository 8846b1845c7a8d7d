#include "node_join/cluster_network.h"

#include "api/core_v1.h"
#include "base/result.h"
#include "base/values/ip.h"
#include "client/client.h"
#include "schema/value.h"
#include "schema/yaml/yaml.h"

namespace porthole::node_join {
namespace {

constexpr std::uint64_t DnsServiceNumber = 10;  // of kubeadm, and ours

/// The DNS service's address in the first of `ranges`.
Result<std::string> dns_address(const std::string& ranges) {
    TRY(const IpPrefix range, IpPrefix::parse(ranges.substr(0, ranges.find(','))));
    return range.base().plus(DnsServiceNumber).to_string();
}

Result<void> set_service_range(const std::string& ranges, ClusterNetwork& network) {
    TRY(network.cluster_dns, dns_address(ranges));
    network.service_cidr = ranges;
    return {};
}

}  // namespace

std::vector<std::string> proxy_exceptions(const std::string& cluster_cidr, const std::string& service_cidr,
                                          const std::string& cluster_domain) {
    return {"localhost", "127.0.0.1", cluster_cidr, service_cidr, ".svc", "." + cluster_domain};
}

ClusterNetwork cluster_network(const std::map<std::string, std::string>& data) {
    ClusterNetwork network;
    const auto learn = [&](const char* key, std::string& into) {
        if (const auto found = data.find(key); found != data.end() && !found->second.empty()) into = found->second;
    };
    learn("clusterCidr", network.cluster_cidr);
    learn("serviceCidr", network.service_cidr);
    learn("clusterDns", network.cluster_dns);
    learn("clusterDomain", network.cluster_domain);
    learn(BackendKey, network.backend);
    network.known = data.contains("clusterCidr");
    return network;
}

Result<void> learn_from_kubeadm(const std::string& cluster_configuration, ClusterNetwork& network) {
    TRY(const schema::Value document, schema::parse_yaml(cluster_configuration));
    if (document.string_at({"kind"}) != "ClusterConfiguration") {
        return Error(Reason::BadRequest, "the cluster's kubeadm-config holds no ClusterConfiguration");
    }
    const auto said = [&](const char* key) { return std::string(document.string_at({"networking", key})); };
    if (const std::string services = said("serviceSubnet"); !services.empty()) {
        TRY_VOID(set_service_range(services, network));
    }
    if (const std::string domain = said("dnsDomain"); !domain.empty()) network.cluster_domain = domain;
    if (const std::string pods = said("podSubnet"); !pods.empty()) {
        network.cluster_cidr = pods;
        network.known = true;
    }
    return {};
}

Task<ClusterNetwork> ask_kubeadm(client::Client& client, ClusterNetwork network) {
    const auto stored = co_await client.get<api::core::v1::ConfigMap>({"kube-system", "kubeadm-config"});
    if (!stored && (is_not_found(stored) || stored.error().reason == Reason::Forbidden)) co_return network;
    if (!stored) co_return stored.error();
    const auto configuration = stored->data.find("ClusterConfiguration");
    if (configuration != stored->data.end()) {
        CO_TRY_VOID(learn_from_kubeadm(configuration->second, network));
    }
    co_return network;
}

Result<void> apply_wishes(const NetworkWishes& wishes, ClusterNetwork& network) {
    if (!wishes.cluster_cidr.empty()) {
        network.cluster_cidr = wishes.cluster_cidr;
        network.known = true;
    }
    if (!wishes.service_cidr.empty()) {
        TRY_VOID(set_service_range(wishes.service_cidr, network));
    }
    if (!wishes.cluster_dns.empty()) network.cluster_dns = wishes.cluster_dns;
    if (!wishes.cluster_domain.empty()) network.cluster_domain = wishes.cluster_domain;
    return {};
}

Result<std::string> choose_backend(const std::string& asked, const ClusterNetwork& network) {
    if (asked.empty()) return network.backend.empty() ? std::string("host-gw") : network.backend;
    if (!network.backend.empty() && network.backend != asked)
        return Error(Reason::BadRequest, "the pod network of this cluster is " + network.backend + ", not " + asked +
                                             ": all nodes need the same; without the flag, the cluster's is used");
    return asked;
}

Result<std::string> range_for_windows(const std::string& ranges) {
    std::size_t start = 0;
    while (start <= ranges.size()) {
        const std::size_t comma = std::min(ranges.find(',', start), ranges.size());
        const std::string one = ranges.substr(start, comma - start);
        start = comma + 1;
        const auto prefix = IpPrefix::parse(one);
        if (!prefix) return Error(Reason::BadRequest, "\"" + one + "\" is not a valid address range; write it like 10.244.0.0/16");
        if (prefix->base().is_v4()) return one;
    }
    return Error(Reason::BadRequest,
                 "this cluster has only IPv6 addresses (" + ranges +
                     "): single-stack IPv6 clusters are not supported with Windows nodes; give the cluster IPv4 ranges, too");
}

}  // namespace porthole::node_join
