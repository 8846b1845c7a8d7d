#pragma once
#include "cmd/doctor/node/node_evidence.h"
#include "cmd/doctor/report/findings.h"

namespace porthole::cmd::doctor {

/// The findings of all checks of node_checks.def for one node, in that order.
std::vector<Finding> examine_node(const NodeEvidence& evidence);

}  // namespace porthole::cmd::doctor
