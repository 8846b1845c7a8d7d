#include "cel/values/type.h"

#include <algorithm>
#include <array>

namespace porthole::cel {
namespace {

TypeRef simple(TypeKind kind, const char* name) {
    Type type;
    type.kind = kind;
    type.name = name;
    return std::make_shared<const Type>(std::move(type));
}

TypeRef compound(TypeKind kind, std::string name, std::vector<TypeRef> parameters) {
    Type type;
    type.kind = kind;
    type.name = std::move(name);
    type.is_generic = kind == TypeKind::Parameter;
    return types::with_parameters(type, std::move(parameters));
}

constexpr bool is_name_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Words of the language that upstream escapes as names of properties.
constexpr std::array<std::string_view, 21> Reserved = {"true",     "false",   "null",      "in",       "as",  "break",  "const",
                                                       "continue", "else",    "for",       "function", "if",  "import", "let",
                                                       "loop",     "package", "namespace", "return",   "var", "void",   "while"};

}  // namespace

bool Type::operator==(const Type& other) const {
    if (this == &other) return true;
    return size == other.size && kind == other.kind && name == other.name &&
           std::ranges::equal(parameters, other.parameters, [](const TypeRef& a, const TypeRef& b) { return *a == *b; });
}

std::string Type::to_string() const {
    switch (kind) {
        case TypeKind::Error:
            return "!error!";
        case TypeKind::Null:
            return "null";
        case TypeKind::Timestamp:
            return "timestamp";
        case TypeKind::Duration:
            return "duration";
        default:
            break;
    }
    if (parameters.empty()) return name;
    std::string text = name + "(";
    for (const TypeRef& parameter : parameters) {
        if (&parameter != &parameters.front()) text += ", ";
        text += parameter->to_string();
    }
    return text + ")";
}

const ObjectField* ObjectType::find(std::string_view field) const {
    static const ObjectField any{.name = {}, .property = {}, .type = types::dyn()};
    if (is_open) return &any;
    auto found = fields.find(field);
    // Since 1.31 a word of the language is a field's name, too: self.namespace.
    if (found == fields.end() && is_reserved(field)) found = fields.find(escape_property(field));
    return found == fields.end() ? nullptr : &found->second;
}

void ObjectType::add(std::string property, TypeRef type, bool required) {
    std::string escaped = escape_property(property);
    if (!escaped.empty()) add_named(std::move(escaped), std::move(property), std::move(type), required);
}

void ObjectType::add_named(std::string field, std::string property, TypeRef type, bool required) {
    by_property.insert_or_assign(property, field);
    ObjectField entry{field, std::move(property), std::move(type), required};
    fields.insert_or_assign(std::move(field), std::move(entry));
}

ObjectType& ObjectTypes::declare(const std::string& name) {
    std::unique_ptr<ObjectType>& type = types_[name];
    if (!type) {
        type = std::make_unique<ObjectType>();
        type->name = name;
    }
    return *type;
}

void ObjectTypes::declare_open(const std::string& name) {
    declare(name).is_open = true;
    open_prefix_ = name + ".";
}

const ObjectType* ObjectTypes::find(std::string_view name) const {
    const auto found = types_.find(name);
    if (found != types_.end()) return found->second.get();
    if (open_prefix_.empty() || !name.starts_with(open_prefix_)) return nullptr;
    auto made = std::make_unique<ObjectType>();
    made->name = name;
    made->is_open = true;
    return (types_[made->name] = std::move(made)).get();
}

namespace types {

#define PORTHOLE_CEL_SIMPLE(function, kind, name)                 \
    TypeRef function() {                                          \
        static const TypeRef type = simple(TypeKind::kind, name); \
        return type;                                              \
    }
PORTHOLE_CEL_SIMPLE(error, Error, "!error!")
PORTHOLE_CEL_SIMPLE(dyn, Dyn, "dyn")
PORTHOLE_CEL_SIMPLE(null, Null, "null_type")
PORTHOLE_CEL_SIMPLE(boolean, Bool, "bool")
PORTHOLE_CEL_SIMPLE(integer, Int, "int")
PORTHOLE_CEL_SIMPLE(unsigned_integer, Uint, "uint")
PORTHOLE_CEL_SIMPLE(real, Double, "double")
PORTHOLE_CEL_SIMPLE(string, String, "string")
PORTHOLE_CEL_SIMPLE(bytes, Bytes, "bytes")
PORTHOLE_CEL_SIMPLE(timestamp, Timestamp, "google.protobuf.Timestamp")
PORTHOLE_CEL_SIMPLE(duration, Duration, "google.protobuf.Duration")
#undef PORTHOLE_CEL_SIMPLE

TypeRef list(TypeRef element) { return compound(TypeKind::List, "list", {std::move(element)}); }
TypeRef map(TypeRef key, TypeRef value) { return compound(TypeKind::Map, "map", {std::move(key), std::move(value)}); }
TypeRef optional(TypeRef value) { return compound(TypeKind::Opaque, "optional_type", {std::move(value)}); }
TypeRef type_of(TypeRef type) {
    return compound(TypeKind::TypeType, "type", type ? std::vector<TypeRef>{std::move(type)} : std::vector<TypeRef>{});
}
TypeRef parameter(std::string name) { return compound(TypeKind::Parameter, std::move(name), {}); }
TypeRef opaque(std::string name, std::vector<TypeRef> parameters) {
    return compound(TypeKind::Opaque, std::move(name), std::move(parameters));
}

TypeRef object(const ObjectType& object) {
    Type type;
    type.kind = TypeKind::Object;
    type.name = object.name;
    type.object = &object;
    return std::make_shared<const Type>(std::move(type));
}

TypeRef with_parameters(const Type& type, std::vector<TypeRef> parameters) {
    Type copy = type;
    copy.size = 1;
    copy.is_generic = type.is(TypeKind::Parameter);
    for (const TypeRef& parameter : parameters) {
        if (__builtin_add_overflow(copy.size, parameter->size, &copy.size)) copy.size = UINT64_MAX;
        copy.is_generic = copy.is_generic || parameter->is_generic;
    }
    copy.parameters = std::move(parameters);
    return std::make_shared<const Type>(std::move(copy));
}

TypeRef bounded(const TypeRef& type, std::uint64_t max_size) {
    Type copy = *type;
    copy.max_size = max_size;
    return std::make_shared<const Type>(std::move(copy));
}

TypeRef any(std::uint64_t max_size) {
    Type type = *dyn();
    type.name = "any";
    type.max_size = max_size;
    return std::make_shared<const Type>(std::move(type));
}

TypeRef list_of(TypeRef element, ListSemantics semantics, std::vector<std::string> keys, std::uint64_t max_size) {
    Type type = *list(std::move(element));
    type.list = semantics;
    type.list_keys = std::move(keys);
    type.max_size = max_size;
    return std::make_shared<const Type>(std::move(type));
}

}  // namespace types

bool is_reserved(std::string_view word) { return std::ranges::find(Reserved, word) != Reserved.end(); }

std::string escape_property(std::string_view property) {
    if (property.empty()) return {};
    if (is_reserved(property)) return "__" + std::string(property) + "__";
    if (!is_name_letter(property.front()) && property.front() != '_') return {};
    std::string escaped;
    for (std::size_t i = 0; i < property.size(); ++i) {
        const char c = property[i];
        if (c == '_' && i + 1 < property.size() && property[i + 1] == '_') {
            escaped += "__underscores__";
            ++i;
        } else if (c == '.') {
            escaped += "__dot__";
        } else if (c == '-') {
            escaped += "__dash__";
        } else if (c == '/') {
            escaped += "__slash__";
        } else if (c == '_' || is_name_letter(c) || (c >= '0' && c <= '9')) {
            escaped += c;
        } else {
            return {};
        }
    }
    return escaped;
}

}  // namespace porthole::cel
