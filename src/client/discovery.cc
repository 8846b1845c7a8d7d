#include "client/discovery.h"

#include <algorithm>
#include <set>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::client {
namespace {

using schema::Value;

Task<Value> get(Client& client, std::string path) {
    CO_TRY(const net::Bytes body, co_await client.get_raw(std::move(path)));
    co_return schema::parse_json(*body);
}

DiscoveredResourcePtr read_resource(const std::string& group, const std::string& version, const Value& entry) {
    auto resource = std::make_shared<DiscoveredResource>();
    resource->group = group;
    resource->version = version;
    resource->kind = entry.string_at({"kind"});
    resource->plural = entry.string_at({"name"});
    resource->namespaced = at(entry, "namespaced").bool_or(false);
    if (const Value* verbs = entry.find("verbs"); verbs && verbs->is_array())
        for (const Value& verb : verbs->as_array()) resource->verbs.emplace_back(verb.string_or(""));
    schema::Kind& table = resource->table;
    table.group = resource->group;
    table.version = resource->version;
    table.kind = resource->kind;
    table.plural = resource->plural;
    table.flags = schema::Kind::Resource | (resource->namespaced ? schema::Kind::Namespaced : 0u);
    return resource;
}

struct GroupVersion {
    std::string group, version;
    std::string path() const { return group.empty() ? "/api/" + version : "/apis/" + group + "/" + version; }
    std::string text() const { return group.empty() ? version : group + "/" + version; }
};

/// All versions of all groups, the preferred one of each group first.
std::vector<GroupVersion> read_groups(const Value& groups) {
    std::vector<GroupVersion> versions{{"", "v1"}};
    const Value* list = groups.find("groups");
    if (!list || !list->is_array()) return versions;
    for (const Value& group : list->as_array()) {
        const std::string name(group.string_at({"name"})), preferred(group.string_at({"preferredVersion", "version"}));
        if (!preferred.empty()) versions.push_back({name, preferred});
        if (const Value* others = group.find("versions"); others && others->is_array())
            for (const Value& other : others->as_array())
                if (other.string_at({"version"}) != preferred) versions.push_back({name, std::string(other.string_at({"version"}))});
    }
    return versions;
}

}  // namespace

bool DiscoveredResource::has_verb(std::string_view verb) const { return std::ranges::find(verbs, verb) != verbs.end(); }

Task<Discovery> discover(Client& client) {
    CO_TRY(const Value groups, co_await get(client, "/apis"));
    Discovery discovery;
    std::set<std::string> seen;
    for (const GroupVersion& version : read_groups(groups)) {
        const Result<Value> list = co_await get(client, version.path());
        if (is_cancelled(list)) co_return list.error();
        if (!list) {
            discovery.failures.push_back(version.text() + ": " + list.error().message);
            continue;
        }
        const Value* entries = list->find("resources");
        if (!entries || !entries->is_array()) continue;
        for (const Value& entry : entries->as_array()) {
            if (entry.string_at({"name"}).contains('/')) continue;
            auto resource = read_resource(version.group, version.version, entry);
            if (seen.insert(resource->name()).second) discovery.resources.push_back(std::move(resource));
        }
    }
    co_return std::move(discovery);
}

}  // namespace porthole::client
