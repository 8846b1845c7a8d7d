#include "controllers/framework/resource_names.h"

#include <algorithm>

#include "base/result.h"
#include "net/http/http.h"

namespace porthole::controllers {

using schema::Value;

namespace {

std::string version_path(const std::string& group, const std::string& version) {
    return (group.empty() ? "/api/" : "/apis/" + net::percent_encode(group) + "/") + net::percent_encode(version);
}

}  // namespace

std::string group_of_api_version(std::string_view api_version) {
    const std::size_t slash = api_version.find('/');
    return slash == api_version.npos ? "" : std::string(api_version.substr(0, slash));
}

std::string ResourceName::scale_path(const std::string& namespace_, const std::string& name) const {
    return version_path(group, version) + "/namespaces/" + net::percent_encode(namespace_) + "/" + net::percent_encode(plural) + "/" +
           net::percent_encode(name) + "/scale";
}

/// An array of APIResources.
Task<Value> ResourceNames::resources(std::string group, std::string version) const {
    CO_TRY(const net::Bytes body, co_await client_.get_raw(version_path(group, version)));
    CO_TRY(const Value list, schema::parse_json(*body));
    const Value* resources = list.find("resources");
    co_return resources && resources->is_array() ? *resources : Value::array();
}

Task<bool> ResourceNames::has_scale(ResourceName resource) const {
    CO_TRY(const Value served, co_await resources(resource.group, resource.version));
    co_return std::ranges::any_of(served.as_array(),
                                  [&](const Value& one) { return one.string_at({"name"}) == resource.plural + "/scale"; });
}

/// The preferred one first.
Task<std::vector<std::string>> ResourceNames::served_versions(std::string group) const {
    CO_TRY(const net::Bytes body, co_await client_.get_raw("/apis/" + net::percent_encode(group)));
    CO_TRY(const Value found, schema::parse_json(*body));
    std::vector<std::string> versions;
    const std::string preferred(found.string_at({"preferredVersion", "version"}));
    if (!preferred.empty()) versions.push_back(preferred);
    if (const Value* all = found.find("versions"); all && all->is_array())
        for (const Value& one : all->as_array())
            if (const auto version = one.string_at({"version"}); version != preferred) versions.emplace_back(version);
    co_return versions;
}

Task<ResourceName> ResourceNames::find(std::string group, std::string kind) const {
    for (const std::string& version : kinds_.versions(group)) {
        const schema::Kind* known = kinds_.find_kind(group, version, kind);
        if (known && known->is(schema::Kind::Resource))
            co_return ResourceName{group, version, std::string(known->plural), known->namespaced()};
    }
    const Error unknown(Reason::NotFound, "no matches for kind \"" + kind + "\" in group \"" + group + "\"");
    if (group.empty()) co_return unknown;
    const auto versions = co_await served_versions(group);
    if (!versions) co_return is_not_found(versions) ? unknown : versions.error();
    for (const std::string& version : *versions) {
        const auto served = co_await resources(group, version);
        if (is_not_found(served)) continue;
        if (!served) co_return served.error();
        for (const Value& one : served->as_array()) {
            const std::string_view plural = one.string_at({"name"});
            if (one.string_at({"kind"}) == kind && !plural.contains('/'))
                co_return ResourceName{group, version, std::string(plural), at(one, "namespaced").bool_or(false)};
        }
    }
    co_return unknown;
}

}  // namespace porthole::controllers
