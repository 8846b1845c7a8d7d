#include "schema/discovery/discovery.h"

#include <algorithm>
#include <set>

namespace porthole::schema {
namespace {

Value strings(std::span<const std::string_view> texts) {
    Array array;
    for (const std::string_view text : texts) array.emplace_back(text);
    return array;
}

bool is_served(const Registry& registry, std::string_view group, std::string_view version) {
    return std::ranges::any_of(
        registry.kinds(), [&](const Kind* kind) { return kind->is(Kind::Resource) && kind->group == group && kind->version == version; });
}

Value group_version(std::string_view group, std::string_view version) {
    return Value::object({{"groupVersion", join_api_version(group, version)}, {"version", version}});
}

Value group_members(const DiscoveredGroup& group) {
    Array list;
    for (const DiscoveredVersion& one : group.versions) list.push_back(group_version(group.name, one.version));
    return Value::object({{"name", group.name},
                          {"versions", std::move(list)},
                          {"preferredVersion", group_version(group.name, group.versions.front().version)}});
}

Value legacy_resource(const Kind& kind) {
    Value resource = Value::object({{"name", kind.plural},
                                    {"singularName", kind.singular},
                                    {"namespaced", kind.namespaced()},
                                    {"kind", kind.kind},
                                    {"verbs", strings(kind.verbs)}});
    if (!kind.short_names.empty()) resource["shortNames"] = strings(kind.short_names);
    if (!kind.categories.empty()) resource["categories"] = strings(kind.categories);
    if (!kind.storage_hash.empty()) resource["storageVersionHash"] = kind.storage_hash;
    return resource;
}

Value legacy_subresource(const Kind& kind, const Subresource& subresource) {
    Value resource = Value::object({{"name", std::string(kind.plural) + "/" + std::string(subresource.name)},
                                    {"singularName", ""},
                                    {"namespaced", kind.namespaced()}});
    if (subresource.group != kind.group || subresource.version != kind.version) {
        resource["group"] = subresource.group;
        resource["version"] = subresource.version;
    }
    resource["kind"] = subresource.kind;
    resource["verbs"] = strings(subresource.verbs);
    return resource;
}

/// Group and version are left empty where they are the enclosing document's own.
Value response_kind(const Kind& owner, std::string_view group, std::string_view version, std::string_view kind) {
    const bool own = owner.group == group && owner.version == version;
    return Value::object({{"group", own ? "" : group}, {"version", own ? "" : version}, {"kind", kind}});
}

Value aggregated_resource(const Kind& kind) {
    Value resource = Value::object({{"resource", kind.plural},
                                    {"responseKind", response_kind(kind, kind.group, kind.version, kind.kind)},
                                    {"scope", kind.namespaced() ? "Namespaced" : "Cluster"},
                                    {"singularResource", kind.singular},
                                    {"verbs", strings(kind.verbs)}});
    if (!kind.short_names.empty()) resource["shortNames"] = strings(kind.short_names);
    if (!kind.categories.empty()) resource["categories"] = strings(kind.categories);
    Array subresources;
    for (const Subresource& one : kind.subresources) {
        subresources.push_back(Value::object({{"subresource", one.name},
                                              {"responseKind", response_kind(kind, one.group, one.version, one.kind)},
                                              {"verbs", strings(one.verbs)}}));
    }
    if (!subresources.empty()) resource["subresources"] = std::move(subresources);
    return resource;
}

Array own_resources(const Registry& registry, std::string_view group, std::string_view version) {
    Array resources;
    for (const Kind* kind : registry.resources(group, version)) resources.push_back(aggregated_resource(*kind));
    return resources;
}

Value aggregated_group(const Registry& registry, const DiscoveredGroup& group) {
    Array list;
    for (const DiscoveredVersion& one : group.versions) {
        Value version = Value::object({{"version", one.version}});
        if (one.resources) version["resources"] = *one.resources;
        if (!one.remote) version["resources"] = own_resources(registry, group.name, one.version);
        version["freshness"] = one.stale ? "Stale" : "Current";
        list.push_back(std::move(version));
    }
    Value metadata = Value::object();
    if (!group.name.empty()) metadata["name"] = group.name;
    return Value::object({{"metadata", std::move(metadata)}, {"versions", std::move(list)}});
}

}  // namespace

std::vector<DiscoveredGroup> served_groups(const Registry& registry) {
    std::set<std::pair<std::string_view, std::string_view>> served;
    for (const Kind* kind : registry.kinds())
        if (kind->is(Kind::Resource)) served.emplace(kind->group, kind->version);
    std::vector<DiscoveredGroup> groups;
    for (const std::string& name : registry.groups()) {
        DiscoveredGroup group{.name = name, .versions = {}};
        for (const std::string& version : registry.versions(name))
            if (served.contains({name, version})) group.versions.push_back({.version = version});
        if (!group.versions.empty()) groups.push_back(std::move(group));
    }
    return groups;
}

Value discover_versions(std::string_view server_address) {
    Value address = Value::object({{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", server_address}});
    return Value::object(
        {{"kind", "APIVersions"}, {"versions", Value::array({"v1"})}, {"serverAddressByClientCIDRs", Value::array({std::move(address)})}});
}

Value discover_groups(const std::vector<DiscoveredGroup>& groups) {
    Array list;
    for (const DiscoveredGroup& group : groups)
        if (!group.name.empty()) list.push_back(group_members(group));
    return Value::object({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}});
}

std::optional<Value> discover_group(const std::vector<DiscoveredGroup>& groups, std::string_view group) {
    const auto found = std::ranges::find(groups, group, &DiscoveredGroup::name);
    if (group.empty() || found == groups.end()) return std::nullopt;
    Value document = Value::object({{"kind", "APIGroup"}, {"apiVersion", "v1"}});
    for (Member& member : group_members(*found).as_object()) document[member.key] = std::move(member.value);
    return document;
}

std::optional<Value> discover_resources(const Registry& registry, std::string_view group, std::string_view version) {
    if (!is_served(registry, group, version)) return std::nullopt;
    Array resources;
    for (const Kind* kind : registry.resources(group, version)) {
        resources.push_back(legacy_resource(*kind));
        for (const Subresource& one : kind->subresources) resources.push_back(legacy_subresource(*kind, one));
    }
    Value document = Value::object({{"kind", "APIResourceList"}});
    // The core group's list is older than apiVersion in it; old clients compare.
    if (!group.empty()) document["apiVersion"] = "v1";
    document["groupVersion"] = join_api_version(group, version);
    document["resources"] = std::move(resources);
    return document;
}

Value discover_all(const Registry& registry, const std::vector<DiscoveredGroup>& groups, AggregatedRoot root, AggregatedVersion version) {
    Array items;
    for (const DiscoveredGroup& group : groups)
        if (group.name.empty() == (root == AggregatedRoot::Core)) items.push_back(aggregated_group(registry, group));
    const bool v2 = version == AggregatedVersion::V2;
    return Value::object({{"kind", "APIGroupDiscoveryList"},
                          {"apiVersion", v2 ? "apidiscovery.k8s.io/v2" : "apidiscovery.k8s.io/v2beta1"},
                          {"metadata", Value::object()},
                          {"items", std::move(items)}});
}

std::string_view aggregated_content_type(AggregatedVersion version) {
    return version == AggregatedVersion::V2 ? "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
                                            : "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
}

}  // namespace porthole::schema
