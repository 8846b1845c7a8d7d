#include "apiserver/etcd_form/definition_v1beta1.h"

#include <utility>

#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr std::string_view Older = "apiextensions.k8s.io/v1beta1", Newer = "apiextensions.k8s.io/v1";
/// Of the whole definition in v1beta1, of each version in v1.
constexpr std::pair<std::string_view, std::string_view> OfVersions[] = {
    {"validation", "schema"}, {"subresources", "subresources"}, {"additionalPrinterColumns", "additionalPrinterColumns"}};

bool is_set(const Value* value) { return value && !value->is_null() && !(value->is_array() && value->as_array().empty()); }

void rename(Value& object, std::string_view from, std::string_view to) {
    Value* found = object.find(from);
    if (!found) return;
    Value moved = std::move(*found);
    object.erase(from);
    object[to] = std::move(moved);
}

void change_version(Value& version, const Value& spec) {
    if (!version.is_object()) return;
    for (const auto& [common, own] : OfVersions)
        if (const Value* given = spec.find(common); is_set(given) && !is_set(version.find(own))) version[own] = *given;
    Value* columns = version.find("additionalPrinterColumns");
    if (!columns || !columns->is_array()) return;
    for (Value& column : columns->as_array()) rename(column, "JSONPath", "jsonPath");
}

void change_conversion(Value& spec) {
    Value& conversion = spec["conversion"];
    if (!conversion.is_object()) conversion = Value::object({{"strategy", "None"}});
    Value webhook = Value::object();
    for (const auto& [older, newer] :
         {std::pair("webhookClientConfig", "clientConfig"), std::pair("conversionReviewVersions", "conversionReviewVersions")}) {
        rename(conversion, older, newer);
        if (const Value* moved = conversion.find(newer)) webhook[newer] = *moved;
        conversion.erase(newer);
    }
    if (conversion.string_at({"strategy"}) == "Webhook") conversion["webhook"] = std::move(webhook);
}

void change_spec(Value& spec) {
    if (!is_set(spec.find("versions")))
        spec["versions"] = Value::array({Value::object({{"name", at(spec, "version")}, {"served", true}, {"storage", true}})});
    if (Value& versions = spec["versions"]; versions.is_array())
        for (Value& version : versions.as_array()) change_version(version, spec);
    for (const std::string_view gone : {"version", "validation", "subresources", "additionalPrinterColumns"}) spec.erase(gone);
    change_conversion(spec);
    if (!is_set(spec.find("scope"))) spec["scope"] = "Namespaced";
    const Value* preserve = spec.find("preserveUnknownFields");
    if (!is_set(preserve)) {
        spec["preserveUnknownFields"] = true;  // the default of v1beta1 alone
    } else if (!preserve->bool_or(true)) {
        spec.erase("preserveUnknownFields");
    }
}

}  // namespace

Result<std::string> definition_of_v1beta1(std::string json) {
    if (!json.contains(Older)) return json;
    auto tree = schema::parse_json(json, {.depth = 2 * schema::MaxTreeDepth});
    if (!tree || tree->string_at({"apiVersion"}) != Older) return json;
    Value* spec = tree->find("spec");
    if (!spec || !spec->is_object()) return Error(Reason::BadRequest, "it is stored as " + std::string(Older) + " without a spec");
    (*tree)["apiVersion"] = Newer;
    change_spec(*spec);
    return schema::to_json(*tree);
}

}  // namespace porthole::apiserver
