#include "controllers/deployment/revisions.h"

#include <algorithm>
#include <tuple>

#include "controllers/deployment/annotations.h"
#include "controllers/deployment/rollout.h"
#include "controllers/framework/revisions.h"
#include "objects/owners.h"

namespace porthole::controllers::deployment {
namespace {

constexpr std::size_t LongestName = 253;

}  // namespace

bool has_template_of(const ReplicaSet& set, const Deployment& deployment) {
    auto own = set.spec.template_, wanted = deployment.spec.template_;
    own.metadata.labels.erase(HashLabel);
    wanted.metadata.labels.erase(HashLabel);
    return own == wanted;
}

void sort_by_age(std::vector<ReplicaSet>& sets) {
    std::ranges::sort(sets, [](const ReplicaSet& a, const ReplicaSet& b) {
        return std::tie(a.metadata.creation_timestamp, a.metadata.name) < std::tie(b.metadata.creation_timestamp, b.metadata.name);
    });
}

std::optional<std::size_t> find_new_set(const std::vector<ReplicaSet>& sets_by_age, const Deployment& deployment) {
    for (std::size_t i = 0; i < sets_by_age.size(); ++i)
        if (has_template_of(sets_by_age[i], deployment)) return i;
    return std::nullopt;
}

std::int64_t next_revision(const std::vector<ReplicaSet>& old_sets) {
    std::int64_t latest = 0;
    for (const ReplicaSet& set : old_sets) latest = std::max(latest, revision(set));
    return latest + 1;
}

ReplicaSet make_new_set(const Deployment& deployment, std::int64_t next) {
    const std::string hash = template_hash(deployment.spec.template_, deployment.status.collision_count);
    ReplicaSet set;
    set.metadata.namespace_ = deployment.metadata.namespace_;
    set.metadata.name = deployment.metadata.name.substr(0, LongestName - 1 - hash.size()) + "-" + hash;
    set.metadata.owner_references = {objects::controller_reference(deployment)};
    set.spec.template_ = deployment.spec.template_;
    set.spec.template_.metadata.labels[HashLabel] = hash;
    set.metadata.labels = set.spec.template_.metadata.labels;
    set.spec.selector = deployment.spec.selector;
    set.spec.selector->match_labels[HashLabel] = hash;
    set.spec.min_ready_seconds = deployment.spec.min_ready_seconds;
    set_revision_annotations(deployment, set, next);
    return set;
}

std::vector<ReplicaSet> beyond_history(const Deployment& deployment, std::vector<ReplicaSet> old_sets) {
    const std::int32_t limit = deployment.spec.revision_history_limit.value_or(INT32_MAX);
    if (limit == INT32_MAX) return {};
    std::erase_if(old_sets, [](const ReplicaSet& set) { return set.metadata.deletion_timestamp.has_value(); });
    if (old_sets.size() <= static_cast<std::size_t>(limit)) return {};
    std::ranges::sort(old_sets, {}, [](const ReplicaSet& set) { return std::pair(revision(set), set.metadata.name); });
    old_sets.resize(old_sets.size() - static_cast<std::size_t>(limit));
    std::erase_if(old_sets, [](const ReplicaSet& set) {
        return set.status.replicas != 0 || replicas(set) != 0 || set.metadata.generation > set.status.observed_generation;
    });
    return old_sets;
}

}  // namespace porthole::controllers::deployment
