#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// The deepest nesting of a schema: objects that it describes must fit into the limit of what is read.
inline constexpr int DeepestSchema = 200;

/// Owns tables made at run time, for custom resources, and everything that they point to. Rows do not move until this is destroyed; a
/// Registry that points to them must drop them before. Not thread-safe while adding.
class OwnedTypes {
public:
    OwnedTypes() = default;
    OwnedTypes(const OwnedTypes&) = delete;
    OwnedTypes& operator=(const OwnedTypes&) = delete;

    /// The type of an object from its structural OpenAPI v3 schema (`openAPIV3Schema` of a definition's version). `metadata` is always
    /// `object_meta`, whatever the schema contains, also in embedded resources. Rows describe the structure; SchemaValidator checks the
    /// values. Error: Invalid, for a schema that is not structural.
    Result<const Type*> add_resource(std::string_view name, const Value& schema, const Type& object_meta);

    /// Stores a text for a Kind or a Column.
    std::string_view keep(std::string_view text);
    std::span<const std::string_view> keep_list(const std::vector<std::string>& texts);
    template <class Row>
    std::span<const Row> keep_rows(std::vector<Row> rows);
    Kind& add_kind() { return kinds_.emplace_back(); }

private:
    friend class OpenApiReader;
    template <class Row>
    std::deque<std::vector<Row>>& store();

    std::deque<std::string> texts_;
    std::deque<std::vector<std::string_view>> lists_;
    std::deque<std::vector<Field>> fields_;
    std::deque<std::vector<std::uint16_t>> orders_;
    std::deque<std::vector<Subresource>> subresources_;
    std::deque<std::vector<Column>> columns_;
    std::deque<Field> elements_;
    std::deque<FieldNotes> notes_;
    std::deque<Type> types_;
    std::deque<Kind> kinds_;
};

template <>
inline std::deque<std::vector<Subresource>>& OwnedTypes::store<Subresource>() {
    return subresources_;
}
template <>
inline std::deque<std::vector<Column>>& OwnedTypes::store<Column>() {
    return columns_;
}
template <class Row>
std::span<const Row> OwnedTypes::keep_rows(std::vector<Row> rows) {
    return store<Row>().emplace_back(std::move(rows));
}

}  // namespace porthole::schema
