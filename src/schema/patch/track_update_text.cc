#include "schema/patch/track_update_text.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "schema/json/json.h"
#include "schema/json/json_slicer.h"
#include "schema/patch/field_walk.h"
#include "schema/patch/unowned_fields.h"

namespace porthole::schema {
namespace {

constexpr std::ptrdiff_t MaxUpdates = MaxUpdateEntries;

/// What tells entries apart: manager, operation, version and subresource.
using Identity = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;

/// One entry of the list: parts of its text, or of other texts that outlive it.
struct Entry {
    std::string_view manager, operation, api_version, time, fields_type, subresource;
    std::string_view read_fields;  ///< fieldsV1
    std::string_view text;         ///< all of it, while nothing of it has changed
    std::string changed_fields;    ///< fieldsV1, where these have changed
    bool is_gone = false;

    std::string_view fields() const { return changed_fields.empty() ? read_fields : std::string_view(changed_fields); }

    auto order() const { return std::tuple(operation, time, manager, api_version, subresource); }
    Identity identity() const {
        const bool applies = operation == "Apply";  // an applier keeps its entry when it moves on to another version
        return {manager, operation, applies ? std::string_view() : api_version, subresource};
    }
};

/// Whether strings are escaped as we write them, so that those that are equal look equal.
bool has_usual_escapes(std::string_view json) {
    for (std::size_t at = json.find('\\'); at != json.npos; at = json.find('\\', at + 2))
        if (at + 1 == json.size() || (json[at + 1] != '"' && json[at + 1] != '\\')) return false;
    return true;
}

/// Of a string without escapes.
bool read_plain(std::string_view value, std::string_view& text) {
    if (value.size() < 2 || value.front() != '"' || value.find('\\') != value.npos) return false;
    text = value.substr(1, value.size() - 2);
    return true;
}

/// As ManagedFields writes it, which orders times by their text.
bool is_canonical_time(std::string_view time) { return time.empty() || (time.size() == 20 && time.back() == 'Z'); }

/// Passes one entry. Error: BadRequest for one that has to be read as a tree.
Result<Entry> read_entry(JsonSlicer& slicer) {
    constexpr std::pair<std::string_view, std::string_view Entry::*> Members[] = {
        {"\"manager\"", &Entry::manager}, {"\"operation\"", &Entry::operation},    {"\"apiVersion\"", &Entry::api_version},
        {"\"time\"", &Entry::time},       {"\"fieldsType\"", &Entry::fields_type}, {"\"subresource\"", &Entry::subresource},
    };
    Entry entry{.text = slicer.rest()};
    bool is_plain = true;
    TRY_VOID(slicer.members([&](std::string_view key) -> Result<void> {
        TRY(const std::string_view value, slicer.value());
        if (key == "\"fieldsV1\"") {
            entry.read_fields = value;
            return {};
        }
        const auto* const member = std::ranges::find(Members, key, &std::pair<std::string_view, std::string_view Entry::*>::first);
        is_plain = is_plain && member != std::end(Members) && read_plain(value, entry.*(member->second));
        return {};
    }));
    entry.text.remove_suffix(slicer.rest().size());
    const bool fits = is_plain && (entry.operation == "Update" || entry.operation == "Apply") && is_canonical_time(entry.time) &&
                      entry.read_fields.size() > 2 && entry.read_fields.front() == '{' && has_usual_escapes(entry.read_fields);
    if (!fits) return Error(Reason::BadRequest, "an unusual entry of managedFields");
    return entry;
}

Result<std::vector<Entry>> read_entries(std::string_view record) {
    std::vector<Entry> entries;
    JsonSlicer slicer(record);
    TRY_VOID(slicer.each([&]() -> Result<void> {
        TRY(Entry entry, read_entry(slicer));
        entries.push_back(std::move(entry));
        return {};
    }));
    // Sorted, as users may name thousands of managers.
    std::vector<Identity> identities;
    for (const Entry& entry : entries) identities.push_back(entry.identity());
    std::ranges::sort(identities);
    if (std::ranges::adjacent_find(identities) != identities.end()) return Error(Reason::BadRequest, "a manager twice in managedFields");
    return entries;
}

/// A FieldSet whose steps are as JSON writes them, in the order of that.
struct WrittenSet {
    explicit WrittenSet(const FieldSet& set) : is_member(set.is_member()) {
        for (const auto& [step, child] : set.children()) {
            std::string key;
            append_json_string(step, key);
            children.emplace_back(std::move(key), WrittenSet(child));
        }
        std::ranges::sort(children, {}, &std::pair<std::string, WrittenSet>::first);
    }
    bool is_member;
    std::vector<std::pair<std::string, WrittenSet>> children;
};

/// Whether FieldsV1 have a place of the set, at or below the one that they describe.
Result<bool> has_common(std::string_view fields, const WrittenSet& set) {
    if (fields == "{}") return set.is_member;
    bool found = false;
    JsonSlicer slicer(fields);
    TRY_VOID(slicer.members([&](std::string_view key) -> Result<void> {
        TRY(const std::string_view below, slicer.value());
        if (key == "\".\"") found = found || set.is_member;
        const auto child = std::ranges::lower_bound(set.children, key, std::less<>(), &std::pair<std::string, WrittenSet>::first);
        if (found || child == set.children.end() || child->first != key) return {};
        TRY(found, has_common(below, child->second));
        return {};
    }));
    return found;
}

Result<FieldSet> fields_of(const Entry& entry) {
    TRY(const Value fields, parse_json(entry.fields()));
    return FieldSet::from_value(fields);
}

/// Takes from everyone what a change sets or removes, and gives the writer what it sets. False where everyone owns the same as before.
Result<bool> move_fields(std::vector<Entry>& entries, Entry writer, const FieldSet& set, const FieldSet& removed) {
    FieldSet changed = set;
    changed.add(removed);
    if (changed.empty()) return false;
    const WrittenSet written(changed);
    bool moves = false, has_writer = set.empty();
    for (Entry& entry : entries) {
        const bool is_writer = !set.empty() && entry.identity() == writer.identity();
        TRY(const bool loses, has_common(entry.fields(), written));
        if (!loses && !is_writer) continue;
        TRY(const FieldSet before, fields_of(entry));
        FieldSet after = before;
        after.remove(changed);
        if (is_writer) {
            after.add(set);
            entry.time = writer.time;
            has_writer = true;
        }
        entry.text = {};
        if (after == before) continue;
        moves = true;
        entry.is_gone = after.empty();
        after.append_json(entry.changed_fields);
    }
    if (has_writer) return moves;
    set.append_json(writer.changed_fields);
    entries.push_back(std::move(writer));
    return true;
}

void append_entry(const Entry& entry, std::string& out) {
    if (!entry.text.empty()) {
        out += entry.text;
        return;
    }
    char separator = '{';
    const auto add = [&](std::string_view name, std::string_view value) {
        out += std::exchange(separator, ',');
        out.append("\"").append(name).append("\":");
        append_json_string(value, out);
    };
    add("manager", entry.manager);
    add("operation", entry.operation);
    add("apiVersion", entry.api_version);
    if (!entry.time.empty()) add("time", entry.time);
    add("fieldsType", "FieldsV1");
    out.append(",\"fieldsV1\":").append(entry.fields());
    if (!entry.subresource.empty()) add("subresource", entry.subresource);
    out += '}';
}

std::string written_list(std::vector<Entry>& entries) {
    std::erase_if(entries, &Entry::is_gone);
    if (entries.empty()) return {};
    std::ranges::sort(entries, {}, &Entry::order);
    std::string out;
    char separator = '[';
    for (const Entry& entry : entries) {
        out += std::exchange(separator, ',');
        append_entry(entry, out);
    }
    out += ']';
    return out;
}

/// The fields that a change sets or removes and that may have an owner.
struct Taken {
    FieldSet set, removed;
};
Taken fields_taken(const Kind& kind, const Value& before, const Value& after, const FieldManager& manager) {
    Comparison change = compare_fields(Node::of_struct(*kind.type), before, after);
    for (FieldSet* set : {&change.added, &change.modified, &change.removed}) leave_unowned(*set, kind, manager.subresource);
    change.added.add(std::move(change.modified));
    return {std::move(change.added), std::move(change.removed)};
}

/// `time` outlives it.
Entry entry_of(const FieldManager& manager, const std::string& time) {
    return {.manager = manager.name,
            .operation = "Update",
            .api_version = manager.api_version,
            .time = time,
            .subresource = manager.subresource};
}

std::string time_of(const FieldManager& manager) { return manager.now.is_zero() ? std::string() : manager.now.to_string(); }

/// `after` is a tree or a struct.
template <class Object>
std::string written_create(const Kind& kind, const Object& after, const FieldManager& manager) {
    const std::string now = time_of(manager);
    std::vector<Entry> entries = {entry_of(manager, now)};
    entries.front().changed_fields.reserve(1000);  // a pod's
    if (!append_created_fields(kind, after, unowned_fields(kind, manager.subresource), entries.front().changed_fields)) return {};
    return written_list(entries);
}

bool is_update(const Entry& entry) { return entry.operation == "Update" && !entry.is_gone; }

}  // namespace

std::optional<std::string> track_update_text(const Kind& kind, const Value& before, const Value& after, std::string_view record,
                                             const FieldManager& manager) {
    auto entries = read_entries(record);
    if (!entries || entries->empty()) return {};
    const Taken taken = fields_taken(kind, before, after, manager);
    const std::string now = time_of(manager);
    const auto moves = move_fields(*entries, entry_of(manager, now), taken.set, taken.removed);
    if (!moves || std::ranges::count_if(*entries, is_update) > MaxUpdates) return {};
    return *moves ? written_list(*entries) : std::string(record);
}

std::string track_create_text(const Kind& kind, const Value& after, const FieldManager& manager) {
    return written_create(kind, after, manager);
}

std::string track_create_text(const Kind& kind, const Instance& after, const FieldManager& manager) {
    return written_create(kind, after, manager);
}

}  // namespace porthole::schema
