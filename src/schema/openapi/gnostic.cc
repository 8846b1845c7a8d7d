#include "schema/openapi/gnostic.h"

#include <protozero/pbf_writer.hpp>

#include "schema/json/json.h"

// Numbers are those of gnostic's OpenAPIv2.proto, message by message.

namespace porthole::schema {
namespace {

using Writer = protozero::pbf_writer;

/// An Any: its value as YAML, of which JSON is a part.
void write_any(Writer& parent, protozero::pbf_tag_type tag, const Value& value) {
    Writer any(parent, tag);
    any.add_string(2, to_json(value) + "\n");
}

void write_named_any(Writer& parent, protozero::pbf_tag_type tag, const std::string& name, const Value& value) {
    Writer pair(parent, tag);
    pair.add_string(1, name);
    write_any(pair, 2, value);
}

void write_extensions(Writer& parent, protozero::pbf_tag_type tag, const Value& object) {
    for (const Member& member : object.as_object()) {
        if (member.key.starts_with("x-")) write_named_any(parent, tag, member.key, member.value);
    }
}

void write_text(Writer& writer, protozero::pbf_tag_type tag, const Value& object, std::string_view key) {
    const std::string_view text = object.string_at({key});
    if (!text.empty()) writer.add_string(tag, text.data(), text.size());
}

void write_texts(Writer& writer, protozero::pbf_tag_type tag, const Value& object, std::string_view key) {
    const Value* list = object.find(key);
    if (!list || !list->is_array()) return;
    for (const Value& item : list->as_array()) writer.add_string(tag, item.as_string());
}

void write_flag(Writer& writer, protozero::pbf_tag_type tag, const Value& object, std::string_view key) {
    if (at(object, key).bool_or(false)) writer.add_bool(tag, true);
}

void write_number(Writer& writer, protozero::pbf_tag_type tag, const Value& object, std::string_view key) {
    const Value* number = object.find(key);
    if (number && number->is_int() && number->as_int() != 0) writer.add_int64(tag, number->as_int());
}

void write_double(Writer& writer, protozero::pbf_tag_type tag, const Value& object, std::string_view key) {
    const Value* number = object.find(key);
    if (number && number->is_number() && number->as_double() != 0) writer.add_double(tag, number->as_double());
}

void write_schema(Writer& schema, const Value& object);

void write_named_schema(Writer& parent, const std::string& name, const Value& object) {
    Writer pair(parent, 1);
    pair.add_string(1, name);
    Writer schema(pair, 2);
    write_schema(schema, object);
}

void write_schema(Writer& schema, const Value& object) {
    write_text(schema, 1, object, "$ref");
    write_text(schema, 2, object, "format");
    write_text(schema, 4, object, "description");
    if (const Value* value = object.find("default")) write_any(schema, 5, *value);
    write_double(schema, 7, object, "maximum");
    write_double(schema, 9, object, "minimum");
    write_number(schema, 11, object, "maxLength");
    write_number(schema, 12, object, "minLength");
    write_text(schema, 13, object, "pattern");
    write_texts(schema, 19, object, "required");
    if (const Value* values = object.find("enum")) {
        for (const Value& value : values->as_array()) write_any(schema, 20, value);
    }
    if (const Value* values = object.find("additionalProperties")) {
        Writer item(schema, 21);
        if (values->is_bool()) {
            item.add_bool(2, values->as_bool());
        } else {
            Writer inner(item, 1);
            write_schema(inner, *values);
        }
    }
    if (object.find("type")) {
        Writer type(schema, 22);
        write_text(type, 1, object, "type");
    }
    if (const Value* items = object.find("items")) {
        Writer item(schema, 23);
        Writer inner(item, 1);
        write_schema(inner, *items);
    }
    if (const Value* properties = object.find("properties")) {
        Writer map(schema, 25);
        for (const Member& member : properties->as_object()) write_named_schema(map, member.key, member.value);
    }
    write_extensions(schema, 31, object);
}

void write_body_parameter(Writer& parameter, const Value& object) {
    Writer body(parameter, 1);
    write_text(body, 1, object, "description");
    write_text(body, 2, object, "name");
    write_text(body, 3, object, "in");
    write_flag(body, 4, object, "required");
    Writer schema(body, 5);
    write_schema(schema, at(object, "schema"));
}

/// A path's parameters and a query's differ by one number: the query has "allowEmptyValue" before its type.
void write_other_parameter(Writer& parameter, const Value& object) {
    const bool query = object.string_at({"in"}) == "query";
    Writer other(parameter, 2);
    Writer sub(other, query ? 3 : 4);
    write_flag(sub, 1, object, "required");
    write_text(sub, 2, object, "in");
    write_text(sub, 3, object, "description");
    write_text(sub, 4, object, "name");
    write_text(sub, query ? 6 : 5, object, "type");
    write_flag(sub, query ? 20 : 19, object, "uniqueItems");
}

void write_responses(Writer& operation, const Value& object) {
    Writer responses(operation, 9);
    for (const Member& member : object.as_object()) {
        Writer pair(responses, 1);
        pair.add_string(1, member.key);
        Writer value(pair, 2);
        Writer response(value, 1);
        write_text(response, 1, member.value, "description");
        const Value* schema = member.value.find("schema");
        if (!schema) continue;
        Writer item(response, 2);
        Writer inner(item, 1);
        write_schema(inner, *schema);
    }
}

void write_operation(Writer& item, protozero::pbf_tag_type tag, const Value& object) {
    Writer operation(item, tag);
    write_texts(operation, 1, object, "tags");
    write_text(operation, 3, object, "description");
    write_text(operation, 5, object, "operationId");
    write_texts(operation, 6, object, "produces");
    write_texts(operation, 7, object, "consumes");
    for (const Value& one : at(object, "parameters").as_array()) {
        Writer parameters_item(operation, 8);
        Writer parameter(parameters_item, 1);
        if (one.string_at({"in"}) == "body")
            write_body_parameter(parameter, one);
        else
            write_other_parameter(parameter, one);
    }
    write_responses(operation, at(object, "responses"));
    write_texts(operation, 10, object, "schemes");
    write_extensions(operation, 13, object);
}

}  // namespace

void append_gnostic_path(const std::string& path, const Value& item, std::string& out) {
    static constexpr std::pair<std::string_view, protozero::pbf_tag_type> methods[] = {
        {"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
    Writer paths(out);
    Writer pair(paths, 2);
    pair.add_string(1, path);
    Writer path_item(pair, 2);
    for (const auto& [method, tag] : methods) {
        if (const Value* operation = item.find(method)) write_operation(path_item, tag, *operation);
    }
}

void append_gnostic_definition(const std::string& name, const Value& schema, std::string& out) {
    Writer definitions(out);
    write_named_schema(definitions, name, schema);
}

std::string gnostic_document(std::string_view title, std::string_view version, std::string_view paths, std::string_view definitions) {
    std::string out;
    out.reserve(paths.size() + definitions.size() + 256);
    Writer document(out);
    document.add_string(1, "2.0");
    {
        Writer info(document, 2);
        info.add_string(1, title.data(), title.size());
        info.add_string(2, version.data(), version.size());
    }
    document.add_message(8, paths.data(), paths.size());
    document.add_message(9, definitions.data(), definitions.size());
    return out;
}

}  // namespace porthole::schema
