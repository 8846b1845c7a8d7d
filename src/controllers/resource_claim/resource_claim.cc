#include "controllers/resource_claim/resource_claim.h"

#include <algorithm>

#include "base/result.h"
#include "controllers/resource_claim/claim_names.h"
#include "objects/owners.h"
#include "objects/resource_claims.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::controllers {
namespace {

using client::Requeue;
using schema::Value;

constexpr const char* EntryAnnotation = "resource.kubernetes.io/pod-claim-name";
constexpr std::size_t MostReservations = 256;

}  // namespace

ResourceClaimController::ResourceClaimController(Context& context)
    : Controller(context.loop, context.log, {.name = "resource-claim", .workers = 10}),
      client_(context.client),
      events_(context.events.get("resource_claim")),
      pods_(context.informers.get<api::core::v1::Pod>()),
      claims_(context.informers.get<Claim>()),
      templates_(context.informers.get<Template>()),
      claims_by_owner_(claims_) {
    depends_on(pods_).subscribe({.added = [this](const Pod& now) { queue().add(client::key_of(*now)); },
                                 .updated =
                                     [this](const Pod& last, const Pod& now) {
                                         if (last->metadata.uid != now->metadata.uid) made_.erase(last->metadata.uid);
                                         queue().add(client::key_of(*now));
                                     },
                                 .deleted = [this](const Pod& last) { made_.erase(last->metadata.uid); }});
    depends_on(claims_).subscribe({.deleted = [this](const std::shared_ptr<const Claim>& last) {
        const auto* owner = objects::find_controller(last->metadata);
        if (!owner || owner->kind != "Pod") return;
        forget(last->metadata, *owner);
        queue().add({last->metadata.namespace_, owner->name});
    }});
    depends_on(templates_).on_change([this](const Template& changed) {
        pods_.visit(changed.metadata.namespace_, [&](const api::core::v1::Pod& pod) {
            for (const auto& entry : pod.spec.resource_claims)
                if (entry.resource_claim_template_name == changed.metadata.name) queue().add(client::key_of(pod));
        });
    });
}

/// So that it is made again: where its pod has it, whatever others say to be that pod's.
void ResourceClaimController::forget(const api::meta::v1::ObjectMeta& claim, const api::meta::v1::OwnerReference& owner) {
    const auto made = made_.find(owner.uid);
    if (made == made_.end()) return;
    std::erase_if(made->second, [&](const auto& entry) { return entry.second == client::NamespacedName{claim.namespace_, claim.name}; });
}

Task<Requeue> ResourceClaimController::reconcile(client::NamespacedName key) {
    const Pod pod = pods_.find(key);
    if (!pod || pod->spec.resource_claims.empty() || pod->metadata.deletion_timestamp || is_pod_over(*pod)) co_return Requeue::never();
    const auto named = objects::resource_claim_names(*pod);
    std::map<std::string, std::string> names, seen = claims_by_entry(*pod);
    for (const auto& entry : pod->spec.resource_claims) {
        auto name = co_await ensure_claim(pod, entry, named.at(entry.name), seen[entry.name]);
        if (!name) {
            if (!is_cancelled(name))
                events_.warning(*pod, "FailedResourceClaimCreation", "PodResourceClaim " + entry.name + ": " + name.error().message);
            co_return std::move(name).error();
        }
        if (!name->empty()) names[entry.name] = *std::move(name);
    }
    if (!names.empty()) CO_TRY_VOID(co_await write_names(pod, std::move(names)));
    if (!pod->spec.node_name.empty()) CO_TRY_VOID(co_await reserve_claims(pod));
    co_return Requeue::never();
}

Task<std::string> ResourceClaimController::ensure_claim(Pod pod, api::core::v1::PodResourceClaim entry, std::optional<std::string> named,
                                                        std::string seen) {
    if (!entry.resource_claim_template_name) co_return std::string();
    const std::string& namespace_ = pod->metadata.namespace_;
    if (named) {
        if (named->empty()) co_return std::string();
        const auto known = claims_.find({namespace_, *named});
        if (known && objects::is_controlled_by(known->metadata, pod->metadata.uid)) co_return std::string();
    }
    // Made, but not told of: by a predecessor, or a moment ago.
    if (!seen.empty()) co_return seen;
    if (const auto made = made_.find(pod->metadata.uid); made != made_.end() && made->second.contains(entry.name))
        co_return made->second.at(entry.name).name;

    const auto source = templates_.find({namespace_, *entry.resource_claim_template_name});
    if (!source)
        co_return Error(Reason::NotFound, "resource claim template \"" + *entry.resource_claim_template_name +
                                              "\": resourceclaimtemplate.resource.k8s.io \"" + *entry.resource_claim_template_name +
                                              "\" not found");
    Claim claim;
    claim.metadata.namespace_ = namespace_;
    claim.metadata.generate_name = generated_claim_base(pod->metadata.name, entry.name);
    claim.metadata.labels = source->spec.metadata.labels;
    claim.metadata.annotations = source->spec.metadata.annotations;
    claim.metadata.annotations[EntryAnnotation] = entry.name;
    claim.metadata.owner_references = {objects::controller_reference(*pod)};
    claim.metadata.owner_references.front().block_owner_deletion.reset();  // the pod's end does not wait for it
    claim.spec = source->spec.spec;
    auto created = co_await client_.create(std::move(claim));
    if (!created) co_return std::move(created).error().with_context("create ResourceClaim ");
    // Nothing would remove the entry of a pod that has ended meanwhile.
    const auto now = pods_.find(client::key_of(*pod));
    if (now && now->metadata.uid == pod->metadata.uid) made_[pod->metadata.uid][entry.name] = client::key_of(*created);
    co_return created->metadata.name;
}

std::map<std::string, std::string> ResourceClaimController::claims_by_entry(const api::core::v1::Pod& pod) const {
    std::map<std::string, std::string> claims;
    for (const auto& claim : claims_by_owner_.dependents_of(pod.metadata)) {
        const auto annotation = claim->metadata.annotations.find(EntryAnnotation);
        if (annotation != claim->metadata.annotations.end()) claims.try_emplace(annotation->second, claim->metadata.name);
    }
    return claims;
}

Task<> ResourceClaimController::write_names(Pod pod, std::map<std::string, std::string> names) {
    Value statuses = Value::array();
    for (auto& [entry, claim] : names) statuses.as_array().push_back(Value::object({{"name", entry}, {"resourceClaimName", claim}}));
    const Value patch = Value::object({{"metadata", Value::object({{"uid", pod->metadata.uid}})},
                                       {"status", Value::object({{"resourceClaimStatuses", std::move(statuses)}})}});
    const auto patched = co_await client_.patch<api::core::v1::Pod>(client::key_of(*pod), client::PatchType::StrategicMerge,
                                                                    schema::to_json(patch), "status");
    if (!patched && !is_not_found(patched)) co_return patched.error();
    co_return {};
}

Task<> ResourceClaimController::reserve_claims(Pod pod) {
    for (const std::string& name : resource_claim_names(*pod)) {
        const auto found = claims_.find({pod->metadata.namespace_, name});
        if (!found || !found->status.allocation || objects::is_reserved_for(*found, pod->metadata.uid) ||
            found->status.reserved_for.size() >= MostReservations)
            continue;
        Claim claim = *found;
        claim.status.reserved_for.push_back({.resource = "pods", .name = pod->metadata.name, .uid = pod->metadata.uid});
        const auto updated = co_await client_.update_status(std::move(claim));
        if (!updated && !is_not_found(updated)) co_return updated.error();
    }
    co_return {};
}

Result<ControllerPtr> make_resource_claim(Context& context) { return make_controller<ResourceClaimController>(context); }

}  // namespace porthole::controllers
