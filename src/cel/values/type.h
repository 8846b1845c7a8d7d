#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::cel {

struct Type;
struct ObjectType;
/// Types are immutable and shared. Object types are owned by an ObjectTypes, which must outlive every use.
using TypeRef = std::shared_ptr<const Type>;

enum class TypeKind : std::uint8_t {
    Error,  ///< of an expression with an issue: agrees with everything
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List,       ///< one parameter
    Map,        ///< two
    Object,     ///< named; `object` has its fields
    Opaque,     ///< named, with parameters: optional_type(T), net.IP
    TypeType,   ///< the type of a type
    Parameter,  ///< of a function's declaration, or not yet inferred
};

/// How equality and `+` treat a list of a Kubernetes object (x-kubernetes-list-type).
enum class ListSemantics : std::uint8_t { Atomic, Set, Map };

/// A type of the language, with additional facts from a Kubernetes schema.
struct Type {
    static constexpr std::uint64_t Unbounded = UINT64_MAX;

    TypeKind kind = TypeKind::Dyn;
    std::string name;  ///< "int", "list", "net.IP", "Object.spec", "A"
    std::vector<TypeRef> parameters;
    const ObjectType* object = nullptr;
    /// How many types it consists of; types are shared, and may so be larger than memory.
    std::uint64_t size = 1;
    bool is_generic = false;  ///< a Parameter, or has one

    /// The maximum number of elements, members, characters or bytes in the schema, for cost estimation; Unbounded if it has none. As
    /// upstream, numbers and booleans of a custom resource's schema have 0.
    std::uint64_t max_size = Unbounded;
    ListSemantics list = ListSemantics::Atomic;
    std::vector<std::string> list_keys;  ///< of ListSemantics::Map: JSON names

    bool is(TypeKind other) const { return kind == other; }
    bool is_dyn() const { return kind == TypeKind::Dyn; }
    bool is_any() const { return is_dyn() && name == "any"; }
    bool is_optional() const { return kind == TypeKind::Opaque && name == "optional_type"; }
    /// Whether name and parameters are equal. Takes up to `size` steps.
    bool operator==(const Type& other) const;
    /// As messages of the checker show it: "list(int)", "map(string, dyn)", "timestamp".
    std::string to_string() const;
};

/// A field of an object type: `name` is for expressions, `property` is the name in JSON. They differ if the property is not an identifier
/// (see escape_property).
struct ObjectField {
    std::string name;
    std::string property;
    TypeRef type;
    bool required = false;
};

/// A type with fixed fields, declared from a schema.
struct ObjectType {
    std::string name;  ///< "Object.spec.template"
    std::map<std::string, ObjectField, std::less<>> fields;
    std::map<std::string, std::string, std::less<>> by_property;  ///< property → name
    bool is_open = false;  ///< has every field, of type dyn, under the name that the object's JSON has

    const ObjectField* find(std::string_view name) const;
    /// The field gets its name by escape_property; a property that cannot have one is left out: expressions do not see it.
    void add(std::string property, TypeRef type, bool required = false);
    void add_named(std::string name, std::string property, TypeRef type, bool required = false);
};

/// Owns object types by name. They may refer to each other, including in cycles.
class ObjectTypes {
public:
    /// The type of that name, created empty where it is new.
    ObjectType& declare(const std::string& name);
    /// An open type, with open types below it: "Object" also declares "Object.spec" and "Object.spec.template" when an expression first
    /// names them. Expressions with open types are compiled by one thread at a time.
    void declare_open(const std::string& name);
    const ObjectType* find(std::string_view name) const;

private:
    mutable std::map<std::string, std::unique_ptr<ObjectType>, std::less<>> types_;
    std::string open_prefix_;  ///< of the names below the open type; "" if there is none
};

namespace types {
TypeRef error();
TypeRef dyn();
/// Like dyn, with a size limit that also applies to values selected by name from a map of it.
TypeRef any(std::uint64_t max_size);
TypeRef null();
TypeRef boolean();
TypeRef integer();
TypeRef unsigned_integer();
TypeRef real();
TypeRef string();
TypeRef bytes();
TypeRef timestamp();
TypeRef duration();
TypeRef list(TypeRef element);
TypeRef map(TypeRef key, TypeRef value);
TypeRef optional(TypeRef value);
TypeRef type_of(TypeRef type = nullptr);  ///< nullptr: of any type
TypeRef parameter(std::string name);
TypeRef opaque(std::string name, std::vector<TypeRef> parameters = {});
TypeRef object(const ObjectType& object);
/// A copy with other parameters.
TypeRef with_parameters(const Type& type, std::vector<TypeRef> parameters);
/// A copy with the schema's bound.
TypeRef bounded(const TypeRef& type, std::uint64_t max_size);
/// A list that equality and `+` treat as a set, or as a map by `keys`.
TypeRef list_of(TypeRef element, ListSemantics semantics, std::vector<std::string> keys, std::uint64_t max_size = Type::Unbounded);
}  // namespace types

/// Whether the word is reserved and so not an identifier: "in", "namespace".
bool is_reserved(std::string_view word);

/// The name by which expressions select a property, as Kubernetes escapes it: "a.b" is a__dot__b, "namespace" is __namespace__.
/// "" if it has none: a property that is not an identifier after escaping.
std::string escape_property(std::string_view property);

}  // namespace porthole::cel
