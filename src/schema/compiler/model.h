#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The parsed schema text. Strings are words of the text.
namespace porthole::schemac {

/// A position in the text, for messages.
struct Place {
    std::string file;
    int line = 0;
};

/// A named set of values.
struct Enum {
    Place place;
    std::string name;
    bool closed = false;
    std::vector<std::string> values;
    std::vector<std::int32_t> numbers;  ///< proto3 only, one for each value
};

struct TypeDef;

enum class Shape { Single, List, Map };

/// A member of a struct.
struct Field {
    Place place;
    std::string description;
    std::uint32_t number = 0;
    std::string name;
    std::string type;  ///< "int32", "PodSpec", "meta/v1.ObjectMeta"
    Shape shape = Shape::Single;
    bool pointer = false;
    bool inlined = false;
    std::map<std::string, std::string> attributes;  ///< "default" → "1"; flags have an empty value

    // Found by the checker.
    const TypeDef* target = nullptr;
    const Enum* enumeration = nullptr;

    bool has(const std::string& attribute) const { return attributes.contains(attribute); }
    /// A struct that may be absent: its member is a schema::Box.
    bool is_boxed() const { return target && pointer && shape == Shape::Single; }
};

/// A column of `kubectl get`; see schema::Column.
struct Column {
    Place place;
    std::string name, type, format, cell;
    bool wide = false;
};

/// A subresource and the kind of its body.
struct Subresource {
    std::string name, kind;  ///< kind: "autoscaling/v1/Scale", "v1/Pod"
    std::vector<std::string> verbs;
};

struct Package;

/// A struct, a kind, or a named list of strings. References between types are pointers into the packages, which own them.
struct TypeDef {
    Place place;
    const Package* package = nullptr;
    std::string name, description;
    bool is_kind = false;
    bool string_list = false;  ///< `list X of string`
    std::vector<Field> fields;
    std::map<std::string, std::string> attributes;
    std::optional<std::vector<std::string>> verbs;
    std::vector<Subresource> subresources;
    std::vector<Column> columns;
    bool boxed = false;  ///< some field of some package boxes it; set by the checker

    bool has(const std::string& attribute) const { return attributes.contains(attribute); }
    std::string attribute(const std::string& name) const {
        const auto found = attributes.find(name);
        return found == attributes.end() ? "" : found->second;
    }
};

/// A method of a gRPC service.
struct Method {
    std::string name, request, response;
    bool server_stream = false, client_stream = false;
};

/// A gRPC service.
struct Service {
    Place place;
    std::string name;
    std::vector<Method> methods;
};

/// One file of `api/`.
struct Package {
    std::string file;
    std::string directory;  ///< "core/v1"
    std::string group, version, openapi;
    std::string proto3;  ///< the protobuf package of a gRPC interface, "" for Kubernetes' own
    std::vector<Enum> enums;
    std::vector<std::unique_ptr<TypeDef>> types;
    std::vector<Service> services;

    const TypeDef* find_type(const std::string& name) const {
        for (const auto& type : types)
            if (type->name == name) return type.get();
        return nullptr;
    }
    const Enum* find_enum(const std::string& name) const {
        for (const Enum& candidate : enums)
            if (candidate.name == name) return &candidate;
        return nullptr;
    }
};

/// Whether the word is a built-in scalar type of the language.
bool is_scalar(const std::string& type);

}  // namespace porthole::schemac
