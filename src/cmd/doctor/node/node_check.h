#pragma once
#include "cmd/doctor/node/node_evidence.h"
#include "cmd/doctor/report/findings.h"

namespace porthole::cmd::doctor {

/// What all checks of node_checks.def find on one node, in that order.
std::vector<Finding> examine_node(const NodeEvidence& evidence);

}  // namespace porthole::cmd::doctor
