#include "local_cluster/description/description_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/yaml/yaml.h"

namespace porthole::local_cluster {

using schema::Value;
namespace {

constexpr const char *ApiVersion = "porthole.dev/v1alpha1", *Kind = "Cluster";
constexpr std::size_t MostPools = 100;

}  // namespace

Error wrong(const std::string& path, const std::string& what) {
    return Error(Reason::BadRequest, (path.empty() ? "the description" : path + ":") + " " + what);
}

Result<void> Fields::check(std::initializer_list<std::string_view> known) const {
    if (value_->is_null()) return {};
    if (!value_->is_object()) return wrong(path_, "must be an object");
    for (const schema::Member& member : value_->as_object())
        if (std::ranges::find(known, member.key) == known.end()) return wrong(at(member.key), "unknown field");
    return {};
}

Result<void> Fields::read(std::string_view name, std::string& into) const {
    const Value& found = schema::at(*value_, name);
    if (found.is_null()) return {};
    if (!found.is_string()) return wrong(at(name), "must be a string");
    into = found.as_string();
    return {};
}

Result<void> Fields::read(std::string_view name, bool& into) const {
    const Value& found = schema::at(*value_, name);
    if (found.is_null()) return {};
    if (!found.is_bool()) return wrong(at(name), "must be true or false");
    into = found.as_bool();
    return {};
}

Result<void> Fields::read(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t& into) const {
    const Value& found = schema::at(*value_, name);
    if (found.is_null()) return {};
    if (!found.is_int() || found.as_int() < low || found.as_int() > high)
        return wrong(at(name), fmt::format("must be a number from {} to {}", low, high));
    into = found.as_int();
    return {};
}

Result<void> Fields::read(std::string_view name, std::vector<std::string>& into) const {
    const Value& found = schema::at(*value_, name);
    if (found.is_null()) return {};
    if (!found.is_array() || !std::ranges::all_of(found.as_array(), &Value::is_string)) return wrong(at(name), "must be a list of strings");
    into.clear();
    for (const Value& item : found.as_array()) into.push_back(item.as_string());
    return {};
}

Result<void> Fields::read(std::string_view name, std::map<std::string, std::string>& into) const {
    const Value& found = schema::at(*value_, name);
    if (found.is_null()) return {};
    if (!found.is_object()) return wrong(at(name), "must be an object");
    into.clear();
    for (const schema::Member& member : found.as_object()) {
        if (!member.value.is_string()) return wrong(at(name) + "." + member.key, "must be a string: numbers, true and false need quotes");
        into[member.key] = member.value.as_string();
    }
    return {};
}

Result<std::vector<Fields>> Fields::list(std::string_view name, std::size_t most) const {
    const Value& found = schema::at(*value_, name);
    const std::string path = at(name);
    if (!found.is_array() || found.as_array().empty() || found.as_array().size() > most)
        return wrong(path, fmt::format("must be a list of 1 to {} {}", most, name));
    std::vector<Fields> items;
    for (const Value& item : found.as_array()) {
        items.emplace_back(item, fmt::format("{}[{}]", path, items.size()));
        if (!item.is_object()) return wrong(items.back().path(), "must be an object");
    }
    return items;
}

Result<Value> parse_description(std::string_view yaml) {
    std::vector<schema::DuplicateKey> duplicates;
    TRY(Value document, schema::parse_yaml(yaml, &duplicates));
    if (!duplicates.empty()) return wrong(duplicates.front().path, "is there twice");
    TRY_VOID(Fields(document, "").check({"apiVersion", "kind", "metadata", "spec"}));
    if (document.string_at({"apiVersion"}) != ApiVersion || document.string_at({"kind"}) != Kind)
        return Error(Reason::BadRequest, fmt::format("a description starts with `apiVersion: {}` and `kind: {}`", ApiVersion, Kind));
    return document;
}

Result<std::vector<Fields>> read_pool_list(const Fields& spec) {
    const Value& pools = schema::at(spec.value(), "pools");
    if (pools.is_null() || (pools.is_array() && pools.as_array().empty())) return std::vector<Fields>();
    return spec.list("pools", MostPools);
}

}  // namespace porthole::local_cluster
