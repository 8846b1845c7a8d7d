#include "schema/patch/apply.h"

#include <algorithm>

#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/patch/field_walk.h"
#include "schema/patch/managed_fields.h"
#include "schema/type.h"

// After the merge of structured-merge-diff, which Kubernetes uses: objects are compared field by field, and every manager's
// set of fields is kept in metadata.managedFields. Managers of other versions of the kind are taken by the same field names.

namespace porthole::schema {
namespace {

using Manager = ManagedFields::Manager;

constexpr std::size_t MaxUpdateEntries = 10;
constexpr std::string_view LastApplied = "kubectl.kubernetes.io/last-applied-configuration";

FieldSet branch(const std::string& step) {
    FieldSet fields;
    fields.below(step).insert();
    return fields;
}

/// The object's identity and what the server alone sets: nobody owns it.
const FieldSet& unowned_fields() {
    static const FieldSet fields = [] {
        FieldSet made;
        for (const char* name : {"f:apiVersion", "f:kind"}) made.below(name).insert();
        for (const char* name : {"f:name", "f:namespace", "f:creationTimestamp", "f:selfLink", "f:uid", "f:clusterName", "f:generation",
                                 "f:managedFields", "f:resourceVersion"}) {
            made.below("f:metadata").below(name).insert();
        }
        return made;
    }();
    return fields;
}

void leave_unowned(FieldSet& fields, const Kind& kind, std::string_view subresource) {
    if (fields.empty()) return;
    fields.remove_recursively(unowned_fields());
    // What this request cannot change.
    if (subresource.empty() && kind.is(Kind::HasStatus)) fields.remove_recursively(branch("f:status"));
    if (subresource == "status") fields.remove_recursively(branch("f:spec"));
    // `metadata` itself is nobody's, what is in it may be somebody's.
    fields.remove(branch("f:metadata"));
}

/// An object of this kind in which nothing is set: what a new one is compared to. Structs that are always written are there.
Value blank_object(const Kind& kind) {
    if (!kind.type->create) return Value::object();
    return to_value(*kind.type, Instance(*kind.type).get());
}

Value without_record(const Value& object) {
    Value copy = object;
    if (Value* metadata = copy.find("metadata")) metadata->erase("managedFields");
    return copy;
}

const Value& record_of(const Value& object) {
    const Value* record = object.at_path({"metadata", "managedFields"});
    return record ? *record : null_value();
}

void set_record(Value& object, const ManagedFields& managed) {
    Value record = managed.encode();
    if (record.is_null()) {
        if (Value* metadata = object.find("metadata")) metadata->erase("managedFields");
    } else {
        object.ensure_path({"metadata", "managedFields"}) = std::move(record);
    }
}

// Conflicts

struct Conflict {
    Manager manager;
    FieldSet fields;
};

/// What other managers own and the change would set.
std::vector<Conflict> find_conflicts(const ManagedFields& managed, const Manager* self, const Comparison& change) {
    std::vector<Conflict> conflicts;
    if (managed.empty()) return conflicts;
    FieldSet set = change.modified;
    set.add(change.added);
    for (const auto& [manager, entry] : managed.entries()) {
        if (self && manager == *self) continue;
        FieldSet common = entry.fields;
        common.keep_common(set);
        if (!common.empty()) conflicts.push_back({manager, std::move(common)});
    }
    return conflicts;
}

Error conflict_error(const std::vector<Conflict>& conflicts) {
    Error error(Reason::Conflict, "");
    std::string lines;
    for (const Conflict& conflict : conflicts) {
        const std::string manager = describe(conflict.manager);
        if (!lines.empty()) lines += '\n';
        lines += "conflicts with " + manager + ":";
        conflict.fields.visit([&](const std::vector<std::string>& steps) {
            const std::string path = format_field_path(steps);
            lines += "\n- " + path;
            error.details->causes.push_back({"FieldManagerConflict", "conflict with " + manager, path});
        });
    }
    const std::vector<Cause>& causes = error.details->causes;
    error.message = causes.size() == 1 ? "Apply failed with 1 conflict: " + causes[0].message + ": " + causes[0].field
                                       : "Apply failed with " + std::to_string(causes.size()) + " conflicts: " + lines;
    return error;
}

/// Takes from the others what the change sets or removes.
void take_from_others(ManagedFields& managed, const Manager* self, const std::vector<Conflict>& conflicts, const Comparison& change) {
    for (const Conflict& conflict : conflicts) managed.entries()[conflict.manager].fields.remove(conflict.fields);
    for (auto& [manager, entry] : managed.entries()) {
        if (!self || manager != *self) entry.fields.remove(change.removed);
    }
    managed.drop_empty();
}

/// kubectl that changes over from its own apply: what it wrote down then, and is still so, is no conflict.
void forgive_last_applied(const Kind& kind, const Value& live, std::vector<Conflict>& conflicts) {
    const Value* annotation = live.at_path({"metadata", "annotations", LastApplied});
    if (!annotation || !annotation->is_string()) return;
    const auto parsed = parse_json(annotation->as_string());
    if (!parsed || !parsed->is_object()) return;
    const Node root = Node::of_struct(*kind.type);
    auto ours = fields_of(root, *parsed);
    if (!ours) return;
    const Comparison since = compare_fields(root, *parsed, live);
    for (const FieldSet* changed : {&since.modified, &since.added, &since.removed}) ours->remove(*changed);
    for (Conflict& conflict : conflicts) conflict.fields.remove(*ours);
    std::erase_if(conflicts, [](const Conflict& conflict) { return conflict.fields.empty(); });
}

// Apply

/// Removes what the manager applied before and nobody owns now.
Value prune(const Node& root, const Value& merged, const ManagedFields& managed, const FieldSet& last) {
    if (last.empty()) return merged;
    const auto places_of = [&](const Value& object) {
        const auto fields = fields_of(root, object);
        return with_named_parents(root, fields ? *fields : FieldSet());
    };
    const FieldSet last_places = with_named_parents(root, last);
    const FieldSet all = places_of(merged);
    FieldSet owned;
    for (const auto& [manager, entry] : managed.entries()) owned.add(entry.fields);

    FieldSet keep = places_of(without_fields(root, merged, last_places));
    keep.add(with_named_parents(root, owned));
    FieldSet gone = all;
    gone.remove(keep);
    const Value pruned = without_fields(root, merged, gone);

    // What went with a parent but was never applied by this manager comes back, unless its parent is gone for good.
    FieldSet final_gone = all;
    final_gone.remove(places_of(pruned));
    final_gone.keep_common(last_places);
    return without_fields(root, merged, final_gone);
}

/// Fields of an object that has no record: they were there before anyone applied.
void adopt_unrecorded(const Kind& kind, const Value& live, const FieldManager& manager, ManagedFields& managed) {
    const Comparison change = compare_fields(Node::of_struct(*kind.type), blank_object(kind), live);
    FieldSet fields = change.added;
    fields.add(change.modified);
    leave_unowned(fields, kind, "");
    if (!fields.empty())
        managed.entries()[{"before-first-apply", "Update", manager.api_version, ""}] = {manager.api_version, manager.now, fields};
}

}  // namespace

Result<Value> server_side_apply(const Kind& kind, const Value& live, const Value& applied, const FieldManager& manager, bool force) {
    if (!record_of(applied).is_null()) return Error(Reason::BadRequest, "metadata.managedFields must be nil");
    const Node root = Node::of_struct(*kind.type);
    TRY(FieldSet fields, fields_of(root, applied));
    leave_unowned(fields, kind, manager.subresource);

    TRY(ManagedFields managed, ManagedFields::decode(live.is_null() ? null_value() : record_of(live)));
    const ManagedFields before = managed;
    const Value bare = live.is_null() ? Value::object() : without_record(live);
    if (!live.is_null() && managed.empty()) adopt_unrecorded(kind, bare, manager, managed);

    const Manager self = Manager::applier(manager.name, manager.subresource);
    const FieldSet last = managed.entries().contains(self) ? managed.entries()[self].fields : FieldSet();
    ManagedFields::Entry& entry = managed.entries()[self];
    entry.fields = fields;
    entry.api_version = manager.api_version;

    Value result = prune(root, merge_fields(root, bare, applied), managed, last);
    Comparison change = compare_fields(root, bare, result);
    for (FieldSet* set : {&change.added, &change.modified, &change.removed}) leave_unowned(*set, kind, manager.subresource);
    const std::vector<Conflict> conflicts = find_conflicts(managed, &self, change);
    std::vector<Conflict> refused = force ? std::vector<Conflict>() : conflicts;
    if (manager.name == "kubectl" && !refused.empty()) forgive_last_applied(kind, live, refused);
    if (!refused.empty()) return conflict_error(refused);
    take_from_others(managed, &self, conflicts, change);

    // Applying the same again leaves the object, and so its record's times, as they were.
    const bool changed = !managed.same_but_for_time(before) || !(result == bare);
    if (changed && managed.entries().contains(self)) managed.entries()[self].time = manager.now;
    managed.cap_updates(MaxUpdateEntries);
    if (changed)
        set_record(result, managed);
    else if (!live.is_null())
        result = live;
    return result;
}

void track_update(const Kind& kind, const Value& live, Value& updated, const FieldManager& manager) {
    const Value& given = record_of(updated);
    const bool reset =
        given.is_array() && given.as_array().size() == 1 && given.as_array()[0].is_object() && given.as_array()[0].as_object().empty();
    ManagedFields managed;
    if (!reset) {
        // A record in the request counts, so that it can be edited; one that is missing or broken leaves the stored one alone.
        auto decoded = manager.subresource.empty() ? ManagedFields::decode(given) : ManagedFields();
        if (!decoded || decoded->empty()) decoded = ManagedFields::decode(live.is_null() ? null_value() : record_of(live));
        if (decoded) managed = std::move(*decoded);
    }
    if (!live.is_null() && managed.empty()) {  // recorded from its creation, or not at all
        set_record(updated, managed);
        return;
    }
    const Value before = live.is_null() ? blank_object(kind) : without_record(live);
    const Value without = given.is_null() ? Value() : without_record(updated);  // a new object mostly has no record to leave out
    Comparison change = compare_fields(Node::of_struct(*kind.type), before, given.is_null() ? updated : without);
    for (FieldSet* set : {&change.added, &change.modified, &change.removed}) leave_unowned(*set, kind, manager.subresource);
    take_from_others(managed, nullptr, find_conflicts(managed, nullptr, change), change);

    FieldSet taken = std::move(change.added);
    taken.add(std::move(change.modified));
    if (!taken.empty()) {
        ManagedFields::Entry& entry = managed.entries()[{manager.name, "Update", manager.api_version, manager.subresource}];
        entry.fields.add(std::move(taken));
        entry.api_version = manager.api_version;
        entry.time = manager.now;
    }
    managed.cap_updates(MaxUpdateEntries);
    const auto stored = ManagedFields::decode(live.is_null() ? null_value() : record_of(live));
    const bool only_time = !live.is_null() && stored && managed.same_but_for_time(*stored);
    set_record(updated, only_time ? *stored : managed);
}

}  // namespace porthole::schema
