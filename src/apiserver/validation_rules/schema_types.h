#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "cel/values/type.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The size that upstream assumes for the largest request, whatever the server's own limit: costs are part of the API.
inline constexpr std::int64_t LargestRequest = 3 * 1024 * 1024;

/// The types of structural schemas' objects in expressions, with the sizes that limit the cost of expressions, as upstream derives them
/// (k8s.io/apiserver: pkg/cel/common/schemas.go). Owns the types: it outlives every use of them.
class SchemaTypes {
public:
    /// nullptr for parts that expressions do not see: x-kubernetes-preserve-unknown-fields without a type, and lists and maps of these. An
    /// object's field without a type is left out. A resource always has apiVersion, kind, metadata.name and metadata.generateName, even if
    /// the schema does not describe them. Requires: `schema` is structural.
    cel::TypeRef declare(const schema::Value& schema, bool is_resource);

    /// Bytes of JSON of the smallest value of a declared type.
    std::int64_t smallest_size(const cel::Type& type) const;

private:
    cel::TypeRef type_of(const schema::Value& schema, bool is_resource, const std::string& name);
    cel::TypeRef list(const schema::Value& schema, const std::string& name);
    cel::TypeRef map(const schema::Value& schema, const schema::Value& values, const std::string& name);
    cel::TypeRef object(const schema::Value& schema, bool is_resource, const std::string& name);
    cel::TypeRef text(const schema::Value& schema);

    cel::ObjectTypes objects_;
    std::unordered_map<const cel::Type*, std::int64_t> smallest_;  ///< of types whose kind does not determine it
    std::size_t declared_ = 0;
};

}  // namespace porthole::apiserver
