#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/registry.h"
#include "schema/value.h"

namespace porthole::schema {

/// The two versions of OpenAPI differ in where definitions are, and in what may be next to a reference.
enum class Dialect { V2, V3 };

/// The OpenAPI schema of a type made at run time; nullopt if it has none.
using RunTimeSchemas = std::function<std::optional<Value>(const Type&)>;

/// Builds schema objects of types, and records which definitions they refer to until all have been written. `registry` and its kinds must
/// outlive it.
class SchemaObjects {
public:
    /// Types for which `run_time` returns a schema are published with that schema; it may be empty.
    SchemaObjects(Dialect dialect, const Registry& registry, RunTimeSchemas run_time = {});

    /// A reference to the definition of a struct, or of a resource's own type.
    Value reference(const Type& type);
    Value reference(const Kind& kind);
    /// The list type of a kind; generated if the registry has none.
    Value list_reference(const Kind& kind);
    Value patch_reference();

    /// Visits each definition that was referred to, including those that definitions refer to. The group of a custom resource can be such
    /// that two definitions have the same name; the later one is then renamed NAME_v2 (_v3, …), as those of other servers are.
    void visit_definitions(const std::function<void(const std::string& name, const Value& schema)>& visit);

private:
    struct Definition {
        const Type* type = nullptr;
        const Kind* list_of = nullptr;  ///< the generated list of a custom kind
        Value literal;                  ///< a named scalar
    };
    using Meaning = std::pair<const Type*, const Kind*>;  ///< neither: a scalar, which has one meaning by its name
    Value reference_to(const std::string& wanted, Definition definition);
    Value struct_schema(const Type& type);
    Value published_schema(const Value& schema, bool is_resource);
    Value list_schema(const Kind& kind);
    Value member_schema(const Field& field, bool run_time);
    Value value_schema(const Field& field, bool run_time);
    Value single_schema(const Field& field, bool run_time);
    Value named_scalar(const char* name, Value schema);
    Value with_siblings(Value schema, const Field& field);
    std::string name_of(const Type& type) const;

    Dialect dialect_;
    const Registry& registry_;
    RunTimeSchemas run_time_;
    std::map<const Type*, std::vector<const Kind*>> kinds_;
    std::map<std::string, Definition> pending_;
    std::map<std::string, Meaning> known_;
};

/// The name of a custom resource's definition: "com.example.v1.Thing" for the kind Thing of v1.example.com.
std::string custom_definition_name(const Kind& kind);
/// The entry of `x-kubernetes-group-version-kind`.
Value group_version_kind(std::string_view group, std::string_view version, std::string_view kind);

}  // namespace porthole::schema
