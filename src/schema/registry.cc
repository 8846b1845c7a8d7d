#include "schema/registry.h"

#include <algorithm>

#include "schema/version_order.h"

namespace porthole::schema {

Registry::Registry(std::span<const Kind* const> kinds) {
    kinds_.reserve(kinds.size());
    for (const Kind* kind : kinds) add(*kind);
}

Registry::Key Registry::key(std::string_view group, std::string_view version, std::string_view name) {
    Key result;
    result.reserve(group.size() + version.size() + name.size() + 2);
    return result.append(group).append("/").append(version).append("/").append(name);
}

const Kind* Registry::find_kind(std::string_view group, std::string_view version, std::string_view kind) const {
    const auto found = by_kind_.find(key(group, version, kind));
    return found == by_kind_.end() ? nullptr : found->second;
}

const Kind* Registry::find_kind(std::string_view api_version, std::string_view kind) const {
    const GroupVersion parts = split_api_version(api_version);
    return find_kind(parts.group, parts.version, kind);
}

const Kind* Registry::find_resource(std::string_view group, std::string_view version, std::string_view plural) const {
    const auto found = by_resource_.find(key(group, version, plural));
    return found == by_resource_.end() ? nullptr : found->second;
}

const std::vector<std::string>& Registry::versions(std::string_view group) const {
    static const std::vector<std::string> none;
    const auto found = versions_.find(group);
    return found == versions_.end() ? none : found->second;
}

std::vector<const Kind*> Registry::resources(std::string_view group, std::string_view version) const {
    std::vector<const Kind*> result;
    for (const Kind* kind : kinds_)
        if (kind->is(Kind::Resource) && kind->group == group && kind->version == version) result.push_back(kind);
    return result;
}

void Registry::add(const Kind& kind) {
    if (const Kind* old = find_kind(kind.group, kind.version, kind.kind)) remove(*old);
    kinds_.push_back(&kind);
    by_kind_[key(kind.group, kind.version, kind.kind)] = &kind;
    if (!kind.is(Kind::Resource)) return;
    by_resource_[key(kind.group, kind.version, kind.plural)] = &kind;
    const std::string group(kind.group), version(kind.version);
    auto& versions = versions_[group];
    if (versions.empty()) groups_.push_back(group);
    if (std::find(versions.begin(), versions.end(), version) != versions.end()) return;
    // Built-in groups come in the order that upstream gives them, the others in that of their names. A definition has room for thousands of
    // versions, so that they are not sorted with each.
    const bool built_in = !kind.type || kind.type->create;
    versions.insert(built_in ? versions.end() : std::ranges::upper_bound(versions, version, is_preferred_version), version);
}

void Registry::remove(const Kind& kind) {
    const std::string group(kind.group), version(kind.version);
    const bool resource = kind.is(Kind::Resource);
    by_kind_.erase(key(group, version, kind.kind));
    if (resource) by_resource_.erase(key(group, version, kind.plural));
    std::erase(kinds_, &kind);
    if (!resource || !resources(group, version).empty()) return;
    auto& versions = versions_[group];
    std::erase(versions, version);
    if (!versions.empty()) return;
    versions_.erase(group);
    std::erase(groups_, group);
}

}  // namespace porthole::schema
