#include "schema/patch/managed_fields.h"

#include <algorithm>

namespace porthole::schema {

namespace {

/// Adds the fields of a newer entry of the same manager. The many that there are already stay where they are: a client may send thousands
/// of entries.
void join(ManagedFields::Entry& kept, ManagedFields::Entry newer) {
    kept.fields.add(std::move(newer.fields));
    kept.api_version = std::move(newer.api_version);
    kept.time = newer.time;
}

}  // namespace

Result<ManagedFields> ManagedFields::decode(const Value& list) {
    ManagedFields fields;
    if (list.is_null()) return fields;
    if (!list.is_array()) return Error(Reason::BadRequest, "metadata.managedFields must be a list");
    for (const Value& item : list.as_array()) {
        Manager manager{std::string(item.string_at({"manager"})), std::string(item.string_at({"operation"})),
                        std::string(item.string_at({"apiVersion"})), std::string(item.string_at({"subresource"}))};
        if (manager.operation != "Apply" && manager.operation != "Update") {
            return Error(Reason::BadRequest, "metadata.managedFields: unknown operation \"" + manager.operation + "\"");
        }
        Entry entry;
        entry.api_version = manager.api_version;
        if (manager.applies()) manager.api_version.clear();
        if (const auto time = Timestamp::parse(item.string_at({"time"}))) entry.time = *time;
        TRY(entry.fields, FieldSet::from_value(item.find("fieldsV1") ? *item.find("fieldsV1") : Value::object()));
        join(fields.entries_[std::move(manager)], std::move(entry));
    }
    return fields;
}

Value ManagedFields::encode() const {
    if (entries_.empty()) return Value();
    std::vector<const Entries::value_type*> ordered;
    for (const auto& entry : entries_) ordered.push_back(&entry);
    std::ranges::sort(ordered, {}, [](const Entries::value_type* entry) {
        const Manager& manager = entry->first;
        return std::tuple(manager.operation, entry->second.time, manager.name, entry->second.api_version, manager.subresource);
    });
    Array list;
    for (const auto* entry : ordered) {
        const auto& [manager, owned] = *entry;
        Value item = Value::object({{"manager", manager.name}, {"operation", manager.operation}, {"apiVersion", owned.api_version}});
        if (!owned.time.is_zero()) item["time"] = owned.time.to_string();
        item["fieldsType"] = "FieldsV1";
        item["fieldsV1"] = owned.fields.to_value();
        if (!manager.subresource.empty()) item["subresource"] = manager.subresource;
        list.push_back(std::move(item));
    }
    return list;
}

bool ManagedFields::same_but_for_time(const ManagedFields& other) const {
    return std::ranges::equal(entries_, other.entries_, [](const auto& left, const auto& right) {
        return left.first == right.first && left.second.api_version == right.second.api_version &&
               left.second.fields == right.second.fields;
    });
}

void ManagedFields::drop_empty() {
    std::erase_if(entries_, [](const auto& entry) { return entry.second.fields.empty(); });
}

void ManagedFields::cap_updates(std::size_t limit) {
    std::vector<Entries::iterator> updates;
    for (auto i = entries_.begin(); i != entries_.end(); ++i) {
        if (!i->first.applies()) updates.push_back(i);
    }
    if (updates.size() <= limit) return;
    std::ranges::sort(updates, {}, [](const Entries::iterator& i) { return std::tuple(i->second.time, i->first); });
    // The common entry of a version takes one place itself.
    std::size_t left = updates.size();
    for (const Entries::iterator& oldest : updates) {
        if (left <= limit) return;
        const Manager ancient{"ancient-changes", "Update", oldest->second.api_version, ""};
        if (oldest->first == ancient) continue;
        const bool is_new = !entries_.contains(ancient);
        Entry merged = std::move(oldest->second);
        entries_.erase(oldest);
        join(entries_[ancient], std::move(merged));
        if (!is_new) --left;
    }
}

std::string describe(const ManagedFields::Manager& manager) {
    std::string text = "\"" + manager.name + "\"";
    if (!manager.subresource.empty()) text += " with subresource \"" + manager.subresource + "\"";
    if (!manager.applies()) text += " using " + manager.api_version;
    return text;
}

}  // namespace porthole::schema
