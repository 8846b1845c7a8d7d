#include "controllers/stateful_set/claims.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error_reasons.h"
#include "objects/owners.h"

namespace porthole::controllers::stateful {

using api::meta::v1::OwnerReference;

Task<> Claims::ensure(const StatefulSet& set, int ordinal) {
    for (PersistentVolumeClaim& claim : make_claims(set, ordinal)) {
        const client::NamespacedName key = client::key_of(claim);
        if (const auto there = claims_.find(key)) {
            if (!there->metadata.deletion_timestamp) continue;
            co_return Error(Reason::Conflict, "claim " + key.name + " is being deleted");
        }
        const auto created = co_await client_.create(std::move(claim));
        const std::string what =
            fmt::format("Create Claim {} Pod {} in StatefulSet {} ", key.name, pod_name(set, ordinal), set.metadata.name);
        if (created) {
            events_.normal(set, "SuccessfulCreate", what + "success");
        } else if (created.error().reason != Reason::AlreadyExists) {
            if (!is_cancelled(created)) events_.warning(set, "FailedCreate", what + "failed error: " + created.error().message);
            co_return created.error();
        }
    }
    co_return {};
}

Task<> Claims::set_owners(const StatefulSet& set, const Pod& pod, bool scaled_down) {
    const auto& policy = set.spec.persistent_volume_claim_retention_policy;
    if (!policy) co_return {};
    const auto ordinal = ordinal_of(set, pod.metadata.name);
    if (!ordinal) co_return {};
    const bool by_pod = policy->when_scaled == "Delete" && scaled_down;
    const bool by_set = policy->when_deleted == "Delete" && !by_pod;
    for (const PersistentVolumeClaim& claim : make_claims(set, *ordinal)) {
        const auto there = claims_.find(client::key_of(claim));
        if (!there) continue;
        std::vector<OwnerReference> owners = there->metadata.owner_references;
        std::erase_if(owners, [&](const OwnerReference& owner) {
            return owner.uid == set.metadata.uid || (owner.kind == "Pod" && owner.name == pod.metadata.name);
        });
        if (std::ranges::any_of(owners, [](const OwnerReference& owner) { return owner.controller.value_or(false); })) {
            events_.warning(
                set, "ConflictingController",
                "PersistentVolumeClaim " + there->metadata.name + " has a conflicting controller; its retention policy is ignored");
            continue;
        }
        if (by_set) owners.push_back(objects::controller_reference(set));
        if (by_pod) owners.push_back(objects::controller_reference(pod));
        if (owners == there->metadata.owner_references) continue;
        PersistentVolumeClaim changed = *there;
        changed.metadata.owner_references = std::move(owners);
        CO_TRY_VOID(co_await client_.update(std::move(changed)));
    }
    co_return {};
}

}  // namespace porthole::controllers::stateful
