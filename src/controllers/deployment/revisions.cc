#include "controllers/deployment/revisions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "client/owners.h"
#include "controllers/deployment/rollout.h"
#include "controllers/framework/template_hash.h"

namespace porthole::controllers::deployment {
namespace {

constexpr const char* HistoryAnnotation = "deployment.kubernetes.io/revision-history";
constexpr const char* DesiredAnnotation = "deployment.kubernetes.io/desired-replicas";
constexpr const char* MaxAnnotation = "deployment.kubernetes.io/max-replicas";
constexpr std::array<std::string_view, 6> NotCopied = {RevisionAnnotation,
                                                       HistoryAnnotation,
                                                       DesiredAnnotation,
                                                       MaxAnnotation,
                                                       "kubectl.kubernetes.io/last-applied-configuration",
                                                       "deprecated.deployment.rollback.to"};
constexpr std::size_t LongestHistory = 2000;
constexpr std::size_t LongestName = 253;

template <class Number>
std::optional<Number> number_annotation(const ReplicaSet& set, const char* key) {
    const auto found = set.metadata.annotations.find(key);
    if (found == set.metadata.annotations.end()) return std::nullopt;
    const std::string& text = found->second;
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

bool set_annotation(ReplicaSet& set, const std::string& key, const std::string& value) {
    std::string& present = set.metadata.annotations[key];
    if (present == value) return false;
    present = value;
    return true;
}

void append_history(ReplicaSet& set, const std::string& revision) {
    std::string& history = set.metadata.annotations[HistoryAnnotation];
    if (!history.empty()) history += ",";
    history += revision;
    while (history.size() > LongestHistory) {
        const std::size_t comma = history.find(',');
        if (comma == history.npos) break;
        history.erase(0, comma + 1);
    }
}

}  // namespace

std::int64_t revision(const ReplicaSet& set) { return number_annotation<std::int64_t>(set, RevisionAnnotation).value_or(0); }
std::optional<std::int32_t> desired_replicas_annotation(const ReplicaSet& set) {
    return number_annotation<std::int32_t>(set, DesiredAnnotation);
}
std::optional<std::int32_t> max_replicas_annotation(const ReplicaSet& set) { return number_annotation<std::int32_t>(set, MaxAnnotation); }

bool set_replicas_annotations(ReplicaSet& set, std::int32_t desired, std::int32_t max) {
    const bool desired_changed = set_annotation(set, DesiredAnnotation, std::to_string(desired));
    return set_annotation(set, MaxAnnotation, std::to_string(max)) || desired_changed;
}

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

bool set_revision_annotations(const Deployment& deployment, ReplicaSet& set, std::int64_t next) {
    bool changed = false;
    for (const auto& [key, value] : deployment.metadata.annotations)
        if (std::ranges::find(NotCopied, key) == NotCopied.end()) changed |= set_annotation(set, key, value);
    const std::int64_t before = revision(set);
    if (before >= next) return changed;
    set_annotation(set, RevisionAnnotation, std::to_string(next));
    if (before > 0) append_history(set, std::to_string(before));
    return true;
}

ReplicaSet make_new_set(const Deployment& deployment, std::int64_t next) {
    const std::string hash = template_hash(deployment.spec.template_, deployment.status.collision_count);
    ReplicaSet set;
    set.metadata.namespace_ = deployment.metadata.namespace_;
    set.metadata.name = deployment.metadata.name.substr(0, LongestName - 1 - hash.size()) + "-" + hash;
    set.metadata.owner_references = {client::controller_reference(deployment)};
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
