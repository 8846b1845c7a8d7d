#include "schema/patch/apply.h"

#include <algorithm>

#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/patch/field_walk.h"
#include "schema/patch/managed_fields.h"
#include "schema/patch/unowned_fields.h"
#include "schema/type.h"

// After the merge of structured-merge-diff, which Kubernetes uses: objects are compared field by field, and every manager's
// set of fields is kept in metadata.managedFields, by the names that fields have in the manager's version.

namespace porthole::schema {
namespace {

using Manager = ManagedFields::Manager;

constexpr std::string_view LastApplied = "kubectl.kubernetes.io/last-applied-configuration";

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

// Changes

/// What a request changes, as the owners' versions see it.
class Changes {
public:
    /// What it goes from and to, in the request's version. References outlive it.
    struct Between {
        const Kind& kind;
        const FieldManager& manager;
        const Value &before, &after;
    };
    Changes(Between between, OtherVersions* versions) : between_(between), versions_(versions) {
        add(between_.manager.api_version, compare_fields(Node::of_struct(*between_.kind.type), between_.before, between_.after));
    }

    void take_by_names() { versions_ = nullptr; }
    Comparison& own() { return known_.find(between_.manager.api_version)->second; }
    /// nullptr where the kind has no such version any more.
    Result<const Comparison*> in(const std::string& api_version) {
        if (!versions_) return &own();
        if (const auto found = known_.find(api_version); found != known_.end()) return &found->second;
        auto shown_before = versions_->show(between_.before, api_version), shown_after = versions_->show(between_.after, api_version);
        TRY(const auto before, std::move(shown_before));
        TRY(const auto after, std::move(shown_after));
        if (!before || !after) return nullptr;
        return add(api_version, compare_fields(Node::of_struct(*after->kind.type), before->object, after->object));
    }

private:
    const Comparison* add(const std::string& api_version, Comparison change) {
        for (FieldSet* set : {&change.added, &change.modified, &change.removed})
            leave_unowned(*set, between_.kind, between_.manager.subresource);
        return &known_.emplace(api_version, std::move(change)).first->second;
    }

    Between between_;
    OtherVersions* versions_;
    std::map<std::string, Comparison> known_;
};

/// Of versions that the kind does not have any more nobody owns anything.
Result<void> drop_unknown_versions(ManagedFields& managed, Changes& changes) {
    for (auto entry = managed.entries().begin(); entry != managed.entries().end();) {
        TRY(const Comparison* change, changes.in(entry->second.api_version));
        entry = change ? std::next(entry) : managed.entries().erase(entry);
    }
    return {};
}

// Conflicts

struct Conflict {
    Manager manager;
    FieldSet fields;
};

/// What other managers own and the change would set. Requires, as what follows: drop_unknown_versions() has succeeded.
std::vector<Conflict> find_conflicts(const ManagedFields& managed, const Manager* self, Changes& changes) {
    std::vector<Conflict> conflicts;
    std::map<const Comparison*, FieldSet> sets;
    for (const auto& [manager, entry] : managed.entries()) {
        if (self && manager == *self) continue;
        const Comparison* change = *changes.in(entry.api_version);
        const auto [set, is_new] = sets.try_emplace(change);
        if (is_new) {
            set->second = change->modified;
            set->second.add(change->added);
        }
        FieldSet common = entry.fields;
        common.keep_common(set->second);
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
void take_from_others(ManagedFields& managed, const Manager* self, const std::vector<Conflict>& conflicts, Changes& changes) {
    for (const Conflict& conflict : conflicts) managed.entries()[conflict.manager].fields.remove(conflict.fields);
    for (auto& [manager, entry] : managed.entries()) {
        if (!self || manager != *self) entry.fields.remove((*changes.in(entry.api_version))->removed);
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

/// An object on its way through versions.
struct InVersion {
    const Kind* kind;
    std::string api_version;
    Value object;

    Node root() const { return Node::of_struct(*kind->type); }
    FieldSet places() const {
        const auto fields = fields_of(root(), object);
        return with_named_parents(root(), fields ? *fields : FieldSet());
    }
    void remove(const FieldSet& gone) { object = without_fields(root(), object, gone); }
    /// False where there is no such version any more.
    Result<bool> move_to(const std::string& version, OtherVersions* versions) {
        if (version == api_version || !versions) return true;
        TRY(const auto shown, versions->show(object, version));
        if (!shown) return false;
        *this = {&shown->kind, version, Value(shown->object)};
        return true;
    }
};

/// Adds to `pruned` what is owned by managers of `version`, and moves both there.
Result<void> add_back_owned(InVersion& merged, InVersion& pruned, const std::string& version, const FieldSet& owned,
                            OtherVersions* versions) {
    if (versions && version != merged.api_version) {
        InVersion from = merged, to = pruned;
        TRY(const bool has_from, from.move_to(version, versions));
        TRY(const bool has_to, to.move_to(version, versions));
        if (!has_from || !has_to) return {};
        merged = std::move(from);
        pruned = std::move(to);
    }
    FieldSet keep = pruned.places();
    keep.add(with_named_parents(merged.root(), owned));
    FieldSet gone = merged.places();
    gone.remove(keep);
    pruned.object = without_fields(merged.root(), merged.object, gone);
    return {};
}

/// Removes what the manager applied before and nobody owns now.
Result<Value> prune(InVersion all, const ManagedFields& managed, const ManagedFields::Entry& last, OtherVersions* versions) {
    if (last.fields.empty()) return std::move(all.object);
    const std::string asked = all.api_version;
    const bool moves = versions && last.api_version != asked;
    const Value unpruned = moves ? all.object : Value();
    TRY(const bool has_version, all.move_to(last.api_version, versions));
    if (!has_version) return std::move(all.object);
    const FieldSet last_places = with_named_parents(all.root(), last.fields);
    InVersion pruned{all.kind, all.api_version, without_fields(all.root(), all.object, last_places)};

    // In the same version first: what is missing may be needed for a conversion.
    std::map<std::string, FieldSet> owned;
    for (const auto& [manager, entry] : managed.entries()) owned[versions ? entry.api_version : all.api_version].add(entry.fields);
    TRY_VOID(add_back_owned(all, pruned, all.api_version, owned[all.api_version], versions));
    if (pruned.object == all.object) return moves ? unpruned : std::move(all.object);
    if (owned.size() > 1) {
        InVersion present = all;
        for (const auto& [version, fields] : owned)
            if (version != all.api_version) TRY_VOID(add_back_owned(present, pruned, version, fields, versions));
        TRY_VOID(pruned.move_to(all.api_version, versions));
    }

    // What went with a parent but was never applied by this manager comes back, unless its parent is gone for good.
    FieldSet final_gone = all.places();
    final_gone.remove(pruned.places());
    final_gone.keep_common(last_places);
    all.remove(final_gone);
    TRY_VOID(all.move_to(asked, versions));
    return std::move(all.object);
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

Result<Value> server_side_apply(const Kind& kind, const Value& live, const Value& applied, const FieldManager& manager, bool force,
                                OtherVersions* versions) {
    if (!record_of(applied).is_null()) return Error(Reason::BadRequest, "metadata.managedFields must be nil");
    const Node root = Node::of_struct(*kind.type);
    TRY(FieldSet fields, fields_of(root, applied));
    leave_unowned(fields, kind, manager.subresource);

    TRY(ManagedFields managed, ManagedFields::decode(live.is_null() ? null_value() : record_of(live)));
    const ManagedFields before = managed;
    const Value bare = live.is_null() ? Value::object() : without_record(live);
    if (!live.is_null() && managed.empty()) adopt_unrecorded(kind, bare, manager, managed);

    const Manager self = Manager::applier(manager.name, manager.subresource);
    const ManagedFields::Entry last = managed.entries().contains(self) ? managed.entries()[self] : ManagedFields::Entry();
    ManagedFields::Entry& entry = managed.entries()[self];
    entry.fields = fields;
    entry.api_version = manager.api_version;

    TRY(Value result, prune({&kind, manager.api_version, merge_fields(root, bare, applied)}, managed, last, versions));
    Changes changes({.kind = kind, .manager = manager, .before = bare, .after = result}, versions);
    TRY_VOID(drop_unknown_versions(managed, changes));
    const std::vector<Conflict> conflicts = find_conflicts(managed, &self, changes);
    std::vector<Conflict> refused = force ? std::vector<Conflict>() : conflicts;
    if (manager.name == "kubectl" && !refused.empty()) forgive_last_applied(kind, live, refused);
    if (!refused.empty()) return conflict_error(refused);
    take_from_others(managed, &self, conflicts, changes);

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

void track_update(const Kind& kind, const Value& live, Value& updated, const FieldManager& manager, OtherVersions* versions) {
    const Value &given = record_of(updated), &known = live.is_null() ? null_value() : record_of(live);
    const bool reset =
        given.is_array() && given.as_array().size() == 1 && given.as_array()[0].is_object() && given.as_array()[0].as_object().empty();
    const auto stored = ManagedFields::decode(known);
    ManagedFields managed;
    if (!reset) {
        // A record in the request counts, so that it can be edited; one that is missing or broken leaves the stored one alone.
        const bool edits = manager.subresource.empty() && !(given == known);
        auto edited = edits ? ManagedFields::decode(given) : ManagedFields();
        if (edited && !edited->empty())
            managed = std::move(*edited);
        else if (stored)
            managed = *stored;
    }
    if (!live.is_null() && managed.empty()) {  // recorded from its creation, or not at all
        set_record(updated, managed);
        return;
    }
    // Nobody owns the record, so that it need not be left out of a comparison; another version is made of the object without it.
    const bool copies = versions != nullptr;
    const Value before = live.is_null() ? blank_object(kind) : copies ? without_record(live) : Value();
    const Value after = copies ? without_record(updated) : Value();
    const Changes::Between between{
        .kind = kind, .manager = manager, .before = copies || live.is_null() ? before : live, .after = copies ? after : updated};
    Changes changes(between, versions);
    if (!drop_unknown_versions(managed, changes)) changes.take_by_names();
    take_from_others(managed, nullptr, find_conflicts(managed, nullptr, changes), changes);

    FieldSet taken = std::move(changes.own().added);
    taken.add(std::move(changes.own().modified));
    if (!taken.empty()) {
        ManagedFields::Entry& entry = managed.entries()[{manager.name, "Update", manager.api_version, manager.subresource}];
        entry.fields.add(std::move(taken));
        entry.api_version = manager.api_version;
        entry.time = manager.now;
    }
    managed.cap_updates(MaxUpdateEntries);
    const bool only_time = !live.is_null() && stored && managed.same_but_for_time(*stored);
    set_record(updated, only_time ? *stored : managed);
}

}  // namespace porthole::schema
