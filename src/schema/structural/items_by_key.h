#pragma once
#include <string>
#include <unordered_map>

#include "schema/structural/schema_node.h"
#include "schema/value.h"

namespace porthole::schema {

/// The items of the old list by their keys, to compare items of the new one with. Borrows both.
class ItemsByKey {
public:
    /// Without items where `node` is not a list that is a map, and where `old` is not a list. nullptr: no old value.
    ItemsByKey(const SchemaNode& node, const Value* old);

    /// The first item with the keys of `item`; nullptr if there is none.
    const Value* find(const Value& item) const;

private:
    std::string key(const Value& item) const;

    const SchemaNode& node_;
    std::unordered_map<std::string, const Value*> items_;
};

}  // namespace porthole::schema
