#pragma once
#include <algorithm>

#include "api/core_v1.h"

namespace porthole::client {

/// Condition Ready is True.
inline bool is_ready(const api::core::v1::Node& node) {
    namespace core = api::core::v1;
    return std::ranges::any_of(node.status.conditions, [](const core::NodeCondition& one) {
        return one.type == core::NodeConditionType::Ready && one.status == core::ConditionStatus::True;
    });
}

}  // namespace porthole::client
