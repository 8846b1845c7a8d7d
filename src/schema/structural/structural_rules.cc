#include "schema/structural/structural_rules.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "schema/path_step.h"
#include "schema/structural/schema_node.h"
#include "schema/structural/schema_validator.h"

namespace porthole::schema {
namespace {

constexpr std::string_view ListMapKeys = "x-kubernetes-list-map-keys", ListTypeName = "x-kubernetes-list-type",
                           MapTypeName = "x-kubernetes-map-type", Preserve = "x-kubernetes-preserve-unknown-fields",
                           Embedded = "x-kubernetes-embedded-resource", IntOrString = "x-kubernetes-int-or-string",
                           Validations = "x-kubernetes-validations";
constexpr const char* Combining[] = {"allOf", "anyOf", "oneOf"};

enum class Level { Root, Item, Field };

bool is_set(const Value& schema, std::string_view name) { return at(schema, name).bool_or(false); }
std::string_view text(const Value& schema, std::string_view name) { return at(schema, name).string_or(""); }
bool has_items(const Value& schema, std::string_view name) {
    const Value* list = schema.find(name);
    return list && list->is_array() && !list->as_array().empty();
}

/// `[{type: integer}, {type: string}]`, which says in words what x-kubernetes-int-or-string means.
bool is_int_or_string_pair(const Value& list) {
    static const Value pair = Value::array({Value::object({{"type", "integer"}}), Value::object({{"type", "string"}})});
    return list == pair;
}

/// The way to a node of the schema. Its text is made only when there is something to report, and counted then: a megabyte of names may lead
/// to ten thousands of nodes.
class Path {
public:
    Path(PathStep step, std::size_t& told) : step_(step), told_(told) {}
    Path child(std::string_view name) const { return {step_.child(name), told_}; }
    Path index(std::size_t position) const { return {step_.index(position), told_}; }
    Path key(std::string_view name) const { return {step_.key(name), told_}; }
    std::string text() const {
        std::string text = step_.text();
        told_ += text.size();
        return text;
    }
    operator FieldPath() const { return FieldPath(text()); }
    /// FieldErrors keeps no more.
    bool enough() const { return told_ > FieldErrors::MostBytes; }

private:
    PathStep step_;
    std::size_t& told_;
};

/// Required where the type is missing, Invalid where it is another.
void require_type(const Value& schema, const char* wanted, const std::string& why, const Path& path, FieldErrors& errors) {
    const std::string_view type = text(schema, "type");
    if (type == wanted) return;
    const std::string detail = std::string("must be ") + wanted + " if " + why;
    if (type.empty())
        errors.required(path.child("type"), detail);
    else
        errors.invalid(path.child("type"), type, detail);
}

class Rules {
public:
    Rules(SchemaPatterns& patterns, FieldErrors& errors) : patterns_(patterns), errors_(errors) {}

    void node(const Value& schema, Level level, const Path& path, int depth) {
        if (path.enough()) return;
        if (depth > DeepestSchema) return errors_.invalid(path, "", "the schema is nested too deeply");
        keywords(schema, path);
        type(schema, level, path);
        extensions(schema, path);
        list_extensions(schema, path);
        metadata(schema, level, path);
        if (level == Level::Root && is_set(schema, "nullable"))
            errors_.forbidden(path.child("nullable"), "nullable cannot be true at the root");
        if (level == Level::Root && schema.find("additionalProperties"))
            errors_.forbidden(path.child("additionalProperties"), "must not be used at the root");
        pattern(schema, path);
        combined(schema, path, depth, is_int_or_string_pair(at(schema, "anyOf")), first_is_pair(schema));
        for (const char* name : Combining) complete_list(at(schema, name), schema, path.child(name), path);
        if (const Value* negated = schema.find("not")) complete(*negated, schema, path.child("not"), path);

        if (const Value* items = schema.find("items"); items && items->is_object())
            node(*items, Level::Item, path.child("items"), depth + 1);
        if (const Value* other = schema.find("additionalProperties"); other && other->is_object())
            node(*other, Level::Field, path.child("additionalProperties"), depth + 1);
        each_property(schema, path,
                      [&](const std::string&, const Value& child, const Path& at) { node(child, Level::Field, at, depth + 1); });
    }

private:
    template <class Function>
    static void each_property(const Value& schema, const Path& path, Function function) {
        const Value* properties = schema.find("properties");
        if (!properties || !properties->is_object()) return;
        for (const Member& property : properties->as_object())
            function(property.key, property.value, path.child("properties").key(property.key));
    }

    static bool first_is_pair(const Value& schema) {
        const Value* all = schema.find("allOf");
        return all && all->is_array() && !all->as_array().empty() && is_int_or_string_pair(at(all->as_array().front(), "anyOf"));
    }

    /// What OpenAPI has and custom resources must not use.
    void keywords(const Value& schema, const Path& path) {
        for (const char* name : {"$ref", "id", "definitions", "dependencies", "patternProperties", "additionalItems"}) {
            const Value* found = schema.find(name);
            const bool empty = !found || found->is_null() || (found->is_string() && found->as_string().empty());
            if (!empty) errors_.forbidden(path.child(name), std::string(name) + " is not supported");
        }
        if (is_set(schema, "uniqueItems")) {
            errors_.forbidden(path.child("uniqueItems"),
                              "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
        }
        if (const Value* items = schema.find("items"); items && items->is_array())
            errors_.forbidden(path.child("items"), "items must be a schema object and not an array");
        const Value* other = schema.find("additionalProperties");
        const Value* properties = schema.find("properties");
        if (other && properties && properties->is_object() && !properties->as_object().empty() &&
            (other->is_object() || other->bool_or(false)))
            errors_.forbidden(path.child("additionalProperties"), "additionalProperties and properties are mutual exclusive");
        if (other && other->is_bool() && !other->as_bool())
            errors_.forbidden(path.child("additionalProperties"), "additionalProperties cannot be set to false");
    }

    void type(const Value& schema, Level level, const Path& path) {
        const std::string_view type = text(schema, "type");
        static constexpr std::string_view Types[] = {"array", "boolean", "integer", "number", "object", "string"};
        if (type == "null") {
            errors_.forbidden(path.child("type"), "type cannot be set to null, use nullable as an alternative");
        } else if (!type.empty() && std::ranges::find(Types, type) == std::end(Types)) {
            errors_.not_supported(path.child("type"), type, Types);
        }
        if (is_set(schema, Embedded)) {
            require_type(schema, "object", "x-kubernetes-embedded-resource is true", path, errors_);
        } else if (type.empty() && !is_set(schema, IntOrString) && !is_set(schema, Preserve)) {
            errors_.required(path.child("type"), level == Level::Root   ? "must not be empty at the root"
                                                 : level == Level::Item ? "must not be empty for specified array items"
                                                                        : "must not be empty for specified object fields");
        }
        if (level == Level::Root && !type.empty() && type != "object")
            errors_.invalid(path.child("type"), type, "must be object at the root");
        if (type == "array" && !schema.find("items")) errors_.required(path.child("items"), "must be specified");
    }

    void extensions(const Value& schema, const Path& path) {
        if (is_set(schema, IntOrString)) {
            for (const std::string_view name : {Preserve, Embedded})
                if (is_set(schema, name)) errors_.invalid(path.child(name), true, "must be false if x-kubernetes-int-or-string is true");
        }
        if (const Value* keeps = schema.find(Preserve); keeps && keeps->is_bool() && !keeps->as_bool())
            errors_.invalid(path.child(Preserve), false, "must be true or undefined");
        const Value* properties = schema.find("properties");
        if (is_set(schema, Embedded) && !is_set(schema, Preserve) && (!properties || properties->as_object().empty())) {
            errors_.required(path.child("properties"),
                             "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields");
        }
        if (is_set(schema, Embedded) && schema.find("additionalProperties"))
            errors_.forbidden(path.child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set");
        if (const std::string_view map_type = text(schema, MapTypeName); !map_type.empty()) {
            require_type(schema, "object", "x-kubernetes-map-type is specified", path, errors_);
            if (map_type != "atomic" && map_type != "granular")
                errors_.not_supported(path.child(MapTypeName), map_type, {"atomic", "granular"});
        }
    }

    void list_extensions(const Value& schema, const Path& path) {
        const std::string_view list_type = text(schema, ListTypeName);
        if (!list_type.empty()) {
            require_type(schema, "array", "x-kubernetes-list-type is specified", path, errors_);
            if (list_type != "atomic" && list_type != "map" && list_type != "set")
                errors_.not_supported(path.child(ListTypeName), list_type, {"atomic", "map", "set"});
        }
        if (has_items(schema, ListMapKeys) && list_type != "map") {
            constexpr const char* Why = "must be map if x-kubernetes-list-map-keys is non-empty";
            if (list_type.empty())
                errors_.required(path.child(ListTypeName), Why);
            else
                errors_.invalid(path.child(ListTypeName), list_type, Why);
        }
        if (list_type == "map") list_map(schema, path);
        if (list_type == "set") list_set(schema, path);
    }

    void list_map(const Value& schema, const Path& path) {
        if (!has_items(schema, ListMapKeys))
            errors_.required(path.child(ListMapKeys), "must not be empty if x-kubernetes-list-type is map");
        const Value* items = schema.find("items");
        if (!items || !items->is_object())
            return errors_.required(path.child("items"), "must have a schema if x-kubernetes-list-type is map");
        if (is_set(*items, "nullable"))
            errors_.forbidden(path.child("items").child("nullable"), "cannot be nullable when x-kubernetes-list-type is map");
        if (text(*items, "type") != "object") {
            errors_.invalid(path.child("items").child("type"), text(*items, "type"),
                            "must be object if parent array's x-kubernetes-list-type is map");
        }
        if (has_items(schema, ListMapKeys)) keys(*schema.find(ListMapKeys), *items, path);
    }

    void keys(const Value& keys, const Value& items, const Path& path) {
        std::set<std::string, std::less<>> seen, required;
        if (const Value& names = at(items, "required"); names.is_array())
            for (const Value& name : names.as_array()) required.emplace(name.string_or(""));
        for (std::size_t i = 0; i < keys.as_array().size(); ++i) {
            const std::string key(keys.as_array()[i].string_or(""));
            if (!seen.insert(key).second) errors_.duplicate(path.child(ListMapKeys).index(i), key);
            const Value* property = items.at_path({"properties", key});
            if (!property) {
                errors_.invalid(path.child(ListMapKeys).index(i), key, "entries must all be names of item properties");
                continue;
            }
            const Path at_items = path.child("items"), at_properties = at_items.child("properties"), at_property = at_properties.key(key);
            const std::string_view type = text(*property, "type");
            if (type == "array" || type == "object")
                errors_.invalid(at_property.child("type"), type, "must be a scalar type if parent array's x-kubernetes-list-type is map");
            if (is_set(*property, "nullable"))
                errors_.forbidden(at_property.child("nullable"), "cannot be nullable as it is in x-kubernetes-list-map-keys");
            if (!property->find("default") && !required.contains(key)) {
                errors_.required(at_property.child("default"),
                                 "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property");
            }
        }
    }

    void list_set(const Value& schema, const Path& path) {
        const Value* items = schema.find("items");
        if (!items || !items->is_object()) return;
        const Path below = path.child("items");
        if (is_set(*items, "nullable")) errors_.forbidden(below.child("nullable"), "cannot be nullable when x-kubernetes-list-type is set");
        constexpr const char* Why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        const std::string_view type = text(*items, "type");
        const std::string_view name = type == "object" ? MapTypeName : type == "array" ? ListTypeName : std::string_view();
        if (name.empty()) return;
        const std::string_view kind = text(*items, name);
        const bool atomic = kind == "atomic" || (type == "array" && kind.empty());
        if (atomic) return;
        if (kind.empty())
            errors_.required(below.child(name), Why);
        else
            errors_.invalid(below.child(name), kind, Why);
    }

    /// The metadata of a resource is known; a schema may only say what its names look like.
    void metadata(const Value& schema, Level level, const Path& path) {
        if (level != Level::Root && !is_set(schema, Embedded)) return;
        for (const char* name : {"apiVersion", "kind"}) {
            const Value* property = schema.at_path({"properties", name});
            if (property && text(*property, "type") != "string")
                errors_.invalid(path.child("properties").key(name).child("type"), text(*property, "type"), "must be string");
        }
        const Value* metadata = schema.at_path({"properties", "metadata"});
        if (!metadata) return;
        const Path at_properties = path.child("properties"), at_metadata = at_properties.key("metadata");
        if (text(*metadata, "type") != "object") errors_.invalid(at_metadata.child("type"), text(*metadata, "type"), "must be object");
        if (level != Level::Root) return;
        bool more = false;
        for (const Member& member : metadata->as_object())
            more = more || (member.key != "type" && member.key != "properties" && member.key != "description");
        each_property(*metadata, at_metadata, [&](const std::string& name, const Value&, const Path&) {
            more = more || (name != "name" && name != "generateName");
        });
        if (more) {
            errors_.forbidden(at_metadata,
                              "must not specify anything other than name and generateName, but metadata is implicitly specified");
        }
    }

    void pattern(const Value& schema, const Path& path) {
        const std::string_view pattern = text(schema, "pattern");
        if (pattern.empty()) return;
        const auto regex = patterns_.compile(pattern);
        if (regex) return;
        if (regex.error().reason != Reason::Invalid)
            errors_.invalid(path.child("pattern"), pattern, "must be a valid regular expression, but isn't: " + regex.error().message);
        else if (!std::exchange(too_complex_, true))
            errors_.forbidden(path.child("pattern"), regex.error().message);
    }

    // --- What is combined may restrict values, and describe nothing new ---

    void combined(const Value& schema, const Path& path, int depth, bool skips_any_of, bool skips_first_any_of) {
        for (const char* name : Combining) {
            const Value* list = schema.find(name);
            if (!list || !list->is_array() || (skips_any_of && name == Combining[1])) continue;
            for (std::size_t i = 0; i < list->as_array().size(); ++i) {
                const bool skips = skips_first_any_of && name == Combining[0] && i == 0;
                nested(list->as_array()[i], path.child(name).index(i), depth + 1, skips);
            }
        }
        if (const Value* negated = schema.find("not")) nested(*negated, path.child("not"), depth + 1, false);
    }

    void nested(const Value& schema, const Path& path, int depth, bool skips_any_of) {
        if (path.enough()) return;
        if (depth > DeepestSchema) return errors_.invalid(path, "", "the schema is nested too deeply");
        pattern(schema, path);
        keywords(schema, path);
        combined(schema, path, depth, skips_any_of, false);
        if (const Value* items = schema.find("items"); items && items->is_object()) nested(*items, path.child("items"), depth + 1, false);
        each_property(schema, path, [&](const std::string&, const Value& child, const Path& at) { nested(child, at, depth + 1, false); });
        for (const std::string_view name : {std::string_view("type"), std::string_view("title"), std::string_view("description")})
            if (!text(schema, name).empty()) errors_.forbidden(path.child(name), "must be empty to be structural");
        for (const std::string_view name :
             {std::string_view("additionalProperties"), std::string_view("default"), ListTypeName, MapTypeName})
            if (schema.find(name)) errors_.forbidden(path.child(name), "must be undefined to be structural");
        for (const std::string_view name : {std::string_view("nullable"), Preserve, Embedded, IntOrString})
            if (is_set(schema, name)) errors_.forbidden(path.child(name), "must be false to be structural");
        for (const std::string_view name : {ListMapKeys, Validations})
            if (has_items(schema, name)) errors_.forbidden(path.child(name), "must be empty to be structural");
        if (schema.at_path({"properties", "metadata"}))
            errors_.forbidden(path.child("properties").key("metadata"), "must not be specified in a nested context");
    }

    void complete_list(const Value& list, const Value& described, const Path& path, const Path& where) {
        if (!list.is_array()) return;
        for (std::size_t i = 0; i < list.as_array().size(); ++i) complete(list.as_array()[i], described, path.index(i), where);
    }

    /// Everything that `schema` speaks of must be described in `described`, at `where`.
    void complete(const Value& schema, const Value& described, const Path& path, const Path& where) {
        if (path.enough()) return;
        for (const char* name : Combining) complete_list(at(schema, name), described, path.child(name), where);
        if (const Value* negated = schema.find("not")) complete(*negated, described, path.child("not"), where);
        if (const Value* items = schema.find("items"); items && items->is_object()) {
            const Value* found = described.find("items");
            if (found)
                complete(*items, *found, path.child("items"), where.child("items"));
            else
                errors_.required(where.child("items"), "because it is defined in " + path.child("items").text());
        }
        each_property(schema, path, [&](const std::string& name, const Value& child, const Path& at) {
            const Path properties = where.child("properties"), there = properties.key(name);
            if (const Value* found = described.at_path({"properties", name}))
                complete(child, *found, at, there);
            else
                errors_.required(there, "because it is defined in " + at.text());
        });
    }

    SchemaPatterns& patterns_;
    FieldErrors& errors_;
    bool too_complex_ = false;  ///< and reported
};

/// Defaults are values of their own schemas.
class DefaultRules {
public:
    explicit DefaultRules(FieldErrors& errors) : errors_(errors) {}

    /// `node` is what the schema was compiled to.
    void node(const Value& schema, const SchemaNode& node, const Path& path, bool top) {
        if (path.enough()) return;
        if (const Value* value = schema.find("default"); value && !value->is_null()) check(*value, node, path.child("default"), top);
        if (node.items) this->node(*schema.find("items"), *node.items, path.child("items"), false);
        if (node.additional_properties)
            this->node(*schema.find("additionalProperties"), *node.additional_properties, path.child("additionalProperties"), false);
        const Path properties = path.child("properties");
        for (const SchemaNode::Property& property : node.properties) {
            const Value& below = *schema.at_path({"properties", property.name});
            const Path at = properties.key(property.name);
            if (top && property.name == "metadata" && below.find("default"))
                errors_.forbidden(at.child("default"), "must not be set");
            else
                this->node(below, *property.schema, at, false);
        }
    }

private:
    void check(const Value& value, const SchemaNode& node, const Path& path, bool top) {
        if (top) return errors_.forbidden(path, "must not be set");
        if (visits_ == 0) return;
        FieldErrors found;
        validate_by_node(value, node, visits_, found);
        if (visits_ == 0) return errors_.forbidden(path, "the defaults are too large to be checked against their schemas");
        for (const Cause& cause : found.causes())
            errors_.invalid(cause.field.empty() || cause.field == "<nil>" ? FieldPath(path) : FieldPath(path.text() + "." + cause.field),
                            value, cause.message);
    }

    FieldErrors& errors_;
    std::size_t visits_ = MostVisits;  ///< of all defaults
};

}  // namespace

void validate_structural_schema(const Value& schema, const FieldPath& path, SchemaPatterns& patterns, FieldErrors& errors) {
    std::size_t told = 0;
    const Path root(PathStep::root(path.text()), told);
    Rules(patterns, errors).node(schema, Level::Root, root, 0);
    if (!errors.empty()) return;
    const auto compiled = SchemaNode::compile(schema, patterns);
    if (!compiled) return errors.invalid(path, "", compiled.error().message);
    DefaultRules(errors).node(schema, **compiled, root, true);
}

bool has_validation_rules(const Value& schema) {
    if (schema.is_array()) return std::ranges::any_of(schema.as_array(), has_validation_rules);
    if (!schema.is_object()) return false;
    return has_items(schema, Validations) ||
           std::ranges::any_of(schema.as_object(), [](const Member& member) { return has_validation_rules(member.value); });
}

}  // namespace porthole::schema
