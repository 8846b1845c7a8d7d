#include "schema/structural/items_by_key.h"

#include "schema/json/json.h"

namespace porthole::schema {

ItemsByKey::ItemsByKey(const SchemaNode& node, const Value* old) : node_(node) {
    if (!old || !old->is_array() || node.list_type != ListType::Map) return;
    for (const Value& item : old->as_array()) items_.emplace(key(item), &item);
}

const Value* ItemsByKey::find(const Value& item) const {
    if (items_.empty()) return nullptr;
    const auto found = items_.find(key(item));
    return found == items_.end() ? nullptr : found->second;
}

std::string ItemsByKey::key(const Value& item) const {
    std::string text;
    for (const std::string& name : node_.list_keys) text += to_json(at(item, name)) + '\n';
    return text;
}

}  // namespace porthole::schema
