#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {

void check_node_adapters(const NodeEvidence& evidence, Findings& findings) {
    const Item own{"", "an adapter has the node's address"}, pods{"", "the pod network exists"};
    if (evidence.address.empty()) {
        findings.not_applicable(own, evidence.windows ? "the node's address is not known: give it with --node-ip"
                                                      : "the node's address is not known, because the API server does not answer");
    } else if (evidence.adapter.empty()) {
        findings.fail(own, "no adapter has " + evidence.address + "; this machine has " + evidence.adapters,
                      "assign this address to the machine again, or join again with another: --node-ip");
    } else {
        findings.pass(own, evidence.address + " on " + evidence.adapter);
    }
    if (evidence.missing_network.empty()) return findings.pass(pods, evidence.pod_network);
    findings.fail(pods, "missing is " + evidence.missing_network + "; this machine has " + evidence.adapters, evidence.network_remedy);
}

}  // namespace porthole::cmd::doctor
