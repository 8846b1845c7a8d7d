#include "schema/openapi/path_items.h"

#include <algorithm>
#include <span>

#include "base/result.h"
#include "base/strings.h"
#include "schema/openapi/openapi_part.h"

namespace porthole::schema {
namespace {

struct QueryParameter {
    std::string_view name, type, description;
};
constexpr QueryParameter query_parameters[] = {
    {"allowWatchBookmarks", "boolean", "Asks for watch events of type BOOKMARK, which carry a resource version alone."},
    {"continue", "string", "The token of the previous page of this list."},
    {"dryRun", "string", "\"All\": every stage is run, but nothing is stored."},
    {"fieldManager", "string", "Who makes the change, for the record of field owners; at most 128 characters."},
    {"fieldSelector", "string", "Restricts the list by fields; everything by default."},
    {"fieldValidation", "string", "What happens to unknown or repeated fields: Ignore, Warn or Strict."},
    {"force", "boolean", "Takes over fields that other managers own. Only for apply."},
    {"gracePeriodSeconds", "integer", "How long the object may take to end; 0 for at once."},
    {"ignoreStoreReadErrorWithClusterBreakingPotential", "boolean", "Deletes an object that can no longer be read."},
    {"labelSelector", "string", "Restricts the list by labels; everything by default."},
    {"limit", "integer", "The most objects in one page."},
    {"orphanDependents", "boolean", "Deprecated: use propagationPolicy."},
    {"pretty", "string", "\"true\": the answer is indented."},
    {"propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."},
    {"resourceVersion", "string", "How new the answer must be, or where a watch starts."},
    {"resourceVersionMatch", "string", "How resourceVersion is understood: Exact or NotOlderThan."},
    {"sendInitialEvents", "boolean", "A watch begins with the present state and a bookmark."},
    {"timeoutSeconds", "integer", "How long the call may last."},
    {"watch", "boolean", "Follows changes instead of listing."},
};

constexpr std::string_view list_query[] = {
    "allowWatchBookmarks",  "continue",          "fieldSelector",  "labelSelector", "limit", "pretty", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"};
constexpr std::string_view get_query[] = {"pretty"};
constexpr std::string_view write_query[] = {"dryRun", "fieldManager", "fieldValidation", "pretty"};
constexpr std::string_view patch_query[] = {"dryRun", "fieldManager", "fieldValidation", "force", "pretty"};
constexpr std::string_view delete_query[] = {
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents", "pretty", "propagationPolicy"};
constexpr std::string_view delete_collection_query[] = {"continue",
                                                        "dryRun",
                                                        "fieldSelector",
                                                        "gracePeriodSeconds",
                                                        "ignoreStoreReadErrorWithClusterBreakingPotential",
                                                        "labelSelector",
                                                        "limit",
                                                        "orphanDependents",
                                                        "pretty",
                                                        "propagationPolicy",
                                                        "resourceVersion",
                                                        "resourceVersionMatch",
                                                        "sendInitialEvents",
                                                        "timeoutSeconds"};

constexpr std::string_view patch_types[] = {"application/json-patch+json", "application/merge-patch+json",
                                            "application/strategic-merge-patch+json", "application/apply-patch+yaml"};
constexpr std::string_view media_types[] = {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"};

/// A verb of the API as a method with its parameters; the words are those of operation ids and x-kubernetes-action.
struct Verb {
    std::string_view name, method, id, action;
    std::span<const std::string_view> query;
    enum class Body { None, Object, Patch, DeleteOptions } body;
    enum class Answer { Object, List, Status } answer;
    bool created = false;  ///< may answer 201
};
constexpr Verb verbs[] = {
    {"list", "get", "list", "list", list_query, Verb::Body::None, Verb::Answer::List},
    {"create", "post", "create", "post", write_query, Verb::Body::Object, Verb::Answer::Object, true},
    {"deletecollection", "delete", "delete", "deletecollection", delete_collection_query, Verb::Body::DeleteOptions, Verb::Answer::Status},
    {"get", "get", "read", "get", get_query, Verb::Body::None, Verb::Answer::Object},
    {"update", "put", "replace", "put", write_query, Verb::Body::Object, Verb::Answer::Object, true},
    {"patch", "patch", "patch", "patch", patch_query, Verb::Body::Patch, Verb::Answer::Object, true},
    {"delete", "delete", "delete", "delete", delete_query, Verb::Body::DeleteOptions, Verb::Answer::Status},
};
const Verb& verb_named(std::string_view name) {
    const Verb* found = std::ranges::find(verbs, name, &Verb::name);
    CHECK(found != std::end(verbs));
    return *found;
}

std::string capitalized(std::string_view text) {
    std::string result(text);
    if (!result.empty()) result[0] = to_upper(result[0]);
    return result;
}

/// "core", "apps", "rbacAuthorization": the group's name in tags and operation ids, without the domain they share.
std::string short_group(std::string_view group) {
    if (group.empty()) return "core";
    if (group.ends_with(".k8s.io")) group.remove_suffix(7);
    std::string name;
    for (bool up = false; const char c : group) {
        if (c == '.' || c == '-') {
            up = true;
            continue;
        }
        name += up ? to_upper(c) : c;
        up = false;
    }
    return name;
}

/// "NodeProxyOptions" and the like say how to connect; they are no bodies.
bool is_connection(const Subresource& subresource) { return subresource.kind.ends_with("Options"); }

Value string_array(std::span<const std::string_view> texts) {
    Array array;
    for (const std::string_view text : texts) array.emplace_back(text);
    return array;
}

}  // namespace

struct PathItems::Operation {
    const Kind& kind;  ///< the resource
    const Verb& verb;
    const Subresource* subresource = nullptr;
    bool named = false;  ///< the path ends in the object's name
    bool in_namespace = false;
    bool all_namespaces = false;

    bool is_custom() const { return kind.type->create == nullptr; }
    std::string id() const {
        std::string id(verb.id);
        id += capitalized(short_group(kind.group)) + capitalized(kind.version);
        if (verb.name == "deletecollection") id += "Collection";
        if (in_namespace) id += "Namespaced";
        id += kind.kind;
        if (subresource) id += capitalized(subresource->name);
        if (all_namespaces) id += "ForAllNamespaces";
        return id;
    }
};

void PathItems::visit(const Kind& kind, const Visitor& visitor) {
    const std::string root = "/" + api_path(kind.group, kind.version), plural(kind.plural);
    const std::string collection = root + (kind.namespaced() ? "/namespaces/{namespace}/" : "/") + plural;
    const auto item = [&](std::initializer_list<std::string_view> names, bool named, bool in_namespace, bool all) {
        Value item = Value::object();
        for (const std::string_view name : names) {
            if (!kind.has_verb(name)) continue;
            const Verb& verb = verb_named(name);
            item[verb.method] = operation({kind, verb, nullptr, named, in_namespace, all});
        }
        return item;
    };
    const auto emit = [&](const std::string& path, Value item) {
        if (!item.as_object().empty()) visitor(path, std::move(item));
    };
    if (kind.namespaced()) emit(root + "/" + plural, item({"list"}, false, false, true));
    emit(collection, item({"list", "create", "deletecollection"}, false, kind.namespaced(), false));
    emit(collection + "/{name}", item({"get", "update", "patch", "delete"}, true, kind.namespaced(), false));
    for (const Subresource& one : kind.subresources) visit_subresource(kind, one, collection + "/{name}/" + std::string(one.name), visitor);
}

void PathItems::visit_subresource(const Kind& kind, const Subresource& subresource, const std::string& path, const Visitor& visitor) {
    Value item = Value::object();
    for (const std::string_view name : subresource.verbs) {
        const Verb& verb = verb_named(name);
        item[verb.method] = operation({kind, verb, &subresource, true, kind.namespaced(), false});
    }
    if (!item.as_object().empty()) visitor(path, std::move(item));
}

Value PathItems::operation(const Operation& operation) {
    const Kind& kind = operation.kind;
    const Subresource* sub = operation.subresource;
    const bool connects = sub && is_connection(*sub);
    Value result = Value::object(
        {{"tags", Value::array({short_group(kind.group) + "_" + std::string(kind.version)})}, {"operationId", operation.id()}});
    Array parameters = path_parameters(operation).as_array();
    if (!connects) {
        for (const std::string_view name : operation.verb.query) parameters.push_back(parameter(name, "query"));
    }
    result["parameters"] = std::move(parameters);
    if (dialect_ == Dialect::V2) {
        const bool patch = operation.verb.body == Verb::Body::Patch;
        std::vector<std::string_view> types(std::begin(patch_types), std::end(patch_types));
        if (operation.is_custom()) std::erase(types, "application/strategic-merge-patch+json");
        if (patch) result["consumes"] = string_array(types);
        result["produces"] = string_array(media_types);
        result["schemes"] = Value::array({"https"});
    }
    if (!connects) add_body(result, operation);
    result["responses"] = responses(operation);
    result["x-kubernetes-action"] = connects ? "connect" : operation.verb.action;
    result["x-kubernetes-group-version-kind"] =
        sub ? group_version_kind(sub->group, sub->version, sub->kind) : group_version_kind(kind.group, kind.version, kind.kind);
    return result;
}

Value PathItems::path_parameters(const Operation& operation) {
    Array parameters;
    if (operation.named) parameters.push_back(parameter("name", "path"));
    if (operation.in_namespace) parameters.push_back(parameter("namespace", "path"));
    return parameters;
}

Value PathItems::parameter(std::string_view name, std::string_view place) {
    Value result = Value::object({{"name", name}, {"in", place}});
    std::string_view type = "string";
    if (place == "path") {
        result["description"] = name == "name" ? "The object's name." : "The namespace.";
        result["required"] = true;
    } else {
        const QueryParameter* found = std::ranges::find(query_parameters, name, &QueryParameter::name);
        CHECK(found != std::end(query_parameters));
        result["description"] = found->description;
        type = found->type;
    }
    if (dialect_ == Dialect::V2) {
        result["type"] = type;
        result["uniqueItems"] = true;
    } else {
        result["schema"] = Value::object({{"type", type}, {"uniqueItems", true}});
    }
    return result;
}

void PathItems::add_body(Value& result, const Operation& operation) {
    if (operation.verb.body == Verb::Body::None) return;
    Value schema;
    if (operation.verb.body == Verb::Body::Patch) {
        schema = schemas_.patch_reference();
    } else if (operation.verb.body == Verb::Body::DeleteOptions) {
        schema = schemas_.reference(*registry_.find_kind("v1", "DeleteOptions"));
    } else if (const Subresource* sub = operation.subresource) {
        const Kind* kind = registry_.find_kind(sub->group, sub->version, sub->kind);
        schema = kind && kind->type ? schemas_.reference(*kind) : Value::object({{"type", "object"}});
    } else {
        schema = schemas_.reference(operation.kind);
    }
    const bool required = operation.verb.body != Verb::Body::DeleteOptions;
    if (dialect_ == Dialect::V2) {
        Value body = Value::object({{"name", "body"}, {"in", "body"}});
        if (required) body["required"] = true;
        body["schema"] = std::move(schema);
        result["parameters"].as_array().push_back(std::move(body));
        return;
    }
    Value content = Value::object();
    if (operation.verb.body == Verb::Body::Patch) {
        for (const std::string_view type : patch_types) {
            if (operation.is_custom() && type == "application/strategic-merge-patch+json") continue;
            content[type] = Value::object({{"schema", schema}});
        }
    } else {
        content["*/*"] = Value::object({{"schema", std::move(schema)}});
    }
    result["requestBody"] = Value::object({{"content", std::move(content)}});
    if (required) result["requestBody"]["required"] = true;
}

Value PathItems::answer(std::string_view description, Value schema) {
    Value result = Value::object({{"description", description}});
    if (schema.is_null()) return result;
    if (dialect_ == Dialect::V2) {
        result["schema"] = std::move(schema);
        return result;
    }
    Value content = Value::object();
    for (const std::string_view type : media_types) content[type] = Value::object({{"schema", schema}});
    result["content"] = std::move(content);
    return result;
}

Value PathItems::responses(const Operation& operation) {
    const Subresource* sub = operation.subresource;
    Value schema;
    if (sub && (is_connection(*sub) || sub->name == "log")) {
        schema = Value::object({{"type", "string"}});
    } else if (operation.verb.answer == Verb::Answer::Status) {
        schema = schemas_.reference(*registry_.find_kind("v1", "Status"));
    } else if (operation.verb.answer == Verb::Answer::List) {
        schema = schemas_.list_reference(operation.kind);
    } else {
        const Kind* kind = sub ? registry_.find_kind(sub->group, sub->version, sub->kind) : &operation.kind;
        schema = kind && kind->type ? schemas_.reference(*kind) : Value::object({{"type", "object"}});
    }
    Value result = Value::object();
    if (operation.verb.created) result["201"] = answer("Created", schema);
    result["200"] = answer("OK", std::move(schema));
    result["401"] = answer("Unauthorized", Value());
    return result;
}

}  // namespace porthole::schema
