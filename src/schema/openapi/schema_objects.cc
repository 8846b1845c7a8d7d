#include "schema/openapi/schema_objects.h"

#include <algorithm>

#include "schema/json/json.h"

namespace porthole::schema {
namespace {

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

bool is_run_time(const Type& type) { return type.create == nullptr; }

Value strings(std::span<const std::string_view> texts) {
    Array array;
    for (const std::string_view text : texts) array.emplace_back(text);
    return array;
}

Value described(std::string_view description, Value schema) {
    schema["description"] = description;
    return schema;
}

Value typed(std::string_view type, std::string_view format = {}) {
    Value schema = Value::object({{"type", type}});
    if (!format.empty()) schema["format"] = format;
    return schema;
}

void add_limits(Value& schema, const Field& field) {
    const Limits* limits = field.limits();
    if (!limits) return;
    if (limits->minimum) schema["minimum"] = *limits->minimum;
    if (limits->maximum) schema["maximum"] = *limits->maximum;
    if (limits->min_length > 0) schema["minLength"] = limits->min_length;
    if (limits->max_length != UINT32_MAX) schema["maxLength"] = limits->max_length;
    if (!limits->pattern.empty()) schema["pattern"] = limits->pattern;
    if (!limits->format.empty()) schema["format"] = limits->format;
}

void add_list_facts(Value& schema, const Field& field) {
    if (field.is_list()) {
        const ListType type = field.list_type;
        schema["x-kubernetes-list-type"] = type == ListType::Map ? "map" : type == ListType::Set ? "set" : "atomic";
        if (type == ListType::Map) schema["x-kubernetes-list-map-keys"] = strings(field.list_keys());
    }
    if (!field.is_list() && field.is(Field::AtomicMap)) schema["x-kubernetes-map-type"] = "atomic";
    const bool merge = field.is(Field::PatchMerge), retain = field.is(Field::PatchRetainKeys);
    if (merge && !field.merge_key().empty()) schema["x-kubernetes-patch-merge-key"] = field.merge_key();
    if (merge || retain) schema["x-kubernetes-patch-strategy"] = merge && retain ? "merge,retainKeys" : merge ? "merge" : "retainKeys";
}

void add_type_members(Value& properties) {
    properties["apiVersion"] =
        described("APIVersion defines the version of the schema that this representation of an object follows.", typed("string"));
    properties["kind"] =
        described("Kind is the REST resource that this object represents, in CamelCase. It cannot be changed.", typed("string"));
}

/// The text of the field, or that of the metadata of all kinds, which the schema does not repeat. The conformance tests of kubectl look for
/// its words.
std::string_view description_of(const Field& field) {
    if (!field.description().empty() || field.name != "metadata" || !field.type) return field.description();
    return field.type->name == "ListMeta" ? "Data about the list, such as its version." : "Standard object's metadata.";
}

/// `list_kind` is "PodList". The schema does not describe lists, which differ in nothing else.
void describe_list(Value& schema, std::string_view list_kind) {
    schema["description"] = "A list of objects of the kind " + std::string(list_kind.substr(0, list_kind.rfind("List"))) + ".";
    schema["properties"]["items"]["description"] = "The objects.";
}

/// A client that knows no null would miss a member that may be null.
void drop_nullable_from_required(const Value& schema, Value& published) {
    Value* required = published.find("required");
    if (!required || !required->is_array()) return;
    std::erase_if(required->as_array(), [&](const Value& name) {
        const Value* property = schema.at_path({"properties", name.string_or("")});
        return property && at(*property, "nullable").bool_or(false);
    });
    if (required->as_array().empty()) published.erase("required");
}

}  // namespace

Value group_version_kind(std::string_view group, std::string_view version, std::string_view kind) {
    return Value::object({{"group", group}, {"kind", kind}, {"version", version}});
}

std::string custom_definition_name(const Kind& kind) {
    std::vector<std::string_view> parts;
    for (std::string_view rest = kind.group; !rest.empty();) {
        const std::size_t dot = rest.find('.');
        parts.push_back(rest.substr(0, dot));
        rest = dot == rest.npos ? std::string_view() : rest.substr(dot + 1);
    }
    std::string name;
    for (std::size_t i = parts.size(); i-- > 0;) name.append(parts[i]).append(".");
    return name.append(kind.version).append(".").append(kind.kind);
}

SchemaObjects::SchemaObjects(Dialect dialect, const Registry& registry, RunTimeSchemas run_time)
    : dialect_(dialect), registry_(registry), run_time_(std::move(run_time)) {
    for (const Kind* kind : registry.kinds()) {
        if (kind->type) kinds_[kind->type].push_back(kind);
    }
}

std::string SchemaObjects::name_of(const Type& type) const {
    if (type.package) return type.openapi_name();
    const auto found = kinds_.find(&type);
    return found == kinds_.end() ? std::string() : custom_definition_name(*found->second.front());
}

Value SchemaObjects::reference_to(const std::string& wanted, Definition definition) {
    std::string name = wanted;
    for (int number = 2;; ++number) {
        const auto [known, is_new] = known_.emplace(name, Meaning(definition.type, definition.list_of));
        if (is_new) pending_.emplace(name, std::move(definition));
        if (is_new || known->second == Meaning(definition.type, definition.list_of)) break;
        name = wanted + "_v" + std::to_string(number);
    }
    return Value::object({{"$ref", (dialect_ == Dialect::V2 ? "#/definitions/" : "#/components/schemas/") + name}});
}

Value SchemaObjects::reference(const Type& type) {
    std::string name = name_of(type);
    if (name.empty()) return struct_schema(type);  // a part of a custom resource
    return reference_to(name, {.type = &type});
}

Value SchemaObjects::reference(const Kind& kind) { return reference(*kind.type); }

Value SchemaObjects::list_reference(const Kind& kind) {
    const Kind* list = registry_.find_kind(kind.group, kind.version, kind.list_kind);
    if (list && list->type) return reference(*list);
    return reference_to(custom_definition_name(kind) + "List", {.list_of = &kind});
}

Value SchemaObjects::patch_reference() {
    return named_scalar(META "Patch", described("Changes to an object, in the form that the content type names.", typed("object")));
}

void SchemaObjects::visit_definitions(const std::function<void(const std::string& name, const Value& schema)>& visit) {
    while (!pending_.empty()) {
        const auto next = pending_.extract(pending_.begin());
        const Definition& pending = next.mapped();
        visit(next.key(), pending.type ? struct_schema(*pending.type) : pending.list_of ? list_schema(*pending.list_of) : pending.literal);
    }
}

Value SchemaObjects::named_scalar(const char* name, Value schema) { return reference_to(name, {.literal = std::move(schema)}); }

Value SchemaObjects::struct_schema(const Type& type) {
    Value schema = Value::object();
    const auto of_kinds = [&](const std::vector<const Kind*>& kinds) {
        Array list;
        for (const Kind* kind : kinds) list.push_back(group_version_kind(kind->group, kind->version, kind->kind));
        schema["x-kubernetes-group-version-kind"] = std::move(list);
    };
    if (const auto given = run_time_ && is_run_time(type) ? run_time_(type) : std::nullopt) {
        schema = published_schema(*given, true);
        if (const auto kinds = kinds_.find(&type); kinds != kinds_.end()) of_kinds(kinds->second);
        return schema;
    }
    if (!type.description.empty()) schema["description"] = type.description;
    if (type.is(Type::Alternatives)) return schema;  // any value
    schema["type"] = "object";
    Value properties = Value::object();
    const auto kinds = kinds_.find(&type);
    if (kinds != kinds_.end() || type.is(Type::EmbeddedResource)) add_type_members(properties);
    Array required;
    for (const Field& field : type.fields) {
        properties[field.name] = member_schema(field, is_run_time(type));
        if (field.is(Field::Required)) required.emplace_back(field.name);
    }
    if (!required.empty()) schema["required"] = std::move(required);
    if (!properties.as_object().empty()) schema["properties"] = std::move(properties);
    if (kinds != kinds_.end() && kinds->second.front()->is(Kind::List)) describe_list(schema, kinds->second.front()->kind);
    if (type.is(Type::Atomic)) schema["x-kubernetes-map-type"] = "atomic";
    if (type.is(Type::PreserveUnknown)) schema["x-kubernetes-preserve-unknown-fields"] = true;
    if (type.is(Type::EmbeddedResource)) schema["x-kubernetes-embedded-resource"] = true;
    if (kinds != kinds_.end()) of_kinds(kinds->second);
    return schema;
}

/// A structural schema as clients may read it. Version 2 has no words for what is combined, nor for null, and kubectl refuses unknown
/// members where it sees known ones: what could be wrong is left out.
Value SchemaObjects::published_schema(const Value& schema, bool is_resource) {
    Value published = Value::object();
    const bool v2 = dialect_ == Dialect::V2;
    const bool nullable = v2 && at(schema, "nullable").bool_or(false);
    const bool opens = v2 && at(schema, "x-kubernetes-preserve-unknown-fields").bool_or(false);
    // Whatever is said of its members, kubectl would refuse all others.
    if (opens && is_resource) return typed("object");
    const bool embedded = at(schema, "x-kubernetes-embedded-resource").bool_or(false);
    for (const Member& member : schema.as_object()) {
        const std::string& name = member.key;
        const bool combines = name == "allOf" || name == "anyOf" || name == "oneOf" || name == "not";
        if (v2 && (combines || name == "nullable")) continue;
        if (nullable && (name == "type" || name == "properties" || name == "items" || name == "additionalProperties" || name == "required"))
            continue;
        if (opens && (name == "properties" || name == "items")) continue;
        if ((name == "items" || name == "additionalProperties") && member.value.is_object()) {
            published[name] = published_schema(member.value, false);
        } else if (name == "properties" && member.value.is_object()) {
            Value& properties = published[name] = Value::object();
            for (const Member& property : member.value.as_object()) properties[property.key] = published_schema(property.value, false);
        } else {
            published[name] = member.value;
        }
    }
    if (v2) drop_nullable_from_required(schema, published);
    if (is_resource || (embedded && !opens)) {
        Value& properties = published["properties"];
        add_type_members(properties);
        const Kind* config_map = registry_.find_kind("v1", "ConfigMap");
        const Field* metadata = config_map && config_map->type ? config_map->type->find_field("metadata") : nullptr;
        properties["metadata"] = metadata && metadata->type ? member_schema(*metadata, false) : typed("object");
    }
    return published;
}

Value SchemaObjects::list_schema(const Kind& kind) {
    Value properties = Value::object();
    add_type_members(properties);
    properties["items"] = Value::object({{"type", "array"}, {"items", reference(kind)}});
    const Kind* some_list = registry_.find_kind("v1", "PodList");
    const Field* metadata = some_list && some_list->type ? some_list->type->find_field("metadata") : nullptr;
    properties["metadata"] = metadata && metadata->type ? member_schema(*metadata, false) : typed("object");
    Value schema =
        Value::object({{"type", "object"},
                       {"required", Value::array({"items"})},
                       {"properties", std::move(properties)},
                       {"x-kubernetes-group-version-kind", Value::array({group_version_kind(kind.group, kind.version, kind.list_kind)})}});
    describe_list(schema, kind.list_kind);
    return schema;
}

/// A member with what the field says about it as a member.
Value SchemaObjects::member_schema(const Field& field, bool run_time) {
    Value schema = value_schema(field, run_time);
    if (field.is_single() && !schema.find("$ref")) add_limits(schema, field);
    return with_siblings(std::move(schema), field);
}

Value SchemaObjects::with_siblings(Value schema, const Field& field) {
    Value siblings = Value::object();
    // `kubectl explain` does not look for it behind a reference.
    if (const std::string_view description = description_of(field); !description.empty()) siblings["description"] = description;
    if (!field.default_json().empty()) {
        if (auto parsed = parse_json(field.default_json())) siblings["default"] = std::move(*parsed);
    }
    if (const Enumeration* enumeration = field.enumeration(); enumeration && field.is_single() && enumeration->closed) {
        siblings["enum"] = strings(enumeration->values);
    }
    add_list_facts(siblings, field);
    if (siblings.as_object().empty()) return schema;
    // Readers of version 3 ignore what is next to a reference.
    if (dialect_ == Dialect::V3 && schema.find("$ref")) schema = Value::object({{"allOf", Value::array({std::move(schema)})}});
    for (Member& member : siblings.as_object()) schema[member.key] = std::move(member.value);
    return schema;
}

/// What the field holds: a list, a map or one value.
Value SchemaObjects::value_schema(const Field& field, bool run_time) {
    if (field.is_single()) return single_schema(field, run_time);
    Value element = field.form == Form::Nested ? member_schema(*field.element, run_time) : single_schema(field, run_time);
    Value schema = typed(field.is_list() ? "array" : "object");
    schema[field.is_list() ? "items" : "additionalProperties"] = std::move(element);
    return schema;
}

Value SchemaObjects::single_schema(const Field& field, bool run_time) {
    const bool v3 = dialect_ == Dialect::V3;
    const auto either = [](std::string_view first, std::string_view second) { return Value::array({typed(first), typed(second)}); };
    switch (field.form) {
        case Form::Bool:
            return typed("boolean");
        case Form::Int32:
            return typed("integer", "int32");
        case Form::Int64:
        case Form::Uint32:
        case Form::Uint64:
        case Form::Enum:
            return typed("integer", "int64");
        case Form::Double:
            return typed("number", "double");
        case Form::String:
            return typed("string");
        case Form::Bytes:
            return typed("string", "byte");
        case Form::Struct:
            return reference(*field.type);
        case Form::Nested:
            return member_schema(*field.element, run_time);
        case Form::Quantity:
            return named_scalar("io.k8s.apimachinery.pkg.api.resource.Quantity",
                                described("An amount, such as 500m, 2, 1.5Gi or 10G.",
                                          v3 ? Value::object({{"oneOf", either("string", "number")}}) : typed("string")));
        case Form::IntOrString:
            if (run_time) return Value::object({{"x-kubernetes-int-or-string", true}});
            return named_scalar("io.k8s.apimachinery.pkg.util.intstr.IntOrString",
                                described("An integer or a text, such as 80, http or 25%.",
                                          v3 ? Value::object({{"format", "int-or-string"}, {"oneOf", either("integer", "string")}})
                                             : typed("string", "int-or-string")));
        case Form::Time:
            return run_time ? typed("string", "date-time")
                            : named_scalar(META "Time", described("A time, to the second.", typed("string", "date-time")));
        case Form::MicroTime:
            return named_scalar(META "MicroTime", described("A time, to the microsecond.", typed("string", "date-time")));
        case Form::Duration:
            return named_scalar(META "Duration", described("A length of time, such as 1h30m or 10s.", typed("string")));
        case Form::FieldsV1:
            return named_scalar(
                META "FieldsV1",
                described("A set of fields as a tree: f:NAME is a field, k:KEYS and v:VALUE items of a list.", typed("object")));
        case Form::Raw:
            if (run_time) return typed("object");
            return named_scalar("io.k8s.apimachinery.pkg.runtime.RawExtension", described("Any object.", typed("object")));
        case Form::Json:
            if (run_time) return Value::object({{"x-kubernetes-preserve-unknown-fields", true}});
            return named_scalar("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
                                described("Any valid JSON value.", Value::object()));
    }
    return Value::object();
}

}  // namespace porthole::schema
