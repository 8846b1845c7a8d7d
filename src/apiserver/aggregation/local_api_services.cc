#include "apiserver/aggregation/local_api_services.h"

#include <algorithm>

#include "base/result.h"
#include "runtime/scope.h"

namespace porthole::apiserver {
namespace {

constexpr const char* ManagedLabel = "kube-aggregator.kubernetes.io/automanaged";
constexpr const char* OnStart = "onstart";
constexpr const char* Always = "true";
/// The aggregation layer's own group comes first. It has no object: it cannot be given away.
constexpr ApiPriority OwnPriority{.group = 20000, .version = 1};
/// Of what Porthole serves by itself and upstream by an extension server: as metrics-server's manifests have it.
constexpr ApiPriority ReplaceablePriority{.group = 100, .version = 100};

std::string managed(const APIService& object) {
    const auto label = object.metadata.labels.find(ManagedLabel);
    return label == object.metadata.labels.end() ? "" : label->second;
}
bool is_managed(const APIService& object) { return managed(object) == OnStart || managed(object) == Always; }

/// What has changed meanwhile comes as an event.
Result<void> unless_overtaken(Result<void> outcome) {
    if (outcome) return outcome;
    const Reason reason = outcome.error().reason;
    const bool overtaken = reason == Reason::Conflict || reason == Reason::NotFound || reason == Reason::AlreadyExists;
    return overtaken ? Result<void>() : std::move(outcome);
}

template <class T>
Result<void> outcome_of(Result<T> written) {
    if (!written) return std::move(written).error();
    return {};
}

}  // namespace

bool LocalApiServices::is_custom(std::string_view group, std::string_view version) const {
    const auto resources = registry_.resources(group, version);
    return std::ranges::all_of(resources, [](const schema::Kind* kind) { return kind->type && !kind->type->create; });
}

ApiPriority LocalApiServices::priority_of(const std::string& group, const std::string& version) const {
    if (group == APIService::kind().group) return OwnPriority;
    if (const auto known = built_in_priority(group, version)) return *known;
    return is_custom(group, version) ? CustomResourcePriority : ReplaceablePriority;
}

std::map<std::string, APIService> LocalApiServices::wanted() const {
    std::map<std::string, APIService> all;
    for (const schema::Kind* kind : registry_.kinds()) {
        if (!kind->is(schema::Kind::Resource)) continue;
        const auto built_in = built_in_priority(kind->group, kind->version);
        const bool custom = kind->type && !kind->type->create;
        if (!custom && !built_in) continue;
        // A custom resource may be of a built-in group version.
        APIService& object = all[api_service_name(kind->group, kind->version)];
        const ApiPriority priority = built_in.value_or(CustomResourcePriority);
        object.metadata.name = api_service_name(kind->group, kind->version);
        object.metadata.labels[ManagedLabel] = built_in ? OnStart : Always;
        object.spec.group = kind->group;
        object.spec.version = kind->version;
        object.spec.group_priority_minimum = priority.group;
        object.spec.version_priority = priority.version;
    }
    return all;
}

Task<> LocalApiServices::sync(client::Client& client) {
    if (!std::exchange(started_, true))
        for (const auto& [name, object] : objects_) at_start_.insert(name);
    std::map<std::string, APIService> all = wanted();
    std::vector<Task<>> tasks;  // at once, so that they share the store's group commits
    for (const auto& [name, object] : objects_)
        if (!all.contains(name) && is_managed(*object)) tasks.push_back(sync_one(client, name, std::nullopt));
    for (auto& [name, object] : all) tasks.push_back(sync_one(client, name, std::move(object)));
    CO_TRY(auto results, co_await when_all(std::move(tasks)));
    for (auto& result : results) CO_TRY_VOID(std::move(result));
    co_return {};
}

Task<> LocalApiServices::sync_one(client::Client& client, std::string name, std::optional<APIService> wanted) {
    const auto found = objects_.find(name);
    const std::shared_ptr<const APIService> present = found == objects_.end() ? nullptr : found->second;
    const bool synced = synced_.contains(name);
    if (wanted && managed(*wanted) == OnStart && synced) co_return {};
    if (present && !is_managed(*present)) co_return {};
    if (present && managed(*present) == OnStart && (synced || !at_start_.contains(name))) co_return {};
    CO_TRY_VOID(unless_overtaken(co_await change(client, present.get(), std::move(wanted))));
    synced_.insert(name);
    co_return {};
}

Task<> LocalApiServices::change(client::Client& client, const APIService* present, std::optional<APIService> wanted) {
    if (!present && !wanted) co_return {};
    if (!present) co_return outcome_of(co_await client.create(*std::move(wanted)));
    if (!wanted) {
        client::NamespacedName key{.namespace_ = {}, .name = present->metadata.name};
        co_return co_await client.remove<APIService>(std::move(key), {.uid = present->metadata.uid});
    }
    if (present->spec == wanted->spec) co_return {};
    APIService corrected = *present;
    corrected.spec = wanted->spec;
    co_return outcome_of(co_await client.update(std::move(corrected)));
}

}  // namespace porthole::apiserver
