#pragma once
#include <string>
#include <vector>

#include "schema/value.h"

namespace porthole::hns {

/// Whether `found` matches `expected`: objects have at least its members (null: absent or null), lists at least its items, in any order;
/// "<any>", "<guid>" and "<mac>" match any value of that form; GUIDs match in upper or lower case.
bool shows(const schema::Value& expected, const schema::Value& found);

/// `found` reduced to the parts that `expected` mentions, so that it can replace it: other members are left out, and values that match a
/// form are replaced by the form. A list that lacks items is kept complete, each item reduced by the first expected one.
schema::Value observed(const schema::Value& expected, const schema::Value& found);

}  // namespace porthole::hns
