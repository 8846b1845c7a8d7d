#pragma once
#include <span>
#include <vector>

#include "cmd/doctor/report/findings.h"

namespace porthole::cmd::doctor {

struct Evidence;

/// One check: it judges by the evidence alone.
using Check = void (*)(const Evidence& evidence, Findings& findings);
/// The checks of checks.def, in its order.
std::span<const Check> checks();

/// The findings of all checks, ordered by item number; those without one come last.
std::vector<Finding> examine(const Evidence& evidence);

}  // namespace porthole::cmd::doctor
