// Equality, order and hashes of values, and the index that stands on them.

#include <algorithm>
#include <array>
#include <cmath>

#include "cel/values/keyed_hash.h"
#include "cel/values/value.h"

namespace porthole::cel {

namespace {

/// The bounds of integers. Upstream compares an integer with a double as doubles.
constexpr double TwoTo63 = 9223372036854775808.0, TwoTo64 = 18446744073709551616.0;

int sign_of(auto left, auto right) { return left < right ? -1 : left > right ? 1 : 0; }

std::optional<int> compare_numbers(const Value& left, const Value& right) {
    if (left.is(Kind::Double) || right.is(Kind::Double)) {
        if (left.is(Kind::Double) && right.is(Kind::Double)) {
            if (std::isnan(left.as_double()) || std::isnan(right.as_double())) return {};
            return sign_of(left.as_double(), right.as_double());
        }
        const bool swapped = !left.is(Kind::Double);
        const double real = swapped ? right.as_double() : left.as_double();
        const Value& whole = swapped ? left : right;
        if (std::isnan(real)) return {};
        int order = 0;
        if (whole.is(Kind::Int))
            order = real < -TwoTo63 ? -1 : real > TwoTo63 ? 1 : sign_of(real, static_cast<double>(whole.as_int()));
        else
            order = real < 0 ? -1 : real > TwoTo64 ? 1 : sign_of(real, static_cast<double>(whole.as_uint()));
        return swapped ? -order : order;
    }
    if (left.is(Kind::Int) && right.is(Kind::Int)) return sign_of(left.as_int(), right.as_int());
    if (left.is(Kind::Uint) && right.is(Kind::Uint)) return sign_of(left.as_uint(), right.as_uint());
    if (left.is(Kind::Int)) return left.as_int() < 0 ? -1 : sign_of(static_cast<std::uint64_t>(left.as_int()), right.as_uint());
    return right.as_int() < 0 ? 1 : sign_of(left.as_uint(), static_cast<std::uint64_t>(right.as_int()));
}

/// The values of a list's keys within one of its items: what identifies it in a list of semantics Map.
std::vector<Value> keys_of(const Value& item, const Type& list) {
    std::vector<Value> keys;
    if (!item.is(Kind::Map) && !item.is(Kind::Object)) return keys;
    for (const std::string& property : list.list_keys) {
        const std::string name = escape_property(property);
        keys.push_back(item.find(std::string_view(name.empty() ? property : name)).value_or(Value()));
    }
    return keys;
}

/// Where the items of a list are that is a set or a map: by themselves or by their keys. A list may be as long as a request.
class ItemIndex {
public:
    explicit ItemIndex(const Type& type) : type_(type) {}

    void put(const Value& item, std::size_t position, Work& work) { positions_.put(identity(item), position, work); }
    const std::size_t* find(const Value& item, Work& work) const { return positions_.find(identity(item), work); }

private:
    Value identity(const Value& item) const { return type_.list == ListSemantics::Set ? item : Value::list(keys_of(item, type_)); }

    const Type& type_;
    ValueIndex positions_;
};

/// The order of items does not matter. Requires lists of one size.
bool equal_unordered(const Value& left, const Value& right, const Type& type, Work& work) {
    ItemIndex index(type);
    for (std::size_t i = 0; i < left.count() && !work.is_used_up(); ++i) index.put(left.item(i), i, work);
    for (std::size_t i = 0; i < right.count() && !work.is_used_up(); ++i) {
        const Value item = right.item(i);
        const std::size_t* found = index.find(item, work);
        if (!found || !left.item(*found).equals(item, work)) return false;
    }
    return true;
}

/// Counts a tree as values that are looked at.
void look_at(const schema::Value& tree, Work& work) {
    if (!work.look()) return;
    if (tree.is_string()) {
        work.read(tree.as_string().size());
    } else if (tree.is_array()) {
        for (const schema::Value& item : tree.as_array()) look_at(item, work);
    } else if (tree.is_object()) {
        for (const schema::Member& member : tree.as_object()) look_at(member.value, work);
    }
}

}  // namespace

bool Value::lists_equal(const Value& other, Work& work) const {
    const std::size_t size = count();
    if (size != other.count()) return false;
    if (const Type* type = list_type(); type && type->list != ListSemantics::Atomic) return equal_unordered(*this, other, *type, work);
    for (std::size_t i = 0; i < size && !work.is_used_up(); ++i) {
        if (!item(i).equals(other.item(i), work)) return false;
    }
    return true;
}

bool Value::maps_equal(const Value& other, Work& work) const {
    const std::size_t size = count();
    if (size != other.count()) return false;
    const ObjectType* object = is_view_ && other.is_view_ && extra_.type ? extra_.type->object : nullptr;
    for (std::size_t i = 0; i < size && !work.is_used_up(); ++i) {
        const Entry one = entry(i);
        if (object && !object->find(one.first.as_text())) {
            // What the schema does not describe is compared as it is.
            const std::string key(one.first.as_text());
            const schema::Value* there = other.data_.tree->find(key);
            if (there) look_at(*there, work);
            if (!there || *there != *data_.tree->find(key)) return false;
            continue;
        }
        const std::optional<Value> found = other.find(one.first, work);
        if (!found ? !one.second.is(Kind::Null) : !one.second.equals(*found, work)) return false;
    }
    return true;
}

bool Value::equals(const Value& other) const {
    Work work;
    return equals(other, work);
}

bool Value::equals(const Value& other, Work& work) const {
    if (!work.look() || ((kind_ == Kind::String || kind_ == Kind::Bytes) && !work.read(extra_.size))) return false;
    if (is_numeric() && other.is_numeric()) return compare_numbers(*this, other) == 0;
    if (kind_ != other.kind_) return false;
    switch (kind_) {
        case Kind::Null:
            return true;
        case Kind::Bool:
            return as_bool() == other.as_bool();
        case Kind::String:
        case Kind::Bytes:
            return as_text() == other.as_text();
        case Kind::Timestamp:
            return as_moment() == other.as_moment();
        case Kind::Duration:
            return as_nanos() == other.as_nanos();
        case Kind::List:
            return lists_equal(other, work);
        case Kind::Map:
            return maps_equal(other, work);
        case Kind::Object:
            if (is_lazy_ || other.is_lazy_) return is_lazy_ && other.is_lazy_ && data_.lazy == other.data_.lazy;
            return type()->name == other.type()->name && maps_equal(other, work);
        case Kind::Type:
            return as_type()->name == other.as_type()->name;
        case Kind::Optional:
            return has_value() == other.has_value() && (!has_value() || content().equals(other.content(), work));
        case Kind::Opaque:
            return *as_opaque().type() == *other.as_opaque().type() && as_opaque().equals(other.as_opaque());
        default:
            return false;
    }
}

std::optional<int> Value::compare(const Value& other) const {
    if (is_numeric() && other.is_numeric()) return compare_numbers(*this, other);
    if (kind_ != other.kind_) return {};
    switch (kind_) {
        case Kind::Bool:
            return sign_of(as_bool(), other.as_bool());
        case Kind::String:
        case Kind::Bytes:
            return sign_of(as_text().compare(other.as_text()), 0);
        case Kind::Timestamp:
            return sign_of(as_moment(), other.as_moment());
        case Kind::Duration:
            return sign_of(as_nanos(), other.as_nanos());
        default:
            return {};
    }
}

std::size_t Value::hash(Work& work) const {
    if (!work.look()) return 0;
    switch (kind_) {
        case Kind::Bool:
            return as_bool() ? 1 : 2;
        // One amount has one hash, whatever its kind.
        case Kind::Int:
            return keyed_hash(static_cast<double>(as_int()));
        case Kind::Uint:
            return keyed_hash(static_cast<double>(as_uint()));
        case Kind::Double:
            return keyed_hash(as_double());
        case Kind::String:
        case Kind::Bytes:
            work.read(extra_.size);
            return keyed_hash(as_text());
        case Kind::Timestamp:
        case Kind::Duration:
            return keyed_hash(data_.integer);
        // Sums, because the order of items may not matter; a field that is null counts as absent.
        case Kind::List: {
            std::size_t sum = 0;
            for (std::size_t i = 0, end = count(); i < end && !work.is_used_up(); ++i) sum += item(i).hash(work);
            return sum;
        }
        case Kind::Map:
        case Kind::Object: {
            std::size_t sum = 0;
            for (std::size_t i = 0, end = count(); i < end && !work.is_used_up(); ++i) {
                const Entry one = entry(i);
                if (!one.second.is(Kind::Null)) sum += keyed_hash(std::array{one.first.hash(work), one.second.hash(work)});
            }
            return sum;
        }
        default:
            return static_cast<std::size_t>(kind_);
    }
}

void ValueIndex::put(const Value& value, std::size_t place, Work& work) {
    const std::size_t hash = value.hash(work);
    const auto [first, last] = places_.equal_range(hash);
    const auto found = std::find_if(first, last, [&](const auto& one) { return one.second.value.equals(value, work); });
    if (found != last)
        found->second.place = place;
    else
        places_.emplace(hash, Entry{value, place});
}

const std::size_t* ValueIndex::find(const Value& value, Work& work) const {
    const auto [first, last] = places_.equal_range(value.hash(work));
    const auto found = std::find_if(first, last, [&](const auto& one) { return one.second.value.equals(value, work); });
    return found == last ? nullptr : &found->second.place;
}

}  // namespace porthole::cel
