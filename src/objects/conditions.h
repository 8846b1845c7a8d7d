#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "api/core_v1.h"
#include "base/time/time.h"

/// The lists of conditions that most statuses carry: at most one condition of a type, with "True", "False" or "Unknown" as its status.

namespace porthole::objects {

/// The condition of that type; null if there is none. It points into `conditions`.
template <class Condition>
const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type) {
    for (const Condition& condition : conditions)
        if (condition.type == type) return &condition;
    return nullptr;
}

template <class Condition>
Condition* find_condition(std::vector<Condition>& conditions, std::string_view type) {
    return const_cast<Condition*>(find_condition(std::as_const(conditions), type));
}

/// Whether there is a condition of that type with status True.
template <class Condition>
bool is_condition_true(const std::vector<Condition>& conditions, std::string_view type) {
    const Condition* found = find_condition(conditions, type);
    return found && found->status == "True";
}

/// Replaces the condition of the same type with `wanted`, or appends it. Its transition time is that of the replaced condition if the
/// status is the same, otherwise `now`. If nothing but times would change, the list is not changed and the result is false.
template <class Condition>
bool set_condition(std::vector<Condition>& conditions, Condition wanted, Timestamp now) {
    wanted.last_transition_time = now;
    Condition* present = find_condition(conditions, wanted.type);
    if (!present) {
        conditions.push_back(std::move(wanted));
        return true;
    }
    if (present->status == wanted.status && !present->last_transition_time.is_zero()) {
        bool same = present->reason == wanted.reason && present->message == wanted.message;
        if constexpr (requires { wanted.observed_generation; }) same = same && present->observed_generation == wanted.observed_generation;
        if (same) return false;
        wanted.last_transition_time = present->last_transition_time;
    }
    *present = std::move(wanted);
    return true;
}

/// Condition Ready is True.
inline bool is_ready(const api::core::v1::Node& node) { return is_condition_true(node.status.conditions, "Ready"); }

}  // namespace porthole::objects
