#include "schema/openapi/openapi_part.h"

#include <algorithm>
#include <set>
#include <vector>

#include "schema/json/json.h"

namespace porthole::schema {
namespace {

constexpr std::string_view Definitions = "#/definitions/", Parameters = "#/parameters/";
constexpr std::string_view Methods[] = {"get", "put", "post", "delete", "patch"};

bool is_extension(std::string_view key) { return key.starts_with("x-"); }

/// The name in a reference to something below `root`, or "".
std::string_view referred(const Value& value, std::string_view root) {
    const std::string_view reference = value.string_at({"$ref"});
    return reference.starts_with(root) ? reference.substr(root.size()) : std::string_view();
}

Value texts_of(const Value& list) {
    Value texts = Value::array();
    if (list.is_array()) std::ranges::copy_if(list.as_array(), std::back_inserter(texts.as_array()), &Value::is_string);
    return texts;
}

/// Copies what a document may say, and remembers which definitions that leads to.
class PartReader {
public:
    explicit PartReader(const Value& document) : document_(document) {}

    Result<OpenApiPart> read(std::string_view root) {
        OpenApiPart part;
        const Value& paths = at(document_, "paths");
        if (!paths.is_object()) return Error(Reason::BadRequest, "the document has no paths");
        for (const Member& path : paths.as_object()) {
            if (path.key != root && !path.key.starts_with(std::string(root) + "/")) continue;
            part.paths.append(path.key, path_item(path.value));
        }
        while (!pending_.empty()) {
            const std::string name = std::move(pending_.back());
            pending_.pop_back();
            const Value* schema = at(document_, "definitions").find(name);
            if (!schema) return Error(Reason::BadRequest, "the document has no definition \"" + name + "\"");
            part.definitions.append(name, schema_of(*schema));
        }
        return part;
    }

private:
    Value path_item(const Value& given) {
        Value item = Value::object();
        for (const std::string_view method : Methods)
            if (const Value* operation = given.find(method); operation && operation->is_object())
                item[method] = operation_of(*operation, at(given, "parameters"));
        return item;
    }

    Value operation_of(const Value& given, const Value& of_path) {
        Value operation = Value::object();
        for (const Member& member : given.as_object()) {
            const std::string& key = member.key;
            if (is_extension(key) || ((key == "description" || key == "operationId") && member.value.is_string()))
                operation[key] = member.value;
            else if (key == "tags" || key == "consumes" || key == "produces" || key == "schemes")
                operation[key] = texts_of(member.value);
        }
        Value parameters = Value::array();
        add_parameters(at(given, "parameters"), parameters);
        add_parameters(of_path, parameters);
        operation["parameters"] = std::move(parameters);
        Value& responses = operation["responses"] = Value::object();
        if (const Value& all = at(given, "responses"); all.is_object()) {
            for (const Member& response : all.as_object()) {
                Value& one = responses[response.key] = Value::object({{"description", response.value.string_at({"description"})}});
                if (const Value* schema = response.value.find("schema")) one["schema"] = schema_of(*schema);
            }
        }
        return operation;
    }

    /// Those of the operation come first, and hide those of its path.
    void add_parameters(const Value& given, Value& parameters) {
        if (!given.is_array()) return;
        for (const Value& one : given.as_array()) {
            const std::string_view name = referred(one, Parameters);
            Value parameter = parameter_of(name.empty() ? one : at(at(document_, "parameters"), name));
            const bool is_known = std::ranges::any_of(parameters.as_array(), [&](const Value& known) {
                return known.string_at({"name"}) == parameter.string_at({"name"}) && known.string_at({"in"}) == parameter.string_at({"in"});
            });
            if (!parameter.is_null() && !is_known) parameters.as_array().push_back(std::move(parameter));
        }
    }

    /// Null for one in a header or a form, which no Kubernetes API has.
    Value parameter_of(const Value& given) {
        const std::string_view place = given.string_at({"in"});
        const std::string_view name = given.string_at({"name"});
        if (name.empty() || (place != "body" && place != "query" && place != "path")) return {};
        Value parameter = Value::object({{"name", name}, {"in", place}});
        if (const std::string_view description = given.string_at({"description"}); !description.empty())
            parameter["description"] = description;
        for (const std::string_view flag : {"required", "uniqueItems"})
            if (at(given, flag).bool_or(false)) parameter[flag] = true;
        if (place == "body")
            parameter["schema"] = schema_of(at(given, "schema"));
        else
            parameter["type"] = Value(given.string_at({"type"}).empty() ? "string" : given.string_at({"type"}));
        return parameter;
    }

    Value schema_of(const Value& given) {
        Value schema = Value::object();
        if (!given.is_object()) return schema;
        const std::string_view definition = referred(given, Definitions);
        for (const Member& member : given.as_object()) {
            const std::string& key = member.key;
            const bool is_text = key == "description" || key == "format" || key == "pattern";
            const bool is_number = key == "maximum" || key == "minimum" || key == "maxLength" || key == "minLength";
            if (is_extension(key) || key == "default" || (is_text && member.value.is_string()) || (is_number && member.value.is_number()) ||
                (key == "enum" && member.value.is_array()))
                schema[key] = member.value;
        }
        if (!definition.empty()) {
            schema["$ref"] = std::string(Definitions) + std::string(definition);
            if (known_.emplace(definition).second) pending_.emplace_back(definition);
            return schema;
        }
        if (at(given, "required").is_array()) schema["required"] = texts_of(*given.find("required"));
        add_type(given, schema);
        return schema;
    }

    /// kubectl before 1.27 refuses a whole document in which one type does not go with its members.
    void add_type(const Value& given, Value& schema) {
        const std::string_view type = given.string_at({"type"});
        const Value& properties = at(given, "properties");
        if (properties.is_object()) {
            schema["type"] = "object";
            Value& copied = schema["properties"] = Value::object();
            for (const Member& property : properties.as_object()) copied.as_object().append(property.key, schema_of(property.value));
        } else if (type == "array") {
            schema["type"] = type;
            schema["items"] = schema_of(at(given, "items"));
        } else if (type == "object" || type == "string" || type == "number" || type == "integer" || type == "boolean") {
            schema["type"] = type;
        }
        if (const Value& values = at(given, "additionalProperties"); values.is_object()) schema["additionalProperties"] = schema_of(values);
    }

    const Value& document_;
    std::set<std::string, std::less<>> known_;
    std::vector<std::string> pending_;
};

// --- Version 3 ---

/// There, nothing may be beside a reference.
Value schema_to_v3(Value schema) {
    if (const std::string_view name = referred(schema, Definitions); !name.empty()) {
        Value reference = Value::object({{"$ref", "#/components/schemas/" + std::string(name)}});
        schema.erase("$ref");
        if (schema.as_object().empty()) return reference;
        schema["allOf"] = Value::array({std::move(reference)});
        return schema;
    }
    for (const std::string_view key : {"items", "additionalProperties"})
        if (Value* inner = schema.find(key)) *inner = schema_to_v3(std::move(*inner));
    if (Value* properties = schema.find("properties"))
        for (Member& property : properties->as_object()) property.value = schema_to_v3(std::move(property.value));
    return schema;
}

Value content_of(const Value& media_types, const Value& schema) {
    Value content = Value::object();
    if (media_types.is_array())
        for (const Value& type : media_types.as_array()) content[type.as_string()]["schema"] = schema_to_v3(schema);
    if (content.as_object().empty()) content["*/*"]["schema"] = schema_to_v3(schema);
    return content;
}

Value parameter_to_v3(Value parameter) {
    parameter["schema"] = Value::object();
    for (const std::string_view key : {"type", "uniqueItems"}) {
        if (Value* value = parameter.find(key)) parameter["schema"][key] = std::move(*value);
        parameter.erase(key);
    }
    return parameter;
}

Value operation_to_v3(const Value& given) {
    Value operation = given;
    for (const std::string_view key : {"consumes", "produces", "schemes", "parameters", "responses"}) operation.erase(key);
    for (const Value& parameter : given.find("parameters")->as_array()) {
        if (parameter.string_at({"in"}) != "body") {
            Value& parameters = operation["parameters"];
            if (parameters.is_null()) parameters = Value::array();
            parameters.as_array().push_back(parameter_to_v3(parameter));
            continue;
        }
        Value& body = operation["requestBody"] = Value::object({{"content", content_of(at(given, "consumes"), at(parameter, "schema"))}});
        for (const std::string_view key : {"description", "required"})
            if (const Value* value = parameter.find(key)) body[key] = *value;
    }
    Value& responses = operation["responses"] = Value::object();
    for (const Member& response : given.find("responses")->as_object()) {
        Value& one = responses[response.key] = response.value;
        if (const Value* schema = response.value.find("schema")) one["content"] = content_of(at(given, "produces"), *schema);
        one.erase("schema");
    }
    return operation;
}

}  // namespace

Result<OpenApiPart> read_openapi_part(std::string_view document, std::string_view root) {
    TRY(const Value parsed, parse_json(document));
    return PartReader(parsed).read(root);
}

Value with_names(Value value, const DefinitionNames& names) {
    if (value.is_array()) {
        for (Value& item : value.as_array()) item = with_names(std::move(item), names);
    } else if (value.is_object()) {
        if (const auto found = names.find(referred(value, Definitions)); found != names.end())
            value["$ref"] = std::string(Definitions) + found->second;
        for (Member& member : value.as_object()) member.value = with_names(std::move(member.value), names);
    }
    return value;
}

Value to_v3(const OpenApiPart& part) {
    Value paths = Value::object();
    for (const Member& path : part.paths) {
        Value& item = paths[path.key] = Value::object();
        for (const Member& method : path.value.as_object()) item[method.key] = operation_to_v3(method.value);
    }
    Value schemas = Value::object();
    for (const Member& definition : part.definitions) schemas[definition.key] = schema_to_v3(definition.value);
    return Value::object({{"paths", std::move(paths)}, {"components", Value::object({{"schemas", std::move(schemas)}})}});
}

}  // namespace porthole::schema
