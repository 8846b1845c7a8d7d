#pragma once
#include "api/core_v1.h"
#include "objects/conditions.h"

namespace porthole::objects {

/// Condition Ready is True.
inline bool is_ready(const api::core::v1::Node& node) { return is_condition_true(node.status.conditions, "Ready"); }

}  // namespace porthole::objects
