#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {

#define NODE_CHECK(name) void check_node_##name(const NodeEvidence& evidence, Findings& findings);
#include "cmd/doctor/node/node_checks.def"
#undef NODE_CHECK

std::vector<Finding> examine_node(const NodeEvidence& evidence) {
    Findings findings;
#define NODE_CHECK(name) check_node_##name(evidence, findings);
#include "cmd/doctor/node/node_checks.def"
#undef NODE_CHECK
    return findings.all();
}

}  // namespace porthole::cmd::doctor
