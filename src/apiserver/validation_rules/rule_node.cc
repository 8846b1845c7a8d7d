#include "apiserver/validation_rules/rule_node.h"

#include <algorithm>

#include "apiserver/validation_rules/rule_field_path.h"

namespace porthole::apiserver {

using schema::SchemaNode;
using schema::Value;

namespace {

bool is_embedded(const Value& schema) { return schema::at(schema, "x-kubernetes-embedded-resource").bool_or(false); }

/// The type of a field. nullopt: rules below it are not evaluated, because expressions do not see it.
std::optional<cel::TypeRef> field_type(const RuleNode& node, const std::string& property, const Value& schema, SchemaTypes& types) {
    const std::string name = cel::escape_property(property);
    if (name.empty()) {
        // What has no name in expressions has rules of its own all the same.
        cel::TypeRef type = types.declare(schema, is_embedded(schema));
        return type ? std::optional(std::move(type)) : std::nullopt;
    }
    const cel::ObjectField* field = node.type && node.type->object ? node.type->object->find(name) : nullptr;
    return field ? std::optional(field->type) : std::nullopt;
}

/// The type of a list's items or a map's values.
cel::TypeRef element_type(const RuleNode& node) {
    return node.type && !node.type->parameters.empty() ? node.type->parameters.back() : nullptr;
}

}  // namespace

const RuleNode* RuleNode::find_property(std::string_view name) const {
    const auto found = std::ranges::lower_bound(properties, name, {}, &Property::name);
    return found == properties.end() || found->name != name ? nullptr : found->node.get();
}

const std::vector<CompiledRule>& RuleNode::compiled() const {
    if (!compiled_) {
        compiled_.emplace();
        cel::Work work(RuleCompilation);
        RuleEnvironments environments(type, work);
        for (const Rule& rule : rules)
            compiled_->push_back(compile_rule(rule.given, environments, RuleDialect::Stored, RuleDialect::Stored));
    }
    return *compiled_;
}

RuleNode::Ptr RuleNode::create(const Value& schema, const SchemaNode& compiled, cel::TypeRef type, SchemaTypes& types) {
    auto node = std::make_unique<RuleNode>();
    node->schema = &compiled;
    node->type = std::move(type);
    for (ValidationRule& rule : rules_of(schema)) {
        std::string path = rule.field_path.empty() ? "" : resolve_field_path(rule.field_path, schema).value_or("");
        node->rules.push_back({std::move(rule), std::move(path)});
    }
    for (const SchemaNode::Property& property : compiled.properties) {
        const Value& child = *schema.find("properties")->find(property.name);
        const auto child_type = field_type(*node, property.name, child, types);
        if (!child_type) continue;
        if (Ptr below = create(child, *property.schema, *child_type, types)) node->properties.push_back({property.name, std::move(below)});
    }
    if (compiled.additional_properties)
        node->additional_properties =
            create(*schema.find("additionalProperties"), *compiled.additional_properties, element_type(*node), types);
    if (compiled.items) node->items = create(*schema.find("items"), *compiled.items, element_type(*node), types);
    const bool has_rules = !node->rules.empty() || !node->properties.empty() || node->additional_properties || node->items;
    return has_rules ? std::move(node) : nullptr;
}

}  // namespace porthole::apiserver
