#include "controllers/horizontal_pod_autoscaler/resource_names.h"

#include "base/result.h"
#include "net/http/http.h"

namespace porthole::controllers {

using schema::Value;

std::string group_of_api_version(std::string_view api_version) {
    const std::size_t slash = api_version.find('/');
    return slash == api_version.npos ? "" : std::string(api_version.substr(0, slash));
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
        const auto body = co_await client_.get_raw("/apis/" + net::percent_encode(group) + "/" + net::percent_encode(version));
        if (is_not_found(body)) continue;
        if (!body) co_return body.error();
        CO_TRY(const Value list, schema::parse_json(**body));
        const Value* resources = list.find("resources");
        if (!resources || !resources->is_array()) continue;
        for (const Value& one : resources->as_array()) {
            const std::string_view plural = one.string_at({"name"});
            if (one.string_at({"kind"}) == kind && !plural.contains('/'))
                co_return ResourceName{group, version, std::string(plural), at(one, "namespaced").bool_or(false)};
        }
    }
    co_return unknown;
}

}  // namespace porthole::controllers
