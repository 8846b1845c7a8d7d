#pragma once
#include <set>
#include <string>
#include <vector>

#include "apiserver/validation/field_errors.h"

namespace porthole::apiserver {

/// Every entry of status.conditions must have a type, and types must be unique.
template <class Condition>
void check_condition_types(const std::vector<Condition>& conditions, FieldErrors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        const FieldPath path = FieldPath("status.conditions").index(i) / "type";
        const std::string& type = conditions[i].type;
        if (!seen.insert(type).second) errors.duplicate(path, type);
        if (type.empty()) errors.required(path, "must not be empty");
    }
}

}  // namespace porthole::apiserver
