#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/regex.h"
#include "base/result.h"
#include "schema/fields/owned_types.h"
#include "schema/structural/schema_patterns.h"
#include "schema/structural/string_formats.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// A compiled schema: one node of the tree that SchemaValidator walks.
struct SchemaNode {
    using Ptr = std::unique_ptr<const SchemaNode>;
    struct Property {
        std::string name;
        Ptr schema;
    };

    /// Rules that few nodes have, stored separately: definitions have tens of thousands of nodes.
    struct ValueRules {
        std::string format;
        StringFormat string_format = nullptr;
        std::optional<double> minimum, maximum, multiple_of;
        bool exclusive_minimum = false, exclusive_maximum = false;
        std::optional<std::int64_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
        std::string pattern;
        std::optional<Regex> regex;
        Array enumeration;
        std::vector<Ptr> all_of, any_of, one_of;
        Ptr not_;
    };

    std::string type;  ///< "" for any
    bool nullable = false, int_or_string = false, embedded_resource = false;
    ListType list_type = ListType::Atomic;
    std::vector<std::string> required, list_keys;
    std::vector<Property> properties;  ///< sorted by name
    Ptr additional_properties, items;
    std::unique_ptr<const ValueRules> rules;  ///< nullptr if there are none

    const SchemaNode* find_property(std::string_view name) const;
    /// Error: Invalid for a schema that is nested too deeply, or whose patterns are too complex; BadRequest for an invalid regular
    /// expression.
    static Result<Ptr> compile(const Value& schema, SchemaPatterns& patterns);
};

}  // namespace porthole::schema
