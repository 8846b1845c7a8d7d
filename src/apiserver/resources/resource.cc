#include "apiserver/resources/resource.h"

#include "apiserver/storage/keys.h"

#include <algorithm>

namespace porthole::apiserver {
namespace {

std::string path_of(std::string_view group, std::string_view version, std::string_view plural) {
    return std::string(group) + '/' + std::string(version) + '/' + std::string(plural);
}

}  // namespace

std::string Resource::key(std::string_view namespace_, std::string_view name) const {
    return prefix_of(kind->namespaced() ? namespace_ : std::string_view()) + std::string(name);
}

std::string Resource::prefix_of(std::string_view namespace_) const {
    return namespace_.empty() ? prefix : prefix + std::string(namespace_) + '/';
}

ResourceTable::ResourceTable(const schema::Registry& registry, std::vector<Strategy> strategies, Conversions conversions) {
    std::map<std::string, const Strategy*> strategy_of;
    for (Strategy& one : strategies) {
        const Strategy& kept = *strategies_.emplace_back(std::make_unique<Strategy>(std::move(one)));
        const bool first = strategy_of.emplace(std::string(kept.group) + '/' + std::string(kept.kind), &kept).second;
        CHECK(first);
    }
    for (const schema::Kind* kind : registry.kinds()) {
        if (!kind->is(schema::Kind::Resource)) continue;
        // A kind that is never stored (a review) is known to discovery and answered by its own handler.
        if (kind->storage_version.empty()) continue;
        const schema::Kind* stored = registry.find_kind(kind->storage_group, kind->storage_version, kind->kind);
        if (!stored) continue;
        auto resource = std::make_shared<Resource>();
        resource->kind = kind;
        resource->stored = stored;
        const std::string name = std::string(stored->group) + '/' + std::string(stored->kind);
        auto found = strategy_of.find(name);
        if (found == strategy_of.end()) {
            strategies_.push_back(std::make_unique<Strategy>(Strategy{.group = stored->group, .kind = stored->kind}));
            found = strategy_of.emplace(name, strategies_.back().get()).first;
        }
        resource->strategy = found->second;
        resource->prefix = kind_prefix(*stored);
        resource->selectable = std::make_shared<SelectableFields>(
            SelectableFields{.fields = found->second->selectable_fields, .topic_field = found->second->topic_field});
        if (const auto conversion = conversions.find(kind->api_version() + '/' + std::string(kind->kind)); conversion != conversions.end())
            resource->conversion = conversion->second;
        if (kind == stored) {
            by_prefix_.emplace(resource->prefix, resource.get());
            stored_.push_back(resource.get());
        }
        by_path_.emplace(path_of(kind->group, kind->version, kind->plural), std::move(resource));
    }
}

ResourcePtr ResourceTable::find(std::string_view group, std::string_view version, std::string_view plural) const {
    const auto found = by_path_.find(path_of(group, version, plural));
    return found == by_path_.end() ? nullptr : found->second;
}

bool ResourceTable::add(const std::vector<ResourcePtr>& versions) {
    std::map<std::string, ResourcePtr, std::less<>> added;
    for (const ResourcePtr& one : versions) {
        if (!one->kind->is(schema::Kind::Resource)) continue;
        const std::string path = path_of(one->kind->group, one->kind->version, one->kind->plural);
        if (by_path_.contains(path) || !added.emplace(path, one).second) return false;
    }
    if (!by_prefix_.emplace(versions.front()->prefix, versions.front().get()).second) return false;
    by_path_.merge(added);
    stored_.push_back(versions.front().get());
    return true;
}

void ResourceTable::remove(const std::vector<ResourcePtr>& versions) {
    by_prefix_.erase(versions.front()->prefix);
    std::erase(stored_, versions.front().get());
    for (const ResourcePtr& one : versions) {
        one->retired = true;
        if (one->kind->is(schema::Kind::Resource)) by_path_.erase(path_of(one->kind->group, one->kind->version, one->kind->plural));
    }
}

const Resource& ResourceTable::stored(std::string_view group, std::string_view plural) const {
    const auto found =
        std::ranges::find_if(stored_, [&](const Resource* one) { return one->kind->group == group && one->kind->plural == plural; });
    CHECK(found != stored_.end());
    return **found;
}

std::vector<const schema::Kind*> ResourceTable::served_as(const schema::Kind& stored) const {
    std::vector<const schema::Kind*> kinds;
    const ResourcePtr own = find(stored.group, stored.version, stored.plural);
    // Each version of a custom resource is worked on as itself; those of one definition have one owner.
    const bool custom = own && own->kind == &stored && own->form != 0;
    const auto is_of_own_definition = [&](const ResourcePtr& other) { return !own.owner_before(other) && !other.owner_before(own); };
    for (const auto& [path, resource] : by_path_)
        if (resource->stored == &stored || (custom && is_of_own_definition(resource))) kinds.push_back(resource->kind);
    return kinds;
}

const Resource* ResourceTable::find_by_key(std::string_view key) const {
    constexpr std::string_view Root = "/registry/";
    if (!key.starts_with(Root)) return nullptr;
    const std::size_t group_end = key.find('/', Root.size());
    const std::size_t end = group_end == std::string_view::npos ? group_end : key.find('/', group_end + 1);
    if (end == std::string_view::npos) return nullptr;
    const auto found = by_prefix_.find(key.substr(0, end + 1));
    return found == by_prefix_.end() ? nullptr : found->second;
}

}  // namespace porthole::apiserver
