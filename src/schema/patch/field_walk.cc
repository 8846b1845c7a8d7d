#include "schema/patch/field_walk.h"

#include <algorithm>
#include <set>

#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::schema {
namespace {

enum class Granularity { Leaf, Members, Items };

Granularity granularity_of(const Node& node) {
    if (node.is_list()) return node.field->list_type == ListType::Atomic ? Granularity::Leaf : Granularity::Items;
    if (node.is_map()) return node.field->is(Field::AtomicMap) ? Granularity::Leaf : Granularity::Members;
    if (node.is_struct()) {
        const bool atomic = node.type->is(Type::Atomic) || node.type->is(Type::Alternatives) ||
                            (node.field && node.field->is_single() && node.field->is(Field::AtomicMap));
        return atomic ? Granularity::Leaf : Granularity::Members;
    }
    // Where the schema knows nothing the value itself decides: objects by member, the rest as one.
    const bool deduced = !node.field || node.field->is(Field::PreserveUnknown);
    return deduced ? Granularity::Members : Granularity::Leaf;
}

/// The same for a value at hand: what has the wrong shape is one field. Null fits everywhere.
Granularity granularity_of(const Node& node, const Value* left, const Value* right = nullptr) {
    const Granularity granularity = granularity_of(node);
    const auto fits = [&](const Value* value) {
        if (!value || value->is_null()) return true;
        return granularity == Granularity::Items ? value->is_array() : value->is_object();
    };
    return fits(left) && fits(right) ? granularity : Granularity::Leaf;
}

bool holds_nothing(const Value* value) {
    if (!value || value->is_null()) return true;
    if (value->is_object()) return value->as_object().empty();
    return value->is_array() && value->as_array().empty();
}

std::string member_step(std::string_view name) { return "f:" + std::string(name); }

bool is_named_member(const Node& node, std::string_view name) { return node.is_struct() && node.type->find_field(name) != nullptr; }

// fields_of

Result<void> collect(const Node& node, const Value& value, FieldSet& set, const std::string& path) {
    switch (granularity_of(node, &value)) {
        case Granularity::Leaf:
            set.insert();
            return {};
        case Granularity::Members:
            if (!value.is_object()) return {};
            for (const Member& member : value.as_object()) {
                FieldSet& below = set.below(member_step(member.key));
                TRY_VOID(collect(node.member(member.key), member.value, below, path + "." + member.key));
                // Differs from Kubernetes: an empty list is owned as an empty map is, so that it does not vanish with another
                // manager's items.
                if (holds_nothing(&member.value) || !is_named_member(node, member.key)) below.insert();
            }
            return {};
        case Granularity::Items:
            break;
    }
    if (!value.is_array()) return {};
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
        const Value& item = value.as_array()[i];
        Result<std::string> step = step_of(node, item);
        if (!step) return std::move(step).error().with_context(path + "[" + std::to_string(i) + "]");
        FieldSet& below = set.below(*step);
        if (below.is_member()) return Error(Reason::BadRequest, path + ": duplicate entries for key [" + step->substr(2) + "]");
        TRY_VOID(collect(node.element(), item, below, path + "[" + std::to_string(i) + "]"));
        below.insert();
    }
    return {};
}

// compare_fields

/// The items of both lists, by their step, in order of appearance.
struct ItemPair {
    std::string step;
    const Value* before = nullptr;
    const Value* after = nullptr;
};
std::vector<ItemPair> pair_items(const Node& node, const Value* before, const Value* after) {
    std::vector<ItemPair> pairs;
    std::map<std::string, std::size_t> places;
    const auto add = [&](const Value* list, const Value* ItemPair::* side) {
        if (!list || !list->is_array()) return;
        for (const Value& item : list->as_array()) {
            Result<std::string> step = step_of(node, item);
            if (!step) continue;
            const auto [place, added] = places.emplace(*step, pairs.size());
            if (added) pairs.push_back({*step});
            if (!(pairs[place->second].*side)) pairs[place->second].*side = &item;
        }
    };
    add(before, &ItemPair::before);
    add(after, &ItemPair::after);
    return pairs;
}

/// Hangs what was found below `step` into the sets of the place above; most places differ in at most one way.
void hang_below(Comparison& sets, const std::string& step, Comparison found) {
    for (FieldSet Comparison::* set : {&Comparison::added, &Comparison::modified, &Comparison::removed})
        if (!(found.*set).empty()) (sets.*set).below(step) = std::move(found.*set);
}

/// compare() with nothing: the whole value is added.
void add_all(const Node& node, const Value& value, FieldSet& added) {
    added.insert();
    const Granularity granularity = granularity_of(node, &value);
    if (granularity == Granularity::Leaf || holds_nothing(&value)) return;
    if (granularity == Granularity::Members) {
        for (const Member& member : value.as_object()) add_all(node.member(member.key), member.value, added.below(member_step(member.key)));
        return;
    }
    for (const Value& item : value.as_array()) {
        const Result<std::string> step = step_of(node, item);
        if (!step) continue;
        FieldSet& below = added.below(*step);
        if (!below.is_member()) add_all(node.element(), item, below);  // of twins the first counts
    }
}

/// Levels at which parts that are equal, as most are, are not entered. To compare whole parts at every level would take the depth of an
/// object times its size.
constexpr int LevelsComparedWhole = 8;

/// `after` null: the place is gone.
void compare(const Node& node, const Value& before, const Value* after, Comparison& sets, int level = 0) {
    const Granularity granularity = granularity_of(node, &before, after);
    // Both empty: one field, so that null and {} are told apart.
    if (granularity == Granularity::Leaf || (holds_nothing(&before) && holds_nothing(after))) {
        if (!after)
            sets.removed.insert();
        else if (!(before == *after))
            sets.modified.insert();
        return;
    }
    const auto same = [&](const Value* left, const Value* right) {
        return level < LevelsComparedWhole && left && right && *left == *right;
    };
    const auto descend = [&](const std::string& step, const Node& place, const Value* left, const Value* right) {
        if (!left) return add_all(place, *right, sets.added.below(step));
        Comparison below;
        compare(place, *left, right, below, level + 1);
        hang_below(sets, step, std::move(below));
    };
    if (granularity == Granularity::Items) {
        for (const ItemPair& pair : pair_items(node, &before, after)) {
            if (!same(pair.before, pair.after)) descend(pair.step, node.element(), pair.before, pair.after);
        }
    } else {
        if (before.is_object()) {
            for (const Member& member : before.as_object()) {
                const Value* right = after ? after->find(member.key) : nullptr;
                if (!same(&member.value, right)) descend(member_step(member.key), node.member(member.key), &member.value, right);
            }
        }
        if (after && after->is_object()) {
            for (const Member& member : after->as_object()) {
                if (!before.find(member.key)) descend(member_step(member.key), node.member(member.key), nullptr, &member.value);
            }
        }
    }
    if (!after) sets.removed.insert();
}

// append_created_fields

/// compare() with a blank object, whose lists are empty, written at once: a set of all the places would be thrown away. The steps are in
/// the order of FieldSet.
class CreatedFields {
public:
    explicit CreatedFields(std::string& out) : out_(out) {}

    /// `before` null: it is new. `unowned` null: all of it may have an owner. False, with nothing written, where nobody owns any of it.
    bool place(const Node& node, const Value* before, const Value& after, const FieldSet* unowned) {
        const Granularity granularity = granularity_of(node, before, &after);
        const bool named = !before && !unowned;
        const std::size_t begin = out_.size();
        if (granularity != Granularity::Leaf && !(holds_nothing(before) && holds_nothing(&after))) {
            out_ += named ? R"({".":{})" : "{";
            const std::size_t first = out_.size();
            if (after.is_array()) items(node, after.as_array());
            if (after.is_object()) members(node, before, after.as_object(), unowned);
            if (out_.size() > first) {
                out_ += '}';
                return true;
            }
            out_.resize(begin);
            if (!named) return false;
        } else if (unowned || (before && *before == after)) {
            return false;
        }
        out_ += "{}";
        return true;
    }

private:
    void members(const Node& node, const Value* before, const Object& after, const FieldSet* unowned) {
        std::vector<const Member*> ordered;
        ordered.reserve(after.size());
        for (const Member& member : after) ordered.push_back(&member);
        std::ranges::sort(ordered, {}, &Member::key);
        for (const Member* member : ordered) {
            const Value* was = before ? before->find(member->key) : nullptr;
            if (was && *was == member->value) continue;
            const FieldSet* below = unowned ? unowned->find(member_step(member->key)) : nullptr;
            if (!below || !below->is_member()) child("f:", member->key, node.member(member->key), was, member->value, below);
        }
    }

    void items(const Node& node, const Array& after) {
        std::map<std::string, const Value*> ordered;
        for (const Value& item : after)
            if (auto step = step_of(node, item)) ordered.emplace(*std::move(step), &item);  // of twins the first counts
        for (const auto& [step, item] : ordered) child("", step, node.element(), nullptr, *item, nullptr);
    }

    /// The step is `prefix` and `name`.
    void child(std::string_view prefix, std::string_view name, const Node& node, const Value* before, const Value& after,
               const FieldSet* unowned) {
        const std::size_t begin = out_.size();
        if (out_.back() != '{') out_ += ',';
        const std::size_t quote = out_.size();
        append_json_string(name, out_);
        out_.insert(quote + 1, prefix);
        out_ += ':';
        if (!place(node, before, after, unowned)) out_.resize(begin);
    }

    std::string& out_;
};

// atomic_fields

void find_atomics(const Node& node, const Value& value, const std::string& path, std::vector<std::string>& found) {
    if (node.is_unknown()) return;
    const bool is_leaf = granularity_of(node) == Granularity::Leaf;
    if (is_leaf && (node.is_list() ? value.is_array() : value.is_object())) found.push_back(path);
    if (value.is_object() && node.is_struct()) {
        for (const Member& member : value.as_object())
            if (is_named_member(node, member.key)) find_atomics(node.member(member.key), member.value, path + "." + member.key, found);
    }
    if (value.is_array() && node.is_list()) {
        for (std::size_t i = 0; i < value.as_array().size(); ++i)
            find_atomics(node.element(), value.as_array()[i], path + "[" + std::to_string(i) + "]", found);
    }
}

// merge_fields

/// `live` is taken apart: to copy it at every level would take its depth times its size.
Value merge(const Node& node, Value live, const Value& applied);

/// Items of `applied` in its order; items that only `live` has stay where they were between the others.
Value merge_items(const Node& node, Array live, const Array& applied) {
    std::map<std::string, Value*> live_items;
    std::set<std::string> applied_steps, taken;
    std::vector<std::string> live_order, applied_order;
    for (Value& item : live) {
        live_order.push_back(step_of(node, item).value_or(""));
        live_items.emplace(live_order.back(), &item);
    }
    for (const Value& item : applied) {
        applied_order.push_back(step_of(node, item).value_or(""));
        applied_steps.insert(applied_order.back());
    }
    Array merged;
    for (std::size_t i = 0, j = 0; i < live.size() || j < applied.size();) {
        if (i < live.size() && !applied_steps.contains(live_order[i])) {
            merged.push_back(std::move(live[i++]));
        } else if (i < live.size() && taken.contains(live_order[i])) {
            ++i;
        } else if (j < applied.size()) {
            const auto found = live_items.find(applied_order[j]);
            merged.push_back(found == live_items.end() ? applied[j] : merge(node.element(), std::move(*found->second), applied[j]));
            taken.insert(applied_order[j++]);
        } else {
            ++i;
        }
    }
    return merged;
}

Value merge(const Node& node, Value live, const Value& applied) {
    const Granularity granularity = granularity_of(node, &live, &applied);
    if (granularity == Granularity::Leaf || live.is_null() || applied.is_null()) return applied;
    if (granularity == Granularity::Items) return merge_items(node, std::move(live.as_array()), applied.as_array());
    for (const Member& member : applied.as_object()) {
        Value* existing = live.find(member.key);
        if (existing)
            *existing = merge(node.member(member.key), std::move(*existing), member.value);
        else
            live[member.key] = member.value;
    }
    return live;
}

// without_fields

Value strip(const Node& node, const Value& value, const FieldSet& fields) {
    const Granularity granularity = granularity_of(node, &value);
    if (granularity == Granularity::Leaf || value.is_null()) return value;
    if (granularity == Granularity::Items) {
        Array kept;
        for (const Value& item : value.as_array()) {
            const FieldSet* below = fields.find(step_of(node, item).value_or(""));
            if (below && below->is_member()) continue;
            kept.push_back(below ? strip(node.element(), item, *below) : item);
        }
        return kept;
    }
    Value kept = Value::object();
    for (const Member& member : value.as_object()) {
        const FieldSet* below = fields.find(member_step(member.key));
        if (below && below->is_member()) continue;
        if (!below) {
            kept[member.key] = member.value;
            continue;
        }
        // What is left empty here is somebody's: otherwise it would itself be among the places that go.
        kept[member.key] = strip(node.member(member.key), member.value, *below);
    }
    return kept;
}

}  // namespace

Result<std::string> step_of(const Node& list, const Value& item) {
    if (list.field->list_type == ListType::Set) return "v:" + to_json(item);
    Value keys = Value::object();
    for (const std::string_view key : list.field->list_keys()) {
        const Value* value = item.find(key);
        if (value && !value->is_null()) {
            keys[key] = *value;
            continue;
        }
        const Field* field = list.element().type ? list.element().type->find_field(key) : nullptr;
        if (!field || field->default_json().empty()) continue;
        if (auto fallback = parse_json(field->default_json())) keys[key] = std::move(*fallback);
    }
    if (keys.as_object().empty()) return Error(Reason::BadRequest, "associative list with keys has an element that omits all key fields");
    keys.as_object().sort_keys();
    return "k:" + to_json(keys);
}

Value blank_object(const Kind& kind) {
    if (!kind.type->create) return Value::object();
    return to_value(*kind.type, Instance(*kind.type).get());
}

Result<FieldSet> fields_of(const Node& node, const Value& object) {
    FieldSet set;
    TRY_VOID(collect(node, object, set, ""));
    set.trim();
    return set;
}

Comparison compare_fields(const Node& node, const Value& before, const Value& after) {
    Comparison result;
    compare(node, before, &after, result);
    return result;
}

bool append_created_fields(const Kind& kind, const Value& object, const FieldSet& unowned, std::string& out) {
    const Value blank = blank_object(kind);
    return CreatedFields(out).place(Node::of_struct(*kind.type), &blank, object, &unowned);
}

std::vector<std::string> atomic_fields(const Node& node, const Value& object) {
    std::vector<std::string> found;
    find_atomics(node, object, "", found);
    return found;
}

Value merge_fields(const Node& node, const Value& live, const Value& applied) { return merge(node, live, applied); }

Value without_fields(const Node& node, const Value& object, const FieldSet& fields) { return strip(node, object, fields); }

FieldSet with_named_parents(const Node& node, const FieldSet& fields) {
    FieldSet result;
    if (fields.is_member()) result.insert();
    for (const auto& [step, child] : fields.children()) {
        const std::string name = step.substr(2);
        const bool is_field = step[0] == 'f';
        FieldSet below = with_named_parents(is_field ? node.member(name) : node.element(), child);
        if (is_field && is_named_member(node, name)) below.insert();
        result.below(step) = std::move(below);
    }
    return result;
}

}  // namespace porthole::schema
