#include "schema/fields/owned_types.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "schema/json/json.h"

namespace porthole::schema {
namespace {

bool flag(const Value& schema, std::string_view name) { return at(schema, name).bool_or(false); }

}  // namespace

/// Walks an OpenAPI schema and makes the rows.
class OpenApiReader {
public:
    OpenApiReader(OwnedTypes& owned, const Type& object_meta) : owned_(owned), object_meta_(object_meta) {}

    Result<const Type*> structure(std::string_view name, const Value& schema, bool is_root, int depth) {
        const bool is_resource = is_root || flag(schema, "x-kubernetes-embedded-resource");
        if (depth > DeepestSchema) return Error(Reason::Invalid, "the schema is nested too deeply");
        Type& type = owned_.types_.emplace_back();
        type.name = owned_.keep(name);
        if (flag(schema, "x-kubernetes-preserve-unknown-fields")) type.flags |= Type::PreserveUnknown;
        if (flag(schema, "x-kubernetes-embedded-resource")) type.flags |= Type::EmbeddedResource;
        if (at(schema, "x-kubernetes-map-type").string_or("") == "atomic") type.flags |= Type::Atomic;
        std::vector<Field> fields;
        if (const Value* properties = schema.find("properties"); properties && properties->is_object()) {
            const std::set<std::string_view> required = required_names(schema);
            for (const Member& property : properties->as_object()) {
                const bool of_resource = property.key == "metadata" || property.key == "apiVersion" || property.key == "kind";
                if (is_resource && of_resource) continue;
                TRY(Field field, describe(property.value, depth + 1));
                field.name = owned_.keep(property.key);
                if (required.contains(property.key)) field.flags |= Field::Required;
                fields.push_back(field);
            }
        }
        if (is_resource) {
            Field metadata;
            metadata.name = "metadata";
            metadata.form = Form::Struct;
            metadata.flags = is_root ? 0 : Field::Pointer;
            metadata.type = &object_meta_;
            fields.insert(fields.begin(), metadata);
        }
        if (fields.size() > UINT16_MAX) return Error(Reason::Invalid, "the schema has more than 65535 properties in one place");
        finish(type, std::move(fields));
        return &type;
    }

private:
    static std::set<std::string_view> required_names(const Value& schema) {
        std::set<std::string_view> names;
        if (const Value& required = at(schema, "required"); required.is_array())
            for (const Value& name : required.as_array()) names.insert(name.string_or(""));
        return names;
    }

    void finish(Type& type, std::vector<Field> fields) {
        std::vector<std::uint16_t> order(fields.size());
        std::iota(order.begin(), order.end(), std::uint16_t{0});
        std::sort(order.begin(), order.end(), [&](auto a, auto b) { return fields[a].name < fields[b].name; });
        type.fields = owned_.fields_.emplace_back(std::move(fields));
        type.by_name = owned_.orders_.emplace_back(std::move(order));
    }

    /// A field without its name.
    Result<Field> describe(const Value& schema, int depth) {
        if (depth > DeepestSchema) return Error(Reason::Invalid, "the schema is nested too deeply");
        Field field;
        // A default never replaces a zero that was sent, and nothing is written that was not there.
        field.flags = Field::OmitEmpty | Field::Pointer;
        if (flag(schema, "nullable")) field.flags |= Field::Nullable;
        TRY_VOID(shape(field, schema, depth));
        note(field, schema);
        return field;
    }

    Result<void> shape(Field& field, const Value& schema, int depth) {
        const std::string_view type = at(schema, "type").string_or("");
        if (flag(schema, "x-kubernetes-int-or-string")) {
            field.form = Form::IntOrString;
        } else if (type == "array") {
            field.shape = Shape::List;
            lists(field, schema);
            return elements(field, at(schema, "items"), depth);
        } else if (type == "object" || schema.find("properties")) {
            return object(field, schema, depth);
        } else if (type == "string") {
            field.form = Form::String;
        } else if (type == "integer") {
            field.form = at(schema, "format").string_or("") == "int32" ? Form::Int32 : Form::Int64;
        } else if (type == "number") {
            field.form = Form::Double;
        } else if (type == "boolean") {
            field.form = Form::Bool;
        } else if (type.empty()) {
            field.form = Form::Json;
            field.flags |= Field::PreserveUnknown;
        } else {
            return Error(Reason::Invalid, "unknown type \"" + std::string(type) + "\" in the schema");
        }
        return {};
    }

    Result<void> object(Field& field, const Value& schema, int depth) {
        if (at(schema, "x-kubernetes-map-type").string_or("") == "atomic") field.flags |= Field::AtomicMap;
        const Value* additional = schema.find("additionalProperties");
        const bool has_properties = schema.find("properties") || flag(schema, "x-kubernetes-embedded-resource");
        if (additional && additional->is_object() && !has_properties) {
            field.shape = Shape::Map;
            return elements(field, *additional, depth);
        }
        const bool anything = flag(schema, "x-kubernetes-preserve-unknown-fields") || (additional && additional->bool_or(false));
        if (anything && !has_properties) {
            field.form = Form::Raw;
            field.flags |= Field::PreserveUnknown;
            return {};
        }
        field.form = Form::Struct;
        TRY(field.type, structure("", schema, false, depth + 1));
        return {};
    }

    /// What a list or map holds; a list of lists goes by a field of its own.
    Result<void> elements(Field& field, const Value& schema, int depth) {
        TRY(Field element, describe(schema, depth + 1));
        if (element.is_single()) {
            field.form = element.form;
            field.type = element.type;
            return {};
        }
        field.form = Form::Nested;
        field.element = &owned_.elements_.emplace_back(element);
        return {};
    }

    void lists(Field& field, const Value& schema) {
        const std::string_view type = at(schema, "x-kubernetes-list-type").string_or("atomic");
        field.list_type = type == "map" ? ListType::Map : type == "set" ? ListType::Set : ListType::Atomic;
    }

    void note(Field& field, const Value& schema) {
        FieldNotes notes;
        if (const Value* value = schema.find("default"); value && !value->is_null()) notes.default_json = owned_.keep(to_json(*value));
        if (const Value* keys = schema.find("x-kubernetes-list-map-keys")) notes.list_keys = texts(*keys);
        if (!notes.default_json.empty() || !notes.list_keys.empty()) field.notes = &owned_.notes_.emplace_back(notes);
    }

    std::span<const std::string_view> texts(const Value& list) {
        std::vector<std::string> result;
        if (list.is_array())
            for (const Value& item : list.as_array())
                if (item.is_string()) result.push_back(item.as_string());
        return owned_.keep_list(result);
    }

    OwnedTypes& owned_;
    const Type& object_meta_;
};

Result<const Type*> OwnedTypes::add_resource(std::string_view name, const Value& schema, const Type& object_meta) {
    return OpenApiReader(*this, object_meta).structure(name, schema, true, 0);
}

std::string_view OwnedTypes::keep(std::string_view text) { return text.empty() ? std::string_view() : texts_.emplace_back(text); }

std::span<const std::string_view> OwnedTypes::keep_list(const std::vector<std::string>& texts) {
    std::vector<std::string_view> views;
    for (const std::string& text : texts) views.push_back(keep(text));
    return lists_.emplace_back(std::move(views));
}

}  // namespace porthole::schema
