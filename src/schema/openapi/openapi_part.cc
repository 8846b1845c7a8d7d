#include "schema/openapi/openapi_part.h"

#include <algorithm>
#include <set>
#include <vector>

#include "schema/json/json.h"
#include "schema/type.h"

namespace porthole::schema {
namespace {

constexpr std::string_view Definitions = "#/definitions/", Parameters = "#/parameters/";
constexpr std::size_t MostMediaTypes = 8;  // of an operation; Kubernetes' own have seven at most
constexpr std::string_view Methods[] = {"get", "put", "post", "delete", "patch"};

bool is_extension(std::string_view key) { return key.starts_with("x-"); }

/// The name in a reference to something below `root`, or "".
std::string_view referred(const Value& value, std::string_view root) {
    const std::string_view reference = value.string_at({"$ref"});
    return reference.starts_with(root) ? reference.substr(root.size()) : std::string_view();
}

bool is_response_code(std::string_view code) {
    return code == "default" || (code.size() == 3 && std::ranges::all_of(code, [](char c) { return c >= '0' && c <= '9'; }));
}

/// What copies may take. References and repetitions let a short document ask for more copies than memory holds.
class CopyBudget {
public:
    /// Whether that many bytes are left. Once they are not, nothing is.
    bool take(std::size_t bytes) {
        left_ = bytes <= left_ ? left_ - bytes : 0;
        return left_ > 0;
    }
    bool take_value(std::string_view text = {}) { return take(sizeof(Member) + text.size()); }
    /// Null when it is too much.
    Value copy(const Value& value) { return take_all(value) ? value : Value(); }
    std::size_t left() const { return left_; }

private:
    bool take_all(const Value& value) {
        if (!take_value(value.string_or(""))) return false;
        if (value.is_array()) return std::ranges::all_of(value.as_array(), [&](const Value& item) { return take_all(item); });
        if (!value.is_object()) return true;
        return std::ranges::all_of(value.as_object(), [&](const Member& one) { return take(one.key.size()) && take_all(one.value); });
    }

    std::size_t left_ = LargestOpenApiPart;
};

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
            if (budget_.take_value(path.key)) part.paths.append(path.key, path_item(path.value));
        }
        while (!pending_.empty()) {
            const std::string name = std::move(pending_.back());
            pending_.pop_back();
            const Value* schema = at(document_, "definitions").find(name);
            if (!schema) return Error(Reason::BadRequest, "the document has no definition \"" + name + "\"");
            if (budget_.take_value(name)) part.definitions.append(name, schema_of(*schema));
        }
        if (budget_.left() == 0) return Error(Reason::BadRequest, "the document is too large once its parameters are in their places");
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
        if (!budget_.take_value()) return operation;
        for (const Member& member : given.as_object()) {
            const std::string& key = member.key;
            if (is_extension(key) || ((key == "description" || key == "operationId") && member.value.is_string()))
                operation[key] = budget_.copy(member.value);
            else if (key == "tags" || key == "schemes")
                operation[key] = texts_of(member.value);
            else if (key == "consumes" || key == "produces")
                operation[key] = media_types_of(member.value);
        }
        Value parameters = Value::array();
        std::set<std::pair<std::string_view, std::string_view>> names;
        const auto bodies = [&] {
            add_parameters(at(given, "parameters"), parameters, names);
            add_parameters(of_path, parameters, names);
        };
        for_each_media_type(at(operation, "consumes"), bodies);
        operation["parameters"] = std::move(parameters);
        Value responses = Value::object();
        for_each_media_type(at(operation, "produces"), [&] { add_responses(at(given, "responses"), responses); });
        operation["responses"] = std::move(responses);
        return operation;
    }

    /// Takes what `copy` takes once for each of the types, since version 3 has one copy for each.
    template <class Function>
    void for_each_media_type(const Value& types, Function copy) {
        const std::size_t before = budget_.left();
        copy();
        if (types.is_array() && !types.as_array().empty()) budget_.take((before - budget_.left()) * (types.as_array().size() - 1));
    }

    Value texts_of(const Value& list) {
        Value texts = Value::array();
        if (!list.is_array()) return texts;
        for (const Value& one : list.as_array())
            if (one.is_string() && budget_.take_value(one.as_string())) texts.as_array().push_back(one);
        return texts;
    }

    Value media_types_of(const Value& list) {
        Value types = Value::array();
        if (!list.is_array()) return types;
        for (const Value& one : list.as_array()) {
            if (types.as_array().size() == MostMediaTypes) break;
            if (one.is_string() && std::ranges::find(types.as_array(), one) == types.as_array().end())
                types.as_array().push_back(budget_.copy(one));
        }
        return types;
    }

    void add_responses(const Value& given, Value& responses) {
        if (!given.is_object()) return;
        for (const Member& response : given.as_object()) {
            const std::string_view description = response.value.string_at({"description"});
            if (!is_response_code(response.key) || !budget_.take_value(description)) continue;
            Value& one = responses[response.key] = Value::object({{"description", description}});
            if (const Value* schema = response.value.find("schema")) one["schema"] = schema_of(*schema);
        }
    }

    /// Those of the operation come first, and hide those of its path.
    void add_parameters(const Value& given, Value& parameters, std::set<std::pair<std::string_view, std::string_view>>& names) {
        if (!given.is_array()) return;
        for (const Value& one : given.as_array()) {
            const std::string_view name = referred(one, Parameters);
            const Value& parameter = name.empty() ? one : at(at(document_, "parameters"), name);
            if (!is_known_form(parameter) || !names.emplace(parameter.string_at({"name"}), parameter.string_at({"in"})).second) continue;
            if (!budget_.take_value(parameter.string_at({"name"}))) return;
            parameters.as_array().push_back(parameter_of(parameter));
        }
    }

    /// Not one in a header or a form, which no Kubernetes API has.
    static bool is_known_form(const Value& parameter) {
        const std::string_view place = parameter.string_at({"in"});
        return !parameter.string_at({"name"}).empty() && (place == "body" || place == "query" || place == "path");
    }

    Value parameter_of(const Value& given) {
        const std::string_view place = given.string_at({"in"}), description = given.string_at({"description"});
        Value parameter = Value::object({{"name", given.string_at({"name"})}, {"in", place}});
        if (!description.empty() && budget_.take_value(description)) parameter["description"] = description;
        if (place == "path" || at(given, "required").bool_or(false)) parameter["required"] = true;
        if (at(given, "uniqueItems").bool_or(false)) parameter["uniqueItems"] = true;
        if (place == "body") {
            parameter["schema"] = schema_of(at(given, "schema"));
        } else {
            static constexpr std::string_view Types[] = {"string", "integer", "number", "boolean"};
            const std::string_view type = given.string_at({"type"});
            parameter["type"] = std::ranges::find(Types, type) == std::end(Types) ? Types[0] : type;
        }
        return parameter;
    }

    Value schema_of(const Value& given) {
        Value schema = Value::object();
        if (!given.is_object() || !budget_.take_value()) return schema;
        const std::string_view definition = referred(given, Definitions);
        for (const Member& member : given.as_object()) {
            const std::string& key = member.key;
            const bool is_text = key == "description" || key == "format" || key == "pattern";
            const bool is_number = key == "maximum" || key == "minimum" || key == "maxLength" || key == "minLength";
            if (is_extension(key) || key == "default" || (is_text && member.value.is_string()) || (is_number && member.value.is_number()) ||
                (key == "enum" && member.value.is_array()))
                schema[key] = budget_.copy(member.value);
        }
        if (!definition.empty()) {
            if (!budget_.take_value(definition)) return schema;
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
            for (const Member& property : properties.as_object())
                if (budget_.take(property.key.size())) copied.as_object().append(property.key, schema_of(property.value));
        } else if (type == "array") {
            schema["type"] = type;
            schema["items"] = schema_of(at(given, "items"));
        } else if (type == "object" || type == "string" || type == "number" || type == "integer" || type == "boolean") {
            schema["type"] = type;
        }
        if (const Value& values = at(given, "additionalProperties"); values.is_object()) schema["additionalProperties"] = schema_of(values);
    }

    const Value& document_;
    CopyBudget budget_;
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

std::string api_path(std::string_view group, std::string_view version) {
    return (group.empty() ? "api/" : "apis/") + join_api_version(group, version);
}

Result<OpenApiPart> read_openapi_part(std::string_view document, std::string_view root) {
    TRY(const Value parsed, parse_json(document));
    return PartReader(parsed).read(root);
}

std::string_view definition_referred_to(const Value& value) { return referred(value, Definitions); }

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
