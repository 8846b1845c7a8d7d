#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::schema {

struct Type;
struct Field;
struct Access;

/// How many values a field holds. Map keys are strings.
enum class Shape : std::uint8_t { Single, List, Map };

/// The type of one value of a field.
enum class Form : std::uint8_t {
    Bool,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Double,
    Enum,  ///< proto3 only: a number
    String,
    Bytes,  ///< base64 in JSON and in trees, raw in structs
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    Duration,  ///< nanoseconds; text such as "1h30m" in JSON
    Raw,       ///< RawExtension: any object
    Json,      ///< any JSON value
    FieldsV1,  ///< the field set of server-side apply, an object
    Struct,    ///< of the type `Field::type`
    Nested,    ///< a list or map, described by `Field::element`
};
/// Raw, Json and FieldsV1: a tree without a schema.
constexpr bool is_opaque(Form form) { return form == Form::Raw || form == Form::Json || form == Form::FieldsV1; }

/// How server-side apply merges a list.
enum class ListType : std::uint8_t { Atomic, Set, Map };

/// A named set of strings; if `closed`, other values are refused.
struct Enumeration {
    std::string_view name;
    std::span<const std::string_view> values;
    bool closed = false;
};

/// Bounds of a value. Unset ones have their default.
struct Limits {
    const double* minimum = nullptr;
    const double* maximum = nullptr;
    std::uint32_t min_length = 0, max_length = UINT32_MAX;  ///< bytes or characters of a string
    std::uint32_t min_items = 0, max_items = UINT32_MAX;    ///< of a list, or members of a map
    std::string_view pattern;                               ///< ECMA 262; "" for none
    std::string_view format;                                ///< OpenAPI's format, for example "int32"; "" for that of the form
};

/// Properties that few fields have, stored separately so that a Field stays small.
struct FieldNotes {
    std::string_view description;
    std::string_view default_json;  ///< JSON text; "" for none
    const Enumeration* enumeration = nullptr;
    const Limits* limits = nullptr;
    std::span<const std::string_view> list_keys;  ///< of a ListType::Map
    std::string_view merge_key;                   ///< of strategic merge patch
    std::string_view gate;                        ///< the feature gate that upstream ties the field to
    std::string_view type_name;                   ///< a named scalar or map, as "ResourceList"; "" if it has none
};

/// One field of a Type.
struct Field {
    enum Flag : std::uint32_t {
        Required = 1 << 0,   ///< must be there in a valid object
        OmitEmpty = 1 << 1,  ///< left out of JSON when zero or empty (but an empty struct is written)
        OmitZero = 1 << 2,   ///< left out of JSON when zero, a struct too
        Pointer = 1 << 3,    ///< set-to-zero differs from not-set
        Immutable = 1 << 4,  ///< may not change after creation
        Deprecated = 1 << 5,
        PatchMerge = 1 << 6,        ///< strategic merge patch merges the list (by `merge_key`, or as a set)
        PatchRetainKeys = 1 << 7,   ///< strategic merge patch drops members that the patch does not name
        AtomicMap = 1 << 8,         ///< server-side apply owns the map or struct as a whole
        Inlined = 1 << 9,           ///< from an inlined struct: its protobuf number is one of that struct's message
        WrappedList = 1 << 10,      ///< protobuf wraps the list into a message {repeated items = 1}
        Nullable = 1 << 11,         ///< custom resources: null is a value
        Secret = 1 << 12,           ///< must never be logged
        Packed = 1 << 13,           ///< proto3 repeated scalars
        PreserveUnknown = 1 << 14,  ///< custom resources: nothing below is pruned
        MayBeEmpty = 1 << 15        ///< required, and yet may be empty
    };

    std::string_view name;     ///< JSON name
    std::uint32_t number = 0;  ///< protobuf field number; 0 if protobuf does not carry it
    std::uint32_t flags = 0;
    Shape shape = Shape::Single;
    Form form = Form::String;
    ListType list_type = ListType::Atomic;
    std::uint32_t offset = 0;           ///< of the member in the struct
    const Type* type = nullptr;         ///< Form::Struct
    const Field* element = nullptr;     ///< Form::Nested
    const Access* access = nullptr;     ///< how to reach into the member; nullptr for a plain one and in run-time types
    const FieldNotes* notes = nullptr;  ///< nullptr if there are none: use the functions below

    bool is(Flag flag) const { return (flags & flag) != 0; }
    bool is_list() const { return shape == Shape::List; }
    bool is_map() const { return shape == Shape::Map; }
    bool is_single() const { return shape == Shape::Single; }

    std::string_view description() const { return notes ? notes->description : std::string_view(); }
    std::string_view default_json() const { return notes ? notes->default_json : std::string_view(); }
    const Enumeration* enumeration() const { return notes ? notes->enumeration : nullptr; }
    const Limits* limits() const { return notes ? notes->limits : nullptr; }
    std::span<const std::string_view> list_keys() const { return notes ? notes->list_keys : std::span<const std::string_view>(); }
    std::string_view merge_key() const { return notes ? notes->merge_key : std::string_view(); }
    std::string_view gate() const { return notes ? notes->gate : std::string_view(); }
};

/// Where a type lives: one file of `api/`.
struct Package {
    std::string_view group;      ///< "apps", "" for core
    std::string_view version;    ///< "v1"
    std::string_view directory;  ///< "apps/v1": the prefix of references
    std::string_view openapi;    ///< "io.k8s.api.apps.v1": the prefix of definition names
};

/// A struct inlined into another: flat in JSON, a nested message in protobuf.
struct InlinedType {
    std::uint32_t number = 0;
    const Type* type = nullptr;
};

/// A struct of the API: its fields in the order in which they are written.
struct Type {
    enum Flag : std::uint32_t {
        Atomic = 1 << 0,            ///< server-side apply owns it as a whole
        PreserveUnknown = 1 << 1,   ///< custom resources: unknown members are kept
        EmbeddedResource = 1 << 2,  ///< custom resources: carries apiVersion, kind and metadata
        Union = 1 << 3,             ///< at most one of its fields should be set
        Proto3 = 1 << 4,
        Alternatives = 1 << 5,  ///< JSON shows the bare value of whichever field is set: a struct, a list or a bool
    };

    std::string_view name;  ///< "PodSpec"
    const Package* package = nullptr;
    std::string_view description;
    std::uint32_t flags = 0;
    std::span<const Field> fields;           ///< JSON's view: inlined structs are flattened into it
    std::span<const std::uint16_t> by_name;  ///< indices of `fields`, sorted by name
    std::span<const InlinedType> inlined;
    void* (*create)() = nullptr;  ///< a new struct; nullptr in run-time types, which have none (see Instance)
    void (*destroy)(void*) = nullptr;

    bool is(Flag flag) const { return (flags & flag) != 0; }
    const Field* find_field(std::string_view name) const;
    std::string openapi_name() const;  ///< "io.k8s.api.core.v1.PodSpec"
};

enum class Stage : std::uint8_t { Stable, Beta, Alpha };
/// Releases are minors of Kubernetes, "1.25"; "" if it has not happened.
struct Lifecycle {
    Stage stage = Stage::Stable;
    std::string_view introduced, deprecated, removed;
    std::string_view replacement;  ///< "storage.k8s.io/v1/VolumeAttributesClass"
};

/// A subresource with its own kind.
struct Subresource {
    std::string_view name;                  ///< "scale"
    std::string_view group, version, kind;  ///< of the body: autoscaling, v1, Scale
    std::span<const std::string_view> verbs;
};

/// A column of `kubectl get`.
struct Column {
    std::string_view name, type, format;  ///< type: string, integer, number, boolean or date; format "name" or ""
    std::string_view description;
    bool wide = false;  ///< only with `-o wide` (priority 1)
    /// The content: a path ".spec.replicas", with the text for an empty cell after "| "; or a function of the printer with its paths,
    /// "age(.metadata.creationTimestamp)".
    std::string_view cell;
};

/// A kind: a top-level type, with the properties that the API server needs.
struct Kind {
    enum Flag : std::uint32_t {
        Namespaced = 1 << 0,
        Resource = 1 << 1,   ///< served under `plural`; others are lists, options and replies
        List = 1 << 2,       ///< has `items`
        HasStatus = 1 << 3,  ///< has the subresource status
    };

    std::string_view group, version, kind, list_kind;
    std::string_view plural, singular;
    std::span<const std::string_view> short_names, categories, verbs;
    std::span<const Subresource> subresources;
    std::span<const Column> columns;
    std::string_view storage_group, storage_version;  ///< how it is stored; version "" if it is not
    std::string_view storage_hash;                    ///< as discovery shows it
    Lifecycle lifecycle;
    std::uint32_t flags = 0;
    const Type* type = nullptr;

    bool is(Flag flag) const { return (flags & flag) != 0; }
    bool namespaced() const { return is(Namespaced); }
    std::string api_version() const;  ///< "apps/v1", "v1"
    const Subresource* find_subresource(std::string_view name) const;
    bool has_verb(std::string_view verb) const;
};

/// "apps/v1" → {"apps", "v1"}; "v1" → {"", "v1"}.
struct GroupVersion {
    std::string_view group, version;
};
GroupVersion split_api_version(std::string_view api_version);
std::string join_api_version(std::string_view group, std::string_view version);

/// The table of a struct of the API.
template <class T>
const Type& type_of() {
    return T::schema_type();
}

/// Owns one struct whose type is known only at run time.
class Instance {
public:
    /// Requires: `type` is built in (has a struct).
    explicit Instance(const Type& type) : object_((CHECK(type.create), type.create()), type.destroy), type_(&type) {}

    const Type& type() const { return *type_; }
    void* get() { return object_.get(); }
    const void* get() const { return object_.get(); }

private:
    std::unique_ptr<void, void (*)(void*)> object_;
    const Type* type_;
};

}  // namespace porthole::schema
