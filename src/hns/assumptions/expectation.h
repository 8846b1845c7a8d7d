#pragma once
#include <string>
#include <vector>

#include "schema/value.h"

namespace porthole::hns {

/// Whether `found` has what `expected` says: objects at least its members (null: absent or null), lists at least its items, in any order;
/// of the forms "<any>", "<guid>", "<mac>" whatever has the form; GUIDs in any case of letters.
bool shows(const schema::Value& expected, const schema::Value& found);

/// `found` reduced to what `expected` speaks of, so that it can replace it: members that it does not name are left out, and what
/// has its form is replaced by the form. A list that has not all of its items is left as whole, each item reduced to the first of them.
schema::Value observed(const schema::Value& expected, const schema::Value& found);

}  // namespace porthole::hns
