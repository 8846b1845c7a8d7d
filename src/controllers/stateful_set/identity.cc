#include "controllers/stateful_set/identity.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/result.h"
#include "controllers/framework/pod_control.h"
#include "controllers/framework/revisions.h"
#include "objects/owners.h"
#include "objects/pods.h"

namespace porthole::controllers::stateful {

using api::meta::v1::OwnerReference;

namespace {

constexpr const char* NameLabel = "statefulset.kubernetes.io/pod-name";
constexpr const char* IndexLabel = "apps.kubernetes.io/pod-index";

std::string claim_name(const StatefulSet& set, const PersistentVolumeClaim& claim_template, int ordinal) {
    return claim_template.metadata.name + "-" + pod_name(set, ordinal);
}

}  // namespace

std::optional<int> ordinal_of(const StatefulSet& set, const std::string& pod_name) {
    const std::string prefix = set.metadata.name + "-";
    if (!pod_name.starts_with(prefix)) return std::nullopt;
    const char *begin = pod_name.data() + prefix.size(), *end = pod_name.data() + pod_name.size();
    int ordinal = 0;
    const auto [stop, error] = std::from_chars(begin, end, ordinal);
    const bool canonical = stop == end && error == std::errc() && ordinal >= 0 && std::to_string(ordinal) == std::string(begin, end);
    return canonical ? std::optional(ordinal) : std::nullopt;
}

std::string pod_name(const StatefulSet& set, int ordinal) { return set.metadata.name + "-" + std::to_string(ordinal); }

bool has_identity(const Pod& pod) {
    const auto label = pod.metadata.labels.find(NameLabel);
    return label != pod.metadata.labels.end() && label->second == pod.metadata.name;
}

void set_identity(Pod& pod, int ordinal) {
    pod.metadata.labels[NameLabel] = pod.metadata.name;
    pod.metadata.labels[IndexLabel] = std::to_string(ordinal);
}

Pod make_pod(const StatefulSet& set, const api::core::v1::PodTemplateSpec& pod_template, const std::string& revision, int ordinal) {
    Pod pod = pod_from_template(pod_template, owner_of(set));
    pod.metadata.generate_name.clear();
    pod.metadata.name = pod_name(set, ordinal);
    set_identity(pod, ordinal);
    pod.metadata.labels[RevisionHashLabel] = revision;
    pod.spec.hostname = pod.metadata.name;
    pod.spec.subdomain = set.spec.service_name;
    for (const PersistentVolumeClaim& claim : set.spec.volume_claim_templates) {
        std::erase_if(pod.spec.volumes, [&](const auto& volume) { return volume.name == claim.metadata.name; });
        auto& volume = pod.spec.volumes.emplace_back();
        volume.name = claim.metadata.name;
        volume.persistent_volume_claim.emplace().claim_name = claim_name(set, claim, ordinal);
    }
    return pod;
}

std::vector<PersistentVolumeClaim> make_claims(const StatefulSet& set, int ordinal) {
    std::vector<PersistentVolumeClaim> claims;
    for (const PersistentVolumeClaim& claim_template : set.spec.volume_claim_templates) {
        PersistentVolumeClaim& claim = claims.emplace_back(claim_template);
        claim.metadata.name = claim_name(set, claim_template, ordinal);
        claim.metadata.namespace_ = set.metadata.namespace_;
        if (set.spec.selector)
            for (const auto& [key, value] : set.spec.selector->match_labels) claim.metadata.labels[key] = value;
        claim.status = {};
    }
    return claims;
}

std::string revision_of(const Pod& pod) {
    const auto found = pod.metadata.labels.find(RevisionHashLabel);
    return found == pod.metadata.labels.end() ? "" : found->second;
}

bool is_running_and_ready(const Pod& pod) { return pod.status.phase == "Running" && objects::is_ready(pod); }

Task<> Claims::ensure(const StatefulSet& set, int ordinal) {
    for (PersistentVolumeClaim& claim : make_claims(set, ordinal)) {
        const client::NamespacedName key = client::key_of(claim);
        if (const auto there = claims_.find(key)) {
            if (!there->metadata.deletion_timestamp) continue;
            co_return Error(Reason::Conflict, "claim " + key.name + " is being deleted");
        }
        const auto created = co_await client_.create(std::move(claim));
        const std::string where = fmt::format("Pod {} in StatefulSet {}", pod_name(set, ordinal), set.metadata.name);
        if (created) {
            events_.normal(set, "SuccessfulCreate", fmt::format("Create Claim {} {} success", key.name, where));
        } else if (created.error().reason != Reason::AlreadyExists) {
            if (!is_cancelled(created))
                events_.warning(set, "FailedCreate",
                                fmt::format("Create Claim {} for {} failed error: {}", key.name, where, created.error().message));
            co_return created.error();
        }
    }
    co_return {};
}

bool Claims::belong_to_an_earlier_pod(const StatefulSet& set, int ordinal) const {
    const auto& policy = set.spec.persistent_volume_claim_retention_policy;
    if (!policy || policy->when_scaled != "Delete") return false;
    return std::ranges::any_of(make_claims(set, ordinal), [&](const PersistentVolumeClaim& claim) {
        const auto there = claims_.find(client::key_of(claim));
        return there && std::ranges::any_of(there->metadata.owner_references, [&](const OwnerReference& owner) {
                   return owner.kind == "Pod" && owner.name == pod_name(set, ordinal);
               });
    });
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
