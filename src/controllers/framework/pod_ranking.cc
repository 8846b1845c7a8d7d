#include "controllers/framework/pod_ranking.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "objects/conditions.h"
#include "objects/pod_resources.h"
#include "objects/pods.h"

namespace porthole::controllers {
namespace {

using api::core::v1::Pod;

constexpr const char* CostAnnotation = "controller.kubernetes.io/pod-deletion-cost";

int phase_rank(const Pod& pod) {
    if (pod.status.phase == "Pending") return 0;
    if (pod.status.phase == "Unknown") return 1;
    return 2;
}

std::int32_t restarts(const Pod& pod) {
    std::int32_t most = 0;
    for (const auto& container : pod.status.container_statuses) most = std::max(most, container.restart_count);
    return most;
}

std::int32_t sidecar_restarts(const Pod& pod) {
    std::int32_t most = 0;
    for (const auto& status : pod.status.init_container_statuses) {
        const auto container = std::ranges::find(pod.spec.init_containers, status.name, &api::core::v1::Container::name);
        if (container != pod.spec.init_containers.end() && objects::is_sidecar(*container)) most = std::max(most, status.restart_count);
    }
    return most;
}

/// Ages within a factor of two count as equal, so that pods of one rollout are not always taken in order of birth.
int age_bucket(Timestamp since, SystemTime now) {
    if (since.is_zero()) return -1;
    const double nanoseconds = static_cast<double>((now - since.to_system_time()).count());
    return nanoseconds < 1 ? 0 : static_cast<int>(std::log2(nanoseconds)) + 1;
}

/// What is compared, in order of weight; the smaller goes first.
struct Rank {
    bool assigned;
    int phase;
    bool ready;
    std::int32_t cost;
    int uncrowded;
    int ready_bucket;
    int calm, calm_sidecars;
    int age_bucket;
    std::string uid;
    auto operator<=>(const Rank&) const = default;
};

Rank rank(const RankedPod& ranked, SystemTime now) {
    const Pod& pod = *ranked.pod;
    const bool ready = objects::is_ready(pod);
    Rank rank{!pod.spec.node_name.empty(), phase_rank(pod), ready, deletion_cost(pod), -ranked.neighbors, 0, 0, 0, 0, pod.metadata.uid};
    if (ready) rank.ready_bucket = age_bucket(objects::find_condition(pod.status.conditions, "Ready")->last_transition_time, now);
    rank.calm = -restarts(pod);
    rank.calm_sidecars = -sidecar_restarts(pod);
    rank.age_bucket = age_bucket(pod.metadata.creation_timestamp, now);
    return rank;
}

}  // namespace

std::int32_t deletion_cost(const Pod& pod) {
    const auto found = pod.metadata.annotations.find(CostAnnotation);
    if (found == pod.metadata.annotations.end()) return 0;
    const std::string& text = found->second;
    std::int32_t cost = 0;
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), cost);
    return error == std::errc() && end == text.data() + text.size() ? cost : 0;
}

void rank_for_deletion(std::vector<RankedPod>& pods, SystemTime now) {
    std::vector<std::pair<Rank, RankedPod>> ranked;
    for (RankedPod& pod : pods) ranked.emplace_back(rank(pod, now), std::move(pod));
    std::ranges::sort(ranked, {}, &std::pair<Rank, RankedPod>::first);
    pods.clear();
    for (auto& [rank, pod] : ranked) pods.push_back(std::move(pod));
}

}  // namespace porthole::controllers
