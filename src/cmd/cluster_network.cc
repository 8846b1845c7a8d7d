#include "cmd/cluster_network.h"

#include "base/ip.h"

namespace porthole::cmd {

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
    return network;
}

Result<std::string> choose_backend(const std::string& asked, const ClusterNetwork& network) {
    if (asked.empty()) return network.backend.empty() ? std::string("host-gw") : network.backend;
    if (!network.backend.empty() && network.backend != asked)
        return Error(Reason::BadRequest, "the pod network of this cluster is " + network.backend + ", not " + asked +
                                             ": all nodes need the same; leave the choice out and the cluster's is taken");
    return asked;
}

Result<std::string> range_for_windows(const std::string& ranges) {
    std::size_t start = 0;
    while (start <= ranges.size()) {
        const std::size_t comma = std::min(ranges.find(',', start), ranges.size());
        const std::string one = ranges.substr(start, comma - start);
        start = comma + 1;
        const auto prefix = IpPrefix::parse(one);
        if (!prefix) return Error(Reason::BadRequest, "\"" + one + "\" is no range of addresses such as 10.244.0.0/16");
        if (prefix->base().is_v4()) return one;
    }
    return Error(Reason::BadRequest, "this cluster has IPv6 addresses alone (" + ranges +
                                         "): single-stack IPv6 clusters are not supported with Windows nodes, they need IPv4 or both");
}

}  // namespace porthole::cmd
