#pragma once
#include <span>
#include <vector>

#include "cmd/doctor/report/findings.h"

namespace porthole::cmd::doctor {

struct Evidence;

/// One check: it judges by the evidence alone.
using Check = void (*)(const Evidence& evidence, Findings& findings);
/// Those of checks.def, in its order.
std::span<const Check> checks();

/// What all checks find, by the items' numbers; those without one come last.
std::vector<Finding> examine(const Evidence& evidence);

}  // namespace porthole::cmd::doctor
