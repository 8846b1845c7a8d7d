#include "schema/structural/schema_node.h"

#include <algorithm>

#include "schema/json/json.h"

namespace porthole::schema {
namespace {

class Compiler {
public:
    explicit Compiler(SchemaPatterns& patterns) : patterns_(patterns) {}

    Result<SchemaNode::Ptr> node(const Value& schema, int depth) {
        if (depth > DeepestSchema) return Error(Reason::Invalid, "the schema is nested too deeply");
        auto made = std::make_unique<SchemaNode>();
        SchemaNode& node = *made;
        node.type = at(schema, "type").string_or("");
        node.nullable = at(schema, "nullable").bool_or(false);
        node.int_or_string = at(schema, "x-kubernetes-int-or-string").bool_or(false);
        node.embedded_resource = at(schema, "x-kubernetes-embedded-resource").bool_or(false);
        node.required = strings(schema, "required");
        const std::string_view list_type = at(schema, "x-kubernetes-list-type").string_or("");
        node.list_type = list_type == "map" ? ListType::Map : list_type == "set" ? ListType::Set : ListType::Atomic;
        node.list_keys = strings(schema, "x-kubernetes-list-map-keys");
        TRY(node.rules, rules(schema, depth));
        TRY_VOID(children(node, schema, depth));
        return SchemaNode::Ptr(std::move(made));
    }

private:
    static std::vector<std::string> strings(const Value& schema, std::string_view name) {
        std::vector<std::string> texts;
        if (const Value* list = schema.find(name); list && list->is_array())
            for (const Value& text : list->as_array()) texts.emplace_back(text.string_or(""));
        return texts;
    }

    Result<std::unique_ptr<const SchemaNode::ValueRules>> rules(const Value& schema, int depth) {
        constexpr const char* Words[] = {
            "format",        "minimum",       "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
            "minProperties", "maxProperties", "pattern", "enum",       "allOf",     "anyOf",     "oneOf",    "not"};
        if (std::ranges::none_of(Words, [&](const char* word) { return schema.find(word) != nullptr; })) return nullptr;
        auto made = std::make_unique<SchemaNode::ValueRules>();
        made->format = at(schema, "format").string_or("");
        made->string_format = find_string_format(made->format);
        bounds(*made, schema);
        if (const Value* values = schema.find("enum"); values && values->is_array()) made->enumeration = values->as_array();
        TRY_VOID(pattern(*made, schema));
        TRY_VOID(several(schema, "allOf", made->all_of, depth));
        TRY_VOID(several(schema, "anyOf", made->any_of, depth));
        TRY_VOID(several(schema, "oneOf", made->one_of, depth));
        TRY_VOID(single(schema, "not", made->not_, depth));
        return made;
    }

    static void bounds(SchemaNode::ValueRules& node, const Value& schema) {
        const auto number = [&](const char* name, std::optional<double>& bound) {
            if (const Value* value = schema.find(name); value && value->is_number()) bound = value->as_double();
        };
        const auto count = [&](const char* name, std::optional<std::int64_t>& bound) {
            if (const Value* value = schema.find(name); value && value->is_int()) bound = value->as_int();
        };
        number("minimum", node.minimum);
        number("maximum", node.maximum);
        number("multipleOf", node.multiple_of);
        node.exclusive_minimum = at(schema, "exclusiveMinimum").bool_or(false);
        node.exclusive_maximum = at(schema, "exclusiveMaximum").bool_or(false);
        count("minLength", node.min_length);
        count("maxLength", node.max_length);
        count("minItems", node.min_items);
        count("maxItems", node.max_items);
        count("minProperties", node.min_properties);
        count("maxProperties", node.max_properties);
    }

    Result<void> pattern(SchemaNode::ValueRules& node, const Value& schema) {
        node.pattern = at(schema, "pattern").string_or("");
        if (node.pattern.empty()) return {};
        TRY(node.regex, patterns_.compile(node.pattern));
        return {};
    }

    Result<void> children(SchemaNode& node, const Value& schema, int depth) {
        if (const Value* properties = schema.find("properties"); properties && properties->is_object()) {
            for (const Member& property : properties->as_object()) {
                TRY(SchemaNode::Ptr child, this->node(property.value, depth + 1));
                node.properties.push_back({property.key, std::move(child)});
            }
            std::ranges::sort(node.properties, {}, &SchemaNode::Property::name);
        }
        TRY_VOID(single(schema, "additionalProperties", node.additional_properties, depth));
        return single(schema, "items", node.items, depth);
    }

    Result<void> single(const Value& schema, std::string_view name, SchemaNode::Ptr& child, int depth) {
        const Value* found = schema.find(name);
        if (!found || !found->is_object()) return {};
        TRY(child, node(*found, depth + 1));
        return {};
    }

    Result<void> several(const Value& schema, std::string_view name, std::vector<SchemaNode::Ptr>& children, int depth) {
        const Value* list = schema.find(name);
        if (!list || !list->is_array()) return {};
        for (const Value& one : list->as_array()) {
            TRY(SchemaNode::Ptr child, node(one, depth + 1));
            children.push_back(std::move(child));
        }
        return {};
    }

    SchemaPatterns& patterns_;
};

}  // namespace

const SchemaNode* SchemaNode::find_property(std::string_view name) const {
    const auto found = std::ranges::lower_bound(properties, name, {}, &Property::name);
    return found == properties.end() || found->name != name ? nullptr : found->schema.get();
}

Result<SchemaNode::Ptr> SchemaNode::compile(const Value& schema, SchemaPatterns& patterns) { return Compiler(patterns).node(schema, 0); }

}  // namespace porthole::schema
