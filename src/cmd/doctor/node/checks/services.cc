#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {

void check_node_services(const NodeEvidence& evidence, Findings& findings) {
    for (const NodeEvidence::Service& service : evidence.services) {
        const Item item{"", "the node's programs run"};
        if (service.runs) {
            findings.pass(item, service.name);
        } else {
            findings.fail(item, service.name + " is " + service.state, service.remedy);
        }
    }
}

}  // namespace porthole::cmd::doctor
