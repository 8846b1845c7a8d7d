#include <algorithm>

#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {

void check_node_ports(const NodeEvidence& evidence, Findings& findings) {
    const Item item{"", "no other program uses the node's ports"};
    std::vector<std::string> taken;
    for (const NodeEvidence::Port& port : evidence.ports) {
        const bool by_itself = std::ranges::any_of(evidence.services, [&](const NodeEvidence::Service& service) {
            return service.name == port.service && (service.runs || service.present);
        });
        if (port.taken && !by_itself) taken.push_back("TCP " + std::to_string(port.port) + " of " + port.service);
    }
    findings.none(item, Verdict::Fail, std::move(taken), "in use by another program",
                  evidence.windows ? "find it with Get-NetTCPConnection -LocalPort and stop it" : "find it with ss -ltnp and stop it");
}

}  // namespace porthole::cmd::doctor
