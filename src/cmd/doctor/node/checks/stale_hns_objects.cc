#include <algorithm>

#include "base/strings.h"
#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {
namespace {

using namespace hns;

bool has_namespace(const HnsFacts& facts, const hcn::HostComputeEndpoint& endpoint) {
    return std::ranges::any_of(facts.namespaces,
                               [&](const auto& one) { return equal_ignoring_case(one.id, endpoint.host_compute_namespace); });
}

/// Of a pod that has gone: in no namespace, or in one that has gone. What other nodes have, and the host's own leg, are in none.
std::vector<std::string> stale_endpoints(const HnsFacts& facts, const std::string& network) {
    std::vector<std::string> found;
    for (const hcn::HostComputeEndpoint& endpoint : facts.endpoints) {
        if (is_remote(endpoint) || endpoint.name == network + "_ep" || has_namespace(facts, endpoint)) continue;
        found.push_back("endpoint " + endpoint.id + " (" + endpoint.name + ")");
    }
    return found;
}

std::vector<std::string> stale_load_balancers(const HnsFacts& facts) {
    const auto is_gone = [&](const std::string& id) {
        return std::ranges::none_of(facts.endpoint_ids, [&](const std::string& one) { return equal_ignoring_case(one, id); });
    };
    std::vector<std::string> found;
    for (const hcn::HostComputeLoadBalancer& one : facts.load_balancers)
        if (std::ranges::any_of(one.host_compute_endpoints, is_gone))
            found.push_back("load balancer " + one.id + " of " + join(one.frontend_vips, ", "));
    return found;
}

}  // namespace

void check_node_stale_hns_objects(const NodeEvidence& evidence, Findings& findings) {
    const Item endpoints{"", "no HNS endpoints of deleted pods are left"}, balancers{"", "no HNS load balancers without pods are left"};
    if (!evidence.windows) {
        findings.not_applicable(endpoints, "Linux nodes have no HNS");
        return findings.not_applicable(balancers, "Linux nodes have no HNS");
    }
    if (!evidence.hns)
        return findings.fail(endpoints, "the host network service does not answer: " + evidence.hns_error,
                             "Restart-Service hns; without the service: Install-WindowsFeature Containers");
    // A pod that is being made has its endpoint a moment before its namespace has: so a warning.
    findings.none(endpoints, Verdict::Warn, stale_endpoints(*evidence.hns, evidence.pod_network),
                  "they use up addresses of the node's range, unless a pod is being created",
                  "wait half a minute and run this again; then, for each: Get-HnsEndpoint ID | Remove-HnsEndpoint");
    findings.none(balancers, Verdict::Warn, stale_load_balancers(*evidence.hns), "connections to these service addresses can hang",
                  "Restart-Service kube-proxy, which creates them again");
}

}  // namespace porthole::cmd::doctor
