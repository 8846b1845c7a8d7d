#include "apiserver/validation_rules/schema_types.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace porthole::apiserver {
namespace {

using cel::TypeRef;
using schema::at;
using schema::Value;

constexpr std::int64_t LongestText = LargestRequest - 2;  ///< without the quotes
constexpr std::int64_t LongestTime = 32, DateSize = 12;   ///< RFC 3339 in quotes
constexpr std::int64_t ShortestTime = 21, ShortestDuration = 3;

bool is_set(const Value& schema, std::string_view name) { return at(schema, name).bool_or(false); }

std::optional<std::int64_t> count(const Value& schema, std::string_view name) {
    const Value& given = at(schema, name);
    if (!given.is_int()) return {};
    return std::max<std::int64_t>(given.as_int(), 0);
}

TypeRef bounded(const TypeRef& type, std::int64_t max_size) { return cel::types::bounded(type, static_cast<std::uint64_t>(max_size)); }

/// Characters that a schema allows, as the bytes that they may take.
std::int64_t bytes_for(std::int64_t characters) { return std::min(characters, INT64_MAX / 4) * 4; }

/// Numbers and booleans have no size.
const TypeRef& sizeless(cel::TypeKind kind) {
    static const TypeRef Integer = bounded(cel::types::integer(), 0), Real = bounded(cel::types::real(), 0),
                         Boolean = bounded(cel::types::boolean(), 0);
    return kind == cel::TypeKind::Int ? Integer : kind == cel::TypeKind::Double ? Real : Boolean;
}

std::int64_t longest_of(const schema::Array& choices) {
    std::size_t longest = 0;
    for (const Value& choice : choices) longest = std::max(longest, choice.string_or("").size());
    return static_cast<std::int64_t>(longest);
}

const Value& plain_text() {
    static const Value schema = Value::object({{"type", "string"}});
    return schema;
}

/// Whether the schema says of a resource's own fields what upstream needs; else it takes them as plain texts.
bool describes_resource(const Value& schema) {
    const auto has_type = [&](std::initializer_list<std::string_view> path, std::string_view type) {
        const Value* found = schema.at_path(path);
        return found && at(*found, "type").string_or("") == type;
    };
    return has_type({"properties", "kind"}, "string") && has_type({"properties", "apiVersion"}, "string") &&
           has_type({"properties", "metadata"}, "object") && has_type({"properties", "metadata", "properties", "name"}, "string") &&
           has_type({"properties", "metadata", "properties", "generateName"}, "string");
}

const Value& plain_metadata() {
    static const Value schema =
        Value::object({{"type", "object"}, {"properties", Value::object({{"name", plain_text()}, {"generateName", plain_text()}})}});
    return schema;
}

}  // namespace

TypeRef SchemaTypes::declare(const Value& schema, bool is_resource) {
    // Upstream's names have a number that changes, so that no expression can name the type.
    return type_of(schema, is_resource, "selfType" + std::to_string(++declared_));
}

std::int64_t SchemaTypes::smallest_size(const cel::Type& type) const {
    if (const auto found = smallest_.find(&type); found != smallest_.end()) return found->second;
    switch (type.kind) {
        case cel::TypeKind::Bool:
            return 4;
        case cel::TypeKind::Int:
        case cel::TypeKind::Double:
        case cel::TypeKind::Dyn:
            return 1;
        case cel::TypeKind::Duration:
            return ShortestDuration;
        case cel::TypeKind::Timestamp:
            return ShortestTime;
        default:
            return 2;  // "", [], {}
    }
}

TypeRef SchemaTypes::type_of(const Value& schema, bool is_resource, const std::string& name) {
    if (is_set(schema, "x-kubernetes-int-or-string")) {
        const auto longest = count(schema, "maxLength");
        return bounded(cel::types::dyn(), longest ? bytes_for(*longest) : LongestText);
    }
    const std::string_view type = at(schema, "type").string_or("");
    if (type == "array") return list(schema, name);
    if (type == "object") {
        const Value& values = at(schema, "additionalProperties");
        return values.is_object() ? map(schema, values, name) : object(schema, is_resource, name);
    }
    if (type == "string") return text(schema);
    if (type == "boolean") return sizeless(cel::TypeKind::Bool);
    if (type == "number") return sizeless(cel::TypeKind::Double);
    if (type == "integer") return sizeless(cel::TypeKind::Int);
    return nullptr;
}

TypeRef SchemaTypes::list(const Value& schema, const std::string& name) {
    const Value& items = at(schema, "items");
    if (!items.is_object()) return nullptr;
    TypeRef item = type_of(items, is_set(items, "x-kubernetes-embedded-resource"), name + ".@idx");
    if (!item) return nullptr;
    const std::int64_t most = count(schema, "maxItems").value_or((LargestRequest - 2) / (smallest_size(*item) + 1));
    const std::string_view list_type = at(schema, "x-kubernetes-list-type").string_or("");
    const auto semantics = list_type == "map"   ? cel::ListSemantics::Map
                           : list_type == "set" ? cel::ListSemantics::Set
                                                : cel::ListSemantics::Atomic;
    std::vector<std::string> keys;
    if (const Value& given = at(schema, "x-kubernetes-list-map-keys"); given.is_array())
        for (const Value& key : given.as_array()) keys.emplace_back(key.string_or(""));
    return cel::types::list_of(std::move(item), semantics, std::move(keys), static_cast<std::uint64_t>(most));
}

TypeRef SchemaTypes::map(const Value& schema, const Value& values, const std::string& name) {
    TypeRef value = type_of(values, is_set(values, "x-kubernetes-embedded-resource"), name + ".@elem");
    if (!value) return nullptr;
    // An entry takes two quotes, a colon, a comma and two characters of its key.
    const std::int64_t most = count(schema, "maxProperties").value_or((LargestRequest - 2) / (smallest_size(*value) + 6));
    // Keys are counted without a bound of their own: upstream's type of keys has no size.
    return bounded(cel::types::map(bounded(cel::types::string(), 0), std::move(value)), most);
}

TypeRef SchemaTypes::object(const Value& schema, bool is_resource, const std::string& name) {
    cel::ObjectType& object = objects_.declare(name);
    const Value& required = at(schema, "required");
    std::int64_t smallest = 2;
    const auto add = [&](const std::string& property, const Value& field) {
        TypeRef type = type_of(field, is_set(field, "x-kubernetes-embedded-resource"), name + "." + cel::escape_property(property));
        if (!type) return;
        const bool needed = required.is_array() && std::ranges::find(required.as_array(), Value(property)) != required.as_array().end();
        // Defaults are filled in by the server: a request may leave them out.
        if (needed && at(field, "default").is_null()) smallest += static_cast<std::int64_t>(property.size()) + smallest_size(*type) + 4;
        object.add(property, std::move(type), needed);
    };
    const bool adds_own = is_resource && !describes_resource(schema);
    if (const Value& properties = at(schema, "properties"); properties.is_object()) {
        for (const schema::Member& property : properties.as_object()) {
            const bool own = property.key == "apiVersion" || property.key == "kind" || property.key == "metadata";
            if (!adds_own || !own) add(property.key, property.value);
        }
    }
    if (adds_own) {
        add("apiVersion", plain_text());
        add("kind", plain_text());
        add("metadata", plain_metadata());
    }
    TypeRef type = bounded(cel::types::object(object), 0);
    smallest_.emplace(type.get(), smallest);
    return type;
}

TypeRef SchemaTypes::text(const Value& schema) {
    const std::string_view format = at(schema, "format").string_or("");
    const auto longest = count(schema, "maxLength");
    if (format == "byte") return bounded(cel::types::bytes(), longest.value_or(LongestText));
    if (format == "duration") return bounded(cel::types::duration(), LongestTime);
    if (format == "date-time") return bounded(cel::types::timestamp(), LongestTime);
    if (format == "date") {
        TypeRef type = bounded(cel::types::timestamp(), DateSize);
        smallest_.emplace(type.get(), DateSize);
        return type;
    }
    if (longest) return bounded(cel::types::string(), bytes_for(*longest));
    const Value& choices = at(schema, "enum");
    const bool is_closed = choices.is_array() && !choices.as_array().empty();
    return bounded(cel::types::string(), is_closed ? longest_of(choices.as_array()) : LongestText);
}

}  // namespace porthole::apiserver
