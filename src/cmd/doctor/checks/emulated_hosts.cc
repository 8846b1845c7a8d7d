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
    findings.none(item, Verdict::Warn, std::move(root),
                  "their root has no capabilities here, but a process that escapes its container could access root's files",
                  "logs/NAME-winhost.log of each has the reason; if the network was created without a user namespace: porthole down, then "
                  "porthole up");
}

}  // namespace porthole::cmd::doctor
