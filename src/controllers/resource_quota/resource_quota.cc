#include "controllers/resource_quota/resource_quota.h"

#include <algorithm>

#include "base/result.h"
#include "objects/claim_usage.h"
#include "schema/json/json.h"

namespace porthole::controllers {

using api::core::v1::PersistentVolumeClaim;
using api::core::v1::Pod;
using api::core::v1::ResourceQuota;
using api::core::v1::Service;
using api::resource::v1::DeviceClass;
using api::resource::v1::ResourceClaim;
using objects::ResourceAmounts;

namespace {

constexpr Duration Recount = std::chrono::minutes(5);         ///< for what ends by the clock: a pod's grace
constexpr Duration RecountCustom = std::chrono::seconds(30);  ///< of kinds that may come and go, and so are not watched
constexpr std::string_view CountPrefix = "count/";

bool is_typed(const schema::Kind& kind) {
    if (kind.group == "resource.k8s.io") return kind.plural == "resourceclaims";
    return kind.group.empty() && (kind.plural == "pods" || kind.plural == "services" || kind.plural == "persistentvolumeclaims");
}

/// Of a namespace's pods, those that count the same have the same key: a quota is computed from few keys instead of all pods.
std::vector<std::string> use_key(const Pod& pod) { return {pod.metadata.namespace_ + "/" + schema::encode_json(objects::quota_part(pod))}; }

ResourceAmounts times(ResourceAmounts amounts, std::size_t count) {
    ResourceAmounts sum;
    for (; count > 0; count /= 2) {
        if (count % 2 == 1) objects::operator+=(sum, amounts);
        objects::operator+=(amounts, ResourceAmounts(amounts));
    }
    return sum;
}

}  // namespace

ResourceQuotaController::ResourceQuotaController(Context& context)
    : Controller(context.loop, context.log, {.name = "resourcequota-controller", .workers = 5}),
      context_(context),
      quotas_(context.informers.get<ResourceQuota>()),
      pods_(context.informers.get<Pod>()),
      services_(context.informers.get<Service>()),
      claims_(context.informers.get<PersistentVolumeClaim>()),
      device_classes_(context.informers.get<DeviceClass>()),
      device_claims_(context.informers.get<ResourceClaim>()) {
    reconcile_each(quotas_);
    depends_on(pods_).on_change([this](const Pod& pod) { recount(pod.metadata.namespace_); });
    depends_on(services_).on_change([this](const Service& service) { recount(service.metadata.namespace_); });
    depends_on(claims_).on_change([this](const PersistentVolumeClaim& claim) { recount(claim.metadata.namespace_); });
    depends_on(device_claims_).on_change([this](const ResourceClaim& claim) { recount(claim.metadata.namespace_); });
    depends_on(device_classes_).on_change([this](const DeviceClass&) { recount(""); });
}

void ResourceQuotaController::recount(const std::string& namespace_) {
    for (const auto& quota : namespace_.empty() ? quotas_.list() : quotas_.list(namespace_)) queue().add(client::key_of(*quota));
}

ResourceQuotaController::Counter* ResourceQuotaController::counter_for(const std::string& resource) {
    if (const auto known = counters_.find(resource); known != counters_.end()) return known->second;
    for (const schema::Kind* kind : context_.kinds.kinds()) {
        if (!kind->namespaced() || !kind->has_verb("watch") || is_typed(*kind)) continue;
        if (objects::count_resource(*kind) != resource && objects::old_count_resource(*kind) != resource) continue;
        Counter& counter = context_.informers.get<api::meta::v1::PartialObjectMetadata>(*kind, true);
        counter.on_change([this](const api::meta::v1::PartialObjectMetadata& object) { recount(object.metadata.namespace_); });
        return counters_[resource] = &counter;
    }
    return counters_[resource] = nullptr;
}

ResourceAmounts ResourceQuotaController::used_by_typed_kinds(const ResourceQuota& quota) const {
    ResourceAmounts used;
    const std::string& space = quota.metadata.namespace_;
    const std::string prefix = space + "/";
    for (const auto& [key, count] : pods_by_use_->counts(prefix)) {
        const auto pod = schema::decode_json<Pod>(std::string_view(key).substr(prefix.size()));
        if (pod && objects::covers(quota.spec, *pod)) objects::operator+=(used, times(objects::usage_of(*pod, loop().wall_now()), count));
    }
    for (const auto& claim : claims_.list(space))
        if (objects::covers(quota.spec, *claim)) objects::operator+=(used, objects::usage_of(*claim));
    if (objects::has_scopes(quota.spec)) return used;
    for (const auto& service : services_.list(space)) objects::operator+=(used, objects::usage_of(*service));
    if (const auto claims = device_claims_.list(space); !claims.empty()) {
        const objects::ClaimUsage usage(device_classes_.list(), pods_.list(space), claims, loop().wall_now());
        objects::operator+=(used, usage.of_all());
    }
    return used;
}

bool ResourceQuotaController::is_custom(const std::string& resource) const {
    if (!resource.starts_with(CountPrefix) || !resource.contains('.')) return false;
    return std::ranges::none_of(context_.kinds.kinds(),
                                [&](const schema::Kind* kind) { return objects::count_resource(*kind) == resource; });
}

Task<std::int64_t> ResourceQuotaController::count_custom(std::string resource, std::string namespace_) {
    const std::size_t dot = resource.find('.');
    const std::string group = "/apis/" + resource.substr(dot + 1);
    const auto versions = co_await context_.client.get_raw(group);
    if (is_not_found(versions)) co_return 0;
    if (!versions) co_return versions.error();
    CO_TRY(const schema::Value answer, schema::parse_json(**versions));
    const std::string version(answer.string_at({"preferredVersion", "version"}));
    const std::string plural = resource.substr(CountPrefix.size(), dot - CountPrefix.size());
    const std::string path = group + "/" + version + "/namespaces/" + namespace_ + "/" + plural;
    for (const char* query : {"limit=1", ""}) {  // not every server tells how many more there are
        const auto body = co_await context_.client.get_raw(path, query, client::MetadataList);
        if (is_not_found(body)) co_return 0;
        if (!body) co_return body.error();
        CO_TRY(const client::ListSlices list, client::slice_list(**body));
        CO_TRY(const std::string_view text, client::json_member(**body, "metadata"));
        CO_TRY(const schema::Value metadata, schema::parse_json(text));
        const std::int64_t more = at(metadata, "remainingItemCount").int_or(0);
        if (more > 0 || list.continue_.empty()) co_return static_cast<std::int64_t>(list.items.size()) + more;
    }
    co_return Error(Reason::InternalError, "the list of " + resource + " is cut");
}

Task<client::Requeue> ResourceQuotaController::reconcile(client::NamespacedName key) {
    const auto cached = quotas_.find(key);
    if (!cached) co_return client::Requeue::never();
    if (!pods_by_use_) pods_by_use_ = pods_.add_index(use_key);
    for (const auto& [resource, hard] : cached->spec.hard)
        if (Counter* counter = counter_for(resource)) CO_TRY_VOID(co_await counter->wait_for_sync());
    const auto quota = quotas_.find(key);
    if (!quota) co_return client::Requeue::never();
    ResourceAmounts used = used_by_typed_kinds(*quota);
    ResourceQuota changed = *quota;
    changed.status.hard = quota->spec.hard;
    changed.status.used.clear();
    std::optional<Error> failure;
    bool has_custom = false;
    for (const auto& [resource, hard] : quota->spec.hard) {
        Quantity amount = used[resource];
        if (Counter* counter = counter_for(resource))
            amount = Quantity::from_value(static_cast<std::int64_t>(counter->list(key.namespace_).size()));
        if (is_custom(resource)) {
            has_custom = true;
            const auto count = co_await count_custom(resource, key.namespace_);
            if (is_cancelled(count)) co_return count.error();
            const auto before = quota->status.used.find(resource);
            if (count) amount = Quantity::from_value(*count);
            if (!count && before != quota->status.used.end()) amount = before->second;
            if (!count) failure = count.error();
        }
        changed.status.used[resource] = amount;
    }
    if (changed.status != quota->status) CO_TRY_VOID(co_await context_.client.update_status(std::move(changed)));
    if (failure) co_return std::move(*failure);
    co_return client::Requeue::in(has_custom ? RecountCustom : Recount);
}

Result<ControllerPtr> make_resource_quota(Context& context) { return make_controller<ResourceQuotaController>(context); }

}  // namespace porthole::controllers
