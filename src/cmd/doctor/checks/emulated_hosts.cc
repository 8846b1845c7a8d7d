#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {

void check_emulated_hosts(const Evidence& evidence, Findings& findings) {
    const Item item{"", "programs of emulated Windows hosts are not root of this machine"};
    if (!evidence.host) return findings.not_applicable(item, evidence.host_missing);
    if (evidence.host->emulated_hosts.empty()) return findings.not_applicable(item, "no emulated host runs on this machine");
    std::vector<std::string> root;
    for (const EmulatedHostFact& host : evidence.host->emulated_hosts)
        if (host.root == 0) root.push_back(host.node);
    findings.none(
        item, Verdict::Warn, std::move(root), "they have no power of root, but what leaves its container owns root's files",
        "logs/NAME-winhost.log of each has the reason; if it is that the network was made without a user namespace: porthole down, and up");
}

}  // namespace porthole::cmd::doctor
