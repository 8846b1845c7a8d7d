#include "cel/values/value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/base64.h"
#include "base/time/time.h"
#include "cel/values/keyed_hash.h"

namespace porthole::cel {

// What values own, by kind.

struct TextData : Shared {
    explicit TextData(std::string content) : text(std::move(content)) {}
    std::string text;
};

/// What has values within it.
struct Composite : Shared {
    std::uint32_t depth = 1;

    void deepen(const Value& part) { depth = std::max(depth, part.depth() + 1); }
};

/// The items of a list that an expression made.
struct ListData : Composite {
    std::vector<Value> items;
    const Type* type = nullptr;  ///< of the object's list from which it was made by `+`
};

/// The entries of a map in order of insertion, with an index once it is worth it.
struct MapData : Composite {
    static constexpr std::size_t SmallSize = 8;

    const Value* find(const Value& key, Work& work) const;
    /// Replaces the value of a key that is there.
    void put(Value key, Value value, Work& work);

    std::vector<Value::Entry> entries;
    std::optional<Value> missing;  ///< what reading an absent key yields; nothing: an error

private:
    ValueIndex index_;
};

/// The fields of an object that an expression made, in their order.
struct ObjectData : Composite {
    TypeRef type;
    std::vector<std::pair<std::string, Value>> fields;
};

/// A type as a value.
struct TypeData : Shared {
    explicit TypeData(TypeRef content) : type(std::move(content)) {}
    TypeRef type;
};

/// The content of an optional that has one.
struct OptionalData : Composite {
    explicit OptionalData(Value value) : content(std::move(value)) { deepen(content); }
    Value content;
};

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

}  // namespace

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

const Value* MapData::find(const Value& key, Work& work) const {
    if (!index_.empty()) {
        const std::size_t* found = index_.find(key, work);
        return found ? &entries[*found].second : nullptr;
    }
    for (const Value::Entry& entry : entries) {
        if (entry.first.equals(key, work)) return &entry.second;
    }
    return nullptr;
}

void MapData::put(Value key, Value value, Work& work) {
    deepen(key);
    deepen(value);
    if (const Value* there = find(key, work)) {
        const_cast<Value&>(*there) = std::move(value);
        return;
    }
    entries.emplace_back(std::move(key), std::move(value));
    if (!index_.empty())
        index_.put(entries.back().first, entries.size() - 1, work);
    else if (entries.size() > SmallSize)
        for (std::size_t i = 0; i < entries.size(); ++i) index_.put(entries[i].first, i, work);
}

Value Value::boolean(bool value) {
    Value made;
    made.kind_ = Kind::Bool;
    made.data_.boolean = value;
    return made;
}
Value Value::integer(std::int64_t value) {
    Value made;
    made.kind_ = Kind::Int;
    made.data_.integer = value;
    return made;
}
Value Value::unsigned_integer(std::uint64_t value) {
    Value made;
    made.kind_ = Kind::Uint;
    made.data_.natural = value;
    return made;
}
Value Value::real(double value) {
    Value made;
    made.kind_ = Kind::Double;
    made.data_.real = value;
    return made;
}
Value Value::owned_text(Kind kind, std::string text) {
    auto* owned = new TextData(std::move(text));
    Value made;
    made.kind_ = kind;
    made.owner_ = SharedRef(owned);
    made.data_.text = owned->text.data();
    made.extra_.size = owned->text.size();
    return made;
}
Value Value::string(std::string value) { return owned_text(Kind::String, std::move(value)); }
Value Value::bytes(std::string value) { return owned_text(Kind::Bytes, std::move(value)); }
Value Value::error(std::string message) { return owned_text(Kind::Error, std::move(message)); }
Value Value::string_view(std::string_view text) {
    Value made;
    made.kind_ = Kind::String;
    made.data_.text = text.data();
    made.extra_.size = text.size();
    return made;
}
Value Value::moment(Moment moment) {
    Value made;
    made.kind_ = Kind::Timestamp;
    made.data_.integer = moment.seconds;
    made.extra_.nanos = moment.nanos;
    return made;
}
Value Value::duration(std::int64_t nanos) {
    Value made;
    made.kind_ = Kind::Duration;
    made.data_.integer = nanos;
    return made;
}
Value Value::list(std::vector<Value> items) {
    auto* data = new ListData;
    data->items = std::move(items);
    for (const Value& item : data->items) data->deepen(item);
    Value made;
    made.kind_ = Kind::List;
    made.owner_ = SharedRef(data);
    return made;
}
Value Value::map(std::vector<Entry> entries) {
    Work work;
    return map(std::move(entries), work);
}
Value Value::map(std::vector<Entry> entries, Work& work) {
    auto* data = new MapData;
    for (Entry& entry : entries) data->put(std::move(entry.first), std::move(entry.second), work);
    Value made;
    made.kind_ = Kind::Map;
    made.owner_ = SharedRef(data);
    return made;
}
Value Value::map_with_default(std::vector<Entry> entries, Value missing) {
    Value made = map(std::move(entries));
    const_cast<MapData&>(made.map_data()).missing = std::move(missing);
    return made;
}
Value Value::object(TypeRef type, std::vector<std::pair<std::string, Value>> fields) {
    auto* data = new ObjectData;
    data->type = std::move(type);
    data->fields = std::move(fields);
    for (const auto& [name, value] : data->fields) data->deepen(value);
    Value made;
    made.kind_ = Kind::Object;
    made.owner_ = SharedRef(data);
    return made;
}
Value Value::lazy_object(const LazyFields& fields) {
    Value made;
    made.kind_ = Kind::Object;
    made.is_lazy_ = true;
    made.data_.lazy = &fields;
    return made;
}
Value Value::type(TypeRef type) {
    Value made;
    made.kind_ = Kind::Type;
    made.owner_ = SharedRef(new TypeData(std::move(type)));
    return made;
}
Value Value::some(Value value) {
    Value made;
    made.kind_ = Kind::Optional;
    made.owner_ = SharedRef(new OptionalData(std::move(value)));
    return made;
}
Value Value::none() {
    Value made;
    made.kind_ = Kind::Optional;
    return made;
}
Value Value::opaque(const Opaque* value) {
    Value made;
    made.kind_ = Kind::Opaque;
    made.owner_ = SharedRef(value);
    return made;
}
Value Value::view(Kind kind, const schema::Value& tree, const Type* type) {
    Value made;
    made.kind_ = kind;
    made.is_view_ = true;
    made.data_.tree = &tree;
    made.extra_.type = type;
    return made;
}

const ListData& Value::list_data() const { return static_cast<const ListData&>(*owner_.get()); }
const MapData& Value::map_data() const { return static_cast<const MapData&>(*owner_.get()); }
const ObjectData& Value::object_data() const { return static_cast<const ObjectData&>(*owner_.get()); }
TypeRef Value::as_type() const { return static_cast<const TypeData&>(*owner_.get()).type; }
const Opaque& Value::as_opaque() const { return static_cast<const Opaque&>(*owner_.get()); }
bool Value::has_value() const { return owner_.get() != nullptr; }
const Value& Value::content() const { return static_cast<const OptionalData&>(*owner_.get()).content; }

namespace {

/// What upstream calls a JSON value that a schema does not expect.
const char* go_type(const schema::Value& tree) {
    if (tree.is_bool()) return "bool";
    if (tree.is_int()) return "int64";
    if (tree.is_double()) return "float64";
    if (tree.is_string()) return "string";
    return tree.is_array() ? "[]interface {}" : tree.is_object() ? "map[string]interface {}" : "<nil>";
}

Value untyped(const schema::Value& tree) {
    if (tree.is_null()) return {};
    if (tree.is_bool()) return Value::boolean(tree.as_bool());
    if (tree.is_int()) return Value::integer(tree.as_int());
    if (tree.is_double()) return Value::real(tree.as_double());
    return Value::string_view(tree.as_string());
}

Value text_of_type(const schema::Value& tree, TypeKind kind) {
    const std::string& text = tree.as_string();
    switch (kind) {
        case TypeKind::Timestamp:
            if (const auto moment = Moment::parse(text.size() == 10 ? text + "T00:00:00Z" : text)) return Value::moment(*moment);
            return Value::error("Invalid date-time formatted string " + text);
        case TypeKind::Duration:
            if (const auto duration = parse_duration(text)) return Value::duration(duration->count());
            return Value::error("Invalid duration " + text);
        case TypeKind::Bytes:
            if (auto decoded = decode_base64(text)) return Value::bytes(*std::move(decoded));
            return Value::error("Invalid byte formatted string " + text);
        default:
            return Value::string_view(text);
    }
}

}  // namespace

Value Value::of(const schema::Value& tree, const Type* type) {
    const TypeKind kind = type ? type->kind : TypeKind::Dyn;
    switch (kind) {
        case TypeKind::Object:
        case TypeKind::Map:
            if (tree.is_null()) return {};
            if (!tree.is_object()) return error("invalid data, expected a map for the provided schema with type=object");
            return view(Kind::Map, tree, type);
        case TypeKind::List:
            if (tree.is_null()) return {};
            if (!tree.is_array()) return error("invalid data, expected an array for the provided schema with type=array");
            return view(Kind::List, tree, type);
        case TypeKind::String:
        case TypeKind::Timestamp:
        case TypeKind::Duration:
        case TypeKind::Bytes:
            if (tree.is_null()) return {};
            if (!tree.is_string()) return error(std::string("invalid data, expected string, got ") + go_type(tree));
            return text_of_type(tree, kind);
        case TypeKind::Double:
            if (tree.is_null()) return {};
            if (!tree.is_number()) return error(std::string("invalid data, expected float, got ") + go_type(tree));
            return real(tree.as_double());
        case TypeKind::Int:
            if (tree.is_null()) return {};
            if (!tree.is_int()) return error(std::string("invalid data, expected int, got ") + go_type(tree));
            return integer(tree.as_int());
        case TypeKind::Bool:
            if (tree.is_null()) return {};
            if (!tree.is_bool()) return error(std::string("invalid data, expected bool, got ") + go_type(tree));
            return boolean(tree.as_bool());
        default:
            if (tree.is_array()) return view(Kind::List, tree, nullptr);
            if (tree.is_object()) return view(Kind::Map, tree, nullptr);
            return untyped(tree);
    }
}

std::uint32_t Value::depth() const {
    const bool is_composite = kind_ == Kind::List || kind_ == Kind::Map || kind_ == Kind::Object || kind_ == Kind::Optional;
    return is_composite && owner_.get() ? static_cast<const Composite&>(*owner_.get()).depth : 0;
}

std::size_t Value::count() const {
    if (is_lazy_) return 0;
    if (is_view_) return kind_ == Kind::List ? data_.tree->as_array().size() : data_.tree->as_object().size();
    switch (kind_) {
        case Kind::List:
            return list_data().items.size();
        case Kind::Map:
            return map_data().entries.size();
        case Kind::Object:
            return object_data().fields.size();
        default:
            return 0;
    }
}

Value Value::item(std::size_t index) const {
    if (!is_view_) return list_data().items[index];
    return of(data_.tree->as_array()[index], extra_.type ? extra_.type->parameters[0].get() : nullptr);
}

Value::Entry Value::entry(std::size_t index) const {
    if (!is_view_) {
        if (kind_ == Kind::Object) {
            const auto& [name, value] = object_data().fields[index];
            return {string_view(name), value};
        }
        return map_data().entries[index];
    }
    const schema::Member& member = *(data_.tree->as_object().begin() + static_cast<std::ptrdiff_t>(index));
    const Type* type = extra_.type;
    if (type && type->object) {
        const auto name = type->object->by_property.find(member.key);
        if (name == type->object->by_property.end()) return {string_view(member.key), of(member.value)};
        return {string_view(name->second), of(member.value, type->object->find(name->second)->type.get())};
    }
    return {string_view(member.key), of(member.value, type && type->is(TypeKind::Map) ? type->parameters[1].get() : nullptr)};
}

std::optional<Value> Value::find(std::string_view key) const {
    if (is_lazy_) return data_.lazy->field(key);
    if (!is_view_) {
        if (kind_ == Kind::Object) {
            for (const auto& [name, value] : object_data().fields) {
                if (name == key) return value;
            }
            return {};
        }
        Work work;  // of comparing texts
        const Value* found = map_data().find(string_view(key), work);
        return found ? std::optional(*found) : map_data().missing;
    }
    const Type* type = extra_.type;
    if (type && type->object) {
        // A field that is null counts as absent.
        const ObjectField* field = type->object->find(key);
        const schema::Value* found = field ? data_.tree->as_object().find(field->property) : nullptr;
        return found && !found->is_null() ? std::optional(of(*found, field->type.get())) : std::nullopt;
    }
    const schema::Value* found = data_.tree->as_object().find(key);
    if (!found) return {};
    return of(*found, type && type->is(TypeKind::Map) ? type->parameters[1].get() : nullptr);
}

std::optional<Value> Value::find(const Value& key, Work& work) const {
    if (is_view_ || kind_ == Kind::Object) return key.is(Kind::String) ? find(key.as_text()) : std::nullopt;
    const Value* found = map_data().find(key, work);
    return found ? std::optional(*found) : map_data().missing;
}

bool Value::contains(const Value& key, Work& work) const {
    if (kind_ == Kind::Map && !is_view_) return map_data().find(key, work) != nullptr;
    if (kind_ != Kind::List) return find(key, work).has_value();
    for (std::size_t i = 0, end = count(); i < end && !work.is_used_up(); ++i) {
        if (item(i).equals(key, work)) return true;
    }
    return false;
}

TypeRef Value::type() const {
    static const TypeRef AnyList = types::list(types::dyn()), AnyMap = types::map(types::dyn(), types::dyn()),
                         AnyOptional = types::optional(types::dyn()), AnyType = types::type_of();
    switch (kind_) {
        case Kind::Null:
            return types::null();
        case Kind::Bool:
            return types::boolean();
        case Kind::Int:
            return types::integer();
        case Kind::Uint:
            return types::unsigned_integer();
        case Kind::Double:
            return types::real();
        case Kind::String:
            return types::string();
        case Kind::Bytes:
            return types::bytes();
        case Kind::Timestamp:
            return types::timestamp();
        case Kind::Duration:
            return types::duration();
        case Kind::List:
            return AnyList;
        case Kind::Map:
            return AnyMap;
        case Kind::Object:
            return is_lazy_ ? data_.lazy->type() : object_data().type;
        case Kind::Type:
            return AnyType;
        case Kind::Optional:
            return AnyOptional;
        case Kind::Opaque:
            return as_opaque().type();
        case Kind::Error:
            break;
    }
    return types::error();
}

std::optional<std::uint64_t> Value::size() const {
    switch (kind_) {
        case Kind::String:
            return code_points(as_text());
        case Kind::Bytes:
            return as_text().size();
        case Kind::List:
        case Kind::Map:
            return count();
        case Kind::Opaque:
            return as_opaque().size();
        default:
            return {};
    }
}

namespace {

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

const Type* Value::list_type() const { return is_view_ ? extra_.type : list_data().type; }

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
            return object_data().type->name == other.object_data().type->name && maps_equal(other, work);
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

bool Value::count_parts(Work& work) const {
    if (!work.make(sizeof(Value)) || !work.look()) return false;
    if (kind_ == Kind::String || kind_ == Kind::Bytes) return work.make(extra_.size);
    if (kind_ == Kind::Optional) return !has_value() || content().count_parts(work);
    for (std::size_t i = 0, end = count(); i < end; ++i) {
        if (kind_ == Kind::List) {
            if (!item(i).count_parts(work)) return false;
        } else {
            const Entry one = entry(i);
            if (!one.first.count_parts(work) || !one.second.count_parts(work)) return false;
        }
    }
    return true;
}

Value Value::append(Value list, const Value& more, Work& work) {
    const Type* type = list.list_type();
    const bool in_place = !list.is_view_ && list.owner_.is_unique();
    const std::size_t size = list.count(), added = more.count();
    const std::size_t copied = in_place ? added : size + added;
    if (!work.look(copied) || !work.make(copied * sizeof(Value))) return list;
    if (!in_place) {
        std::vector<Value> items;
        items.reserve(size + added);
        for (std::size_t i = 0; i < size; ++i) items.push_back(list.item(i));
        list = Value::list(std::move(items));
        const_cast<ListData&>(list.list_data()).type = type;
    }
    auto& data = const_cast<ListData&>(list.list_data());
    if (!type || type->list == ListSemantics::Atomic) {
        for (std::size_t i = 0; i < added; ++i) data.deepen(data.items.emplace_back(more.item(i)));
        return list;
    }
    ItemIndex index(*type);
    for (std::size_t i = 0; i < size && !work.is_used_up(); ++i) index.put(data.items[i], i, work);
    for (std::size_t i = 0; i < added && !work.is_used_up(); ++i) {
        Value item = more.item(i);
        data.deepen(item);
        if (const std::size_t* there = index.find(item, work)) {
            data.items[*there] = std::move(item);
        } else {
            index.put(item, data.items.size(), work);
            data.items.push_back(std::move(item));
        }
    }
    return list;
}

Value Value::insert(Value map, Value key, Value value, Work& work) {
    if (map.find(key, work)) return error("insert failed: key " + key.to_string() + " already exists");
    const bool in_place = !map.is_view_ && map.owner_.is_unique();
    const std::size_t copied = in_place ? 1 : map.count() + 1;
    if (!work.look(copied) || !work.make(copied * sizeof(Entry))) return map;
    if (!in_place) {
        std::vector<Entry> entries;
        for (std::size_t i = 0, end = map.count(); i < end; ++i) entries.push_back(map.entry(i));
        map = Value::map(std::move(entries), work);
    }
    const_cast<MapData&>(map.map_data()).put(std::move(key), std::move(value), work);
    return map;
}

std::uint64_t code_points(std::string_view text) {
    return static_cast<std::uint64_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace porthole::cel
