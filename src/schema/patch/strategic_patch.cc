#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "schema/json/json.h"
#include "schema/patch/field_walk.h"
#include "schema/patch/patch.h"

namespace porthole::schema {
namespace {

constexpr std::string_view Directive = "$patch";
constexpr std::string_view RetainKeys = "$retainKeys";
constexpr std::string_view SetElementOrder = "$setElementOrder/";
constexpr std::string_view DeleteFromPrimitiveList = "$deleteFromPrimitiveList/";

Error bad_patch(std::string message) { return Error(Reason::BadRequest, std::move(message)); }

/// The directives that an object of a patch has for its member `key`, and the member itself.
struct MemberPatch {
    const Value* value = nullptr;
    const Array* order = nullptr;    // $setElementOrder/key
    const Array* deleted = nullptr;  // $deleteFromPrimitiveList/key
};

bool is_merged_list(const Node& node) { return node.is_list() && node.field->is(Field::PatchMerge); }
std::string_view merge_key_of(const Node& node) { return node.field->merge_key(); }

Result<const Array*> list_of(const Member& member) {
    if (!member.value.is_array()) return bad_patch("invalid patch format of " + member.key + ": a list is expected");
    return &member.value.as_array();
}

using MemberPatches = std::vector<std::pair<std::string_view, MemberPatch>>;

/// The members that a patch touches, each with its directives, in order of first mention.
Result<MemberPatches> members_of(const Object& patch) {
    MemberPatches members;
    std::map<std::string_view, std::size_t> places;
    const auto entry = [&](std::string_view key) -> MemberPatch& {
        const auto [place, added] = places.emplace(key, members.size());
        if (added) members.emplace_back(key, MemberPatch());
        return members[place->second].second;
    };
    for (const Member& member : patch) {
        const std::string_view key = member.key;
        if (key == Directive || key == RetainKeys) continue;
        if (key.starts_with(SetElementOrder)) {
            TRY(entry(key.substr(SetElementOrder.size())).order, list_of(member));
        } else if (key.starts_with(DeleteFromPrimitiveList)) {
            TRY(entry(key.substr(DeleteFromPrimitiveList.size())).deleted, list_of(member));
        } else {
            entry(key).value = &member.value;
        }
    }
    return members;
}

Result<void> merge_object(Value& target, const Object& patch, const Node& node);

/// The patch's value as it stands when there is nothing to merge with: without directives and nulls.
Result<Value> fresh(const Value& patch, const Node& node) {
    if (patch.is_object()) {
        Value value = Value::object();
        TRY_VOID(merge_object(value, patch.as_object(), node));
        return value;
    }
    if (!patch.is_array()) return patch;
    Array items;
    for (const Value& item : patch.as_array()) {
        if (item.string_at({Directive}) == "delete" || (item.find(Directive) && item.as_object().size() == 1)) continue;
        TRY(Value one, fresh(item, node.element()));
        items.push_back(std::move(one));
    }
    return Value(std::move(items));
}

Result<void> retain_keys(Value& target, const Object& patch) {
    const Value* directive = patch.find(RetainKeys);
    if (!directive) return {};
    if (!directive->is_array()) return bad_patch("invalid patch format of retainKeys");
    std::set<std::string, std::less<>> keep;
    for (const Value& key : directive->as_array()) {
        if (!key.is_string()) return bad_patch("invalid patch format of retainKeys");
        keep.insert(key.as_string());
    }
    for (const Member& member : patch) {
        const bool sets = !member.value.is_null() && !member.key.starts_with('$');
        if (sets && !keep.contains(member.key)) return bad_patch("invalid patch format of retainKeys");
    }
    target.as_object().erase_if([&](const Member& member) { return !keep.contains(member.key); });
    return {};
}

// Lists

/// What tells the items of a merged list apart: the merge key's value, or the item itself.
const Value& identity_of(const Value& item, std::string_view merge_key) { return merge_key.empty() ? item : at(item, merge_key); }

/// Where the items of a list are, by their identity. Lists come from users: to look through one for each item of another would take
/// minutes.
class Places {
public:
    Places(const Array& list, std::string_view merge_key) {
        for (std::size_t i = 0; i < list.size(); ++i) add(identity_of(list[i], merge_key), i);
    }
    void add(const Value& identity, std::size_t place) { places_[to_json(identity)].push_back(place); }
    bool contains(const Value& identity) const { return first(identity) >= 0; }
    /// The first of twins, or -1.
    std::ptrdiff_t first(const Value& identity) const {
        const auto found = places_.find(to_json(identity));
        return found == places_.end() ? -1 : static_cast<std::ptrdiff_t>(found->second.front());
    }
    /// Forgets them all, and yields where they were.
    std::vector<std::size_t> take(const Value& identity) {
        const auto found = places_.extract(to_json(identity));
        return found ? std::move(found.mapped()) : std::vector<std::size_t>();
    }

private:
    std::unordered_map<std::string, std::vector<std::size_t>> places_;
};

/// By ascending rank; items of one rank keep their order.
template <class Rank>
Array sorted_by(Array items, Rank rank) {
    std::vector<std::pair<std::ptrdiff_t, std::size_t>> places;
    for (std::size_t i = 0; i < items.size(); ++i) places.emplace_back(rank(items[i]), i);
    std::ranges::sort(places);
    Array sorted;
    for (const auto& [key, i] : places) sorted.push_back(std::move(items[i]));
    return sorted;
}

/// Sets the items that `order` names in its order. Those it does not know stay as near as may be to where `before` has them:
/// each goes before the first ordered item that follows it there.
Array reorder(Array merged, const Array& order, const Array& before, std::string_view merge_key) {
    // The entries of `order` are items with nothing but their key, or the bare values.
    const Places ranks(order, merge_key), places(before, merge_key);
    const auto rank = [&](const Value& item) { return ranks.first(identity_of(item, merge_key)); };
    const auto place = [&](const Value& item) { return places.first(identity_of(item, merge_key)); };
    Array ordered, others;
    for (Value& item : merged) (rank(item) >= 0 ? ordered : others).push_back(std::move(item));
    ordered = sorted_by(std::move(ordered), rank);
    others = sorted_by(std::move(others), place);

    Array result;
    std::size_t i = 0, j = 0;
    while (i < others.size() || j < ordered.size()) {
        bool take_other = j == ordered.size();
        if (!take_other && i < others.size()) {
            const std::ptrdiff_t left = place(others[i]), right = place(ordered[j]);
            take_other = left >= 0 && right >= 0 && left < right;
        }
        result.push_back(std::move(take_other ? others[i++] : ordered[j++]));
    }
    return result;
}

Result<void> merge_items(Array& list, const Array& patch, const Node& node) {
    const std::string_view merge_key = merge_key_of(node);
    Places places(list, merge_key);
    std::vector<bool> deleted(list.size());
    const auto no_object = [&] { return bad_patch("a list merged by the key \"" + std::string(merge_key) + "\" has objects only"); };
    for (const Value& item : patch) {
        if (!item.is_object()) return no_object();
        const Value* identity = item.find(merge_key);
        if (!identity) return bad_patch("map: " + to_json(item) + " does not contain declared merge key: " + std::string(merge_key));
        const std::ptrdiff_t found = places.first(*identity);
        const std::string_view directive = item.string_at({Directive});
        if (directive == "delete") {
            for (const std::size_t place : places.take(*identity)) deleted[place] = true;
        } else if (found >= 0) {
            Value& present = list[static_cast<std::size_t>(found)];
            if (!present.is_object()) return no_object();  // an earlier item of the patch has put it there
            TRY_VOID(merge_object(present, item.as_object(), node.element()));
        } else {
            TRY(Value added, fresh(item, node.element()));
            places.add(*identity, list.size());
            list.push_back(std::move(added));
            deleted.push_back(false);
        }
    }
    std::size_t i = 0;
    std::erase_if(list, [&](const Value&) { return deleted[i++]; });
    return {};
}

void merge_set(Array& list, const Array& patch) {
    Places places(list, "");
    for (const Value& item : patch) {
        if (places.contains(item)) continue;
        places.add(item, list.size());
        list.push_back(item);
    }
}

/// `{"$patch": "replace"}` among the items: the list becomes the others. Yields whether it was there.
Result<bool> replaces_all(const Array& patch) {
    bool replace = false;
    for (const Value& item : patch) {
        const Value* directive = item.find(Directive);
        if (!directive) continue;
        const std::string_view word = directive->string_or("");
        if (word == "merge") return bad_patch("merging lists cannot yet be specified in the patch");
        if (word != "replace" && word != "delete") return bad_patch("unknown patch type found: " + std::string(word));
        if (word == "replace") {
            // With a merge key beside it, it replaces that one item.
            if (item.as_object().size() == 1) replace = true;
        }
    }
    return replace;
}

Result<void> check_order(const MemberPatch& patch, std::string_view merge_key) {
    if (!patch.order || !patch.value || !patch.value->is_array()) return {};
    const Places ranks(*patch.order, merge_key);
    for (const Value& item : patch.value->as_array()) {
        if (item.string_at({Directive}) == "delete") continue;
        if (!ranks.contains(identity_of(item, merge_key))) return bad_patch("invalid patch format of setElementOrder list");
    }
    return {};
}

Result<void> merge_list(Value& target, const MemberPatch& patch, const Node& node) {
    static const Array nothing;
    const Array& items = patch.value && patch.value->is_array() ? patch.value->as_array() : nothing;
    TRY(const bool replace, replaces_all(items));
    if (replace) {
        Array others;
        for (const Value& item : items) {
            if (item.find(Directive)) continue;
            TRY(Value one, fresh(item, node.element()));
            others.push_back(std::move(one));
        }
        target = std::move(others);
        return {};
    }
    const std::string_view merge_key = merge_key_of(node);
    TRY_VOID(check_order(patch, merge_key));
    if (!target.is_array()) target = Value::array();
    const Array before = target.as_array();
    Array merged = before;
    if (patch.deleted) std::erase_if(merged, [places = Places(*patch.deleted, "")](const Value& item) { return places.contains(item); });
    if (merge_key.empty()) {
        merge_set(merged, items);
    } else {
        TRY_VOID(merge_items(merged, items, node));
    }
    // New items go before those that only the object has.
    merged = reorder(std::move(merged), patch.order ? *patch.order : items, before, merge_key);
    target = std::move(merged);
    return {};
}

// Objects

Result<void> merge_member(Value& target, std::string_view key, const MemberPatch& patch, const Node& node) {
    if (patch.value && patch.value->is_null()) {
        target.erase(key);
        return {};
    }
    const bool list_patch = !patch.value || patch.value->is_array();
    if (list_patch && is_merged_list(node)) {
        // Order or deletions alone do not bring a list into being.
        if (!patch.value && !target.find(key)) return {};
        return merge_list(target[key], patch, node);
    }
    if (!patch.value) return {};
    Value* existing = target.find(key);
    if (existing && existing->is_object() && patch.value->is_object()) {
        return merge_object(*existing, patch.value->as_object(), node);
    }
    TRY(Value value, fresh(*patch.value, node));
    target[key] = std::move(value);
    return {};
}

Result<void> merge_object(Value& target, const Object& patch, const Node& node) {
    if (const Value* directive = patch.find(Directive)) {
        const std::string_view word = directive->string_or("");
        if (word != "replace" && word != "delete" && word != "merge") return bad_patch("unknown patch type found: " + std::string(word));
        if (word != "merge") target = Value::object();
        if (word == "delete") return {};
    }
    TRY_VOID(retain_keys(target, patch));
    TRY(const auto members, members_of(patch));
    for (const auto& [key, member] : members) TRY_VOID(merge_member(target, key, member, node.member(key)));
    return {};
}

}  // namespace

Result<Value> apply_strategic_patch(const Type& type, const Value& current, const Value& patch) {
    Value result = current;
    TRY_VOID(merge_object(result, patch.as_object(), Node::of_struct(type)));
    return result;
}

}  // namespace porthole::schema
