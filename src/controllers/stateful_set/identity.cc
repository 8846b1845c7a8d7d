#include "controllers/stateful_set/identity.h"

#include <algorithm>
#include <charconv>

#include "controllers/framework/pod_control.h"
#include "controllers/framework/revisions.h"
#include "objects/pods.h"

namespace porthole::controllers::stateful {
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

Pod make_pod(const StatefulSet& set, const api::core::v1::PodTemplateSpec& pod_template, const std::string& revision, int ordinal) {
    Pod pod = pod_from_template(pod_template, owner_of(set));
    pod.metadata.generate_name.clear();
    pod.metadata.name = pod_name(set, ordinal);
    pod.metadata.labels[NameLabel] = pod.metadata.name;
    pod.metadata.labels[IndexLabel] = std::to_string(ordinal);
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

}  // namespace porthole::controllers::stateful
