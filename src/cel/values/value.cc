#include "cel/values/value.h"

#include <algorithm>

#include "base/base64.h"
#include "base/time/time.h"

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

const Type* Value::list_type() const { return is_view_ ? extra_.type : list_data().type; }

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
