#pragma once
#include <functional>
#include <string>

#include "schema/openapi/schema_objects.h"

namespace porthole::schema {

/// Builds the path items of resources: for each path, the input and output of each method. Borrows both references; `schemas` records the
/// definitions that the items refer to.
class PathItems {
public:
    PathItems(Dialect dialect, const Registry& registry, SchemaObjects& schemas)
        : dialect_(dialect), registry_(registry), schemas_(schemas) {}

    using Visitor = std::function<void(const std::string& path, Value item)>;
    /// All paths of a resource and its subresources.
    void visit(const Kind& kind, const Visitor& visitor);

private:
    struct Operation;
    void visit_subresource(const Kind& kind, const Subresource& subresource, const std::string& path, const Visitor& visitor);
    Value operation(const Operation& operation);
    Value parameter(std::string_view name, std::string_view place);
    Value path_parameters(const Operation& operation);
    void add_body(Value& result, const Operation& operation);
    Value responses(const Operation& operation);
    Value answer(std::string_view description, Value schema);

    Dialect dialect_;
    const Registry& registry_;
    SchemaObjects& schemas_;
};

}  // namespace porthole::schema
