#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {

void check_node_servers(const NodeEvidence& evidence, Findings& findings) {
    const Item item{"", "all API servers that the node knows answer"};
    if (evidence.server_in_use.empty() && evidence.dead_servers.empty()) return findings.pass(item);
    if (evidence.server_in_use.empty())
        return findings.fail(item, "none does", "check the servers, and that no firewall is in between", evidence.dead_servers);
    const std::string used = "in use is " + evidence.server_in_use;
    if (evidence.dead_servers.empty()) return findings.pass(item, used);
    findings.warn(item, used + "; these do not answer", "start them, or check for a firewall in between", evidence.dead_servers);
}

}  // namespace porthole::cmd::doctor
