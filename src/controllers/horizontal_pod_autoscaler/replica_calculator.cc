#include "controllers/horizontal_pod_autoscaler/replica_calculator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/result.h"
#include "objects/conditions.h"
#include "objects/pod_resources.h"
#include "objects/pods.h"

namespace porthole::controllers {

using api::core::v1::Container;
using api::core::v1::Pod;

namespace {

__extension__ using Wide = __int128;  ///< for sums of what others say

template <class To>
To clamped(Wide value) {
    return static_cast<To>(std::clamp<Wide>(value, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
}

/// Rounded up; what is no number of pods becomes the nearest that is.
std::int32_t to_replicas(double pods) {
    if (!(pods > 0)) return 0;
    return static_cast<std::int32_t>(std::min(std::ceil(pods), static_cast<double>(std::numeric_limits<std::int32_t>::max())));
}

double ratio_of(double usage, double target) { return target > 0 ? usage / target : 0; }

/// What the metrics of some pods come to.
struct Load {
    double ratio = 0;  ///< to the target
    std::optional<std::int32_t> utilization;
    std::int64_t average = 0;
};
using LoadOf = std::function<Result<Load>(const PodMetricValues&)>;
/// What a pod without metrics is taken to use when the others call for fewer pods.
using Assumed = std::function<std::int64_t(const std::string& pod)>;

/// Times and windows are what others say: so near that they can be added up.
SystemTime within_reach(Timestamp time, SystemTime now) {
    constexpr Duration Far = std::chrono::years(20);
    return std::clamp(time.to_system_time(), now - Far, now + Far);
}

bool starts(const Pod& pod, const PodMetric& metric, const StartRules& rules, SystemTime now) {
    const auto* ready = objects::find_condition(pod.status.conditions, "Ready");
    if (!ready || !pod.status.start_time) return true;
    const SystemTime started = within_reach(*pod.status.start_time, now), changed = within_reach(ready->last_transition_time, now);
    const bool unready = ready->status == "False";
    if (started + rules.cpu_initialization > now)
        return unready || metric.time.to_system_time() < changed + std::min<Duration>(metric.window, std::chrono::hours(24));
    return unready && started + rules.initial_readiness > changed;
}

/// The shape of upstream's calculation that utilization and averages share: pods that are missing or starting are first left out, and then
/// counted so that they weaken the change, never so that they turn it around.
Result<Proposal> propose(std::int32_t current, const PodGroups& groups, PodMetricValues metrics, const LoadOf& load_of,
                         const Assumed& assumed, const Tolerances& tolerances) {
    TRY(const Load load, load_of(metrics));
    Proposal proposal{.replicas = current, .utilization = load.utilization, .usage = load.average};
    const bool dampen = !groups.unready.empty() && load.ratio > 1;
    if (!dampen && groups.missing.empty()) {
        if (!tolerances.holds(load.ratio)) proposal.replicas = to_replicas(load.ratio * groups.ready);
        return proposal;
    }
    for (const std::string& pod : groups.missing)
        if (load.ratio != 1) metrics[pod].value = load.ratio < 1 ? assumed(pod) : 0;
    if (dampen)
        for (const std::string& pod : groups.unready) metrics[pod].value = 0;
    TRY(const Load corrected, load_of(metrics));
    const bool turns = (load.ratio < 1 && corrected.ratio > 1) || (load.ratio > 1 && corrected.ratio < 1);
    if (tolerances.holds(corrected.ratio) || turns) return proposal;
    const std::int32_t wanted = to_replicas(corrected.ratio * static_cast<double>(metrics.size()));
    if ((corrected.ratio < 1 && wanted > current) || (corrected.ratio > 1 && wanted < current)) return proposal;
    proposal.replicas = wanted;
    return proposal;
}

/// Leaves only the pods that count. Error: when none is left.
Result<void> drop_uncounted(const PodList& pods, const PodGroups& groups, PodMetricValues& metrics) {
    if (pods.empty()) return Error(Reason::BadRequest, "no pods returned by selector while calculating replica count");
    std::erase_if(metrics,
                  [&](const auto& metric) { return groups.ignored.contains(metric.first) || groups.unready.contains(metric.first); });
    if (metrics.empty()) return Error(Reason::BadRequest, "did not receive metrics for targeted pods (pods might be unready)");
    return {};
}

Result<std::int64_t> request_of(const Pod& pod, const std::string& resource, const std::string& container) {
    if (container.empty() && pod.spec.resources) {
        const auto whole = pod.spec.resources->requests.find(resource);
        if (whole != pod.spec.resources->requests.end()) return whole->second.milli_value();
    }
    Wide sum = 0;
    Result<void> added;
    const auto add = [&](const Container& one) {
        if (!container.empty() && one.name != container) return;
        const auto found = one.resources.requests.find(resource);
        if (found != one.resources.requests.end())
            sum += found->second.milli_value();
        else if (added)
            added =
                Error(Reason::BadRequest, "missing request for " + resource + " in container " + one.name + " of Pod " + pod.metadata.name);
    };
    for (const Container& one : pod.spec.containers) add(one);
    for (const Container& one : pod.spec.init_containers)
        if (objects::is_sidecar(one)) add(one);
    if (!added) return std::move(added).error();
    return clamped<std::int64_t>(sum);
}

}  // namespace

PodGroups group_pods(const PodList& pods, const PodMetricValues& metrics, const std::string& resource, const StartRules& rules,
                     SystemTime now) {
    PodGroups groups;
    for (const Pod& pod : pods) {
        const std::string& name = pod.metadata.name;
        const auto metric = metrics.find(name);
        if (objects::is_terminating(pod) || pod.status.phase == "Failed")
            groups.ignored.insert(name);
        else if (pod.status.phase == "Pending")
            groups.unready.insert(name);
        else if (metric == metrics.end())
            groups.missing.insert(name);
        else if (resource == "cpu" && starts(pod, metric->second, rules, now))
            groups.unready.insert(name);
        else
            ++groups.ready;
    }
    return groups;
}

Result<std::map<std::string, std::int64_t>> requests_of(const PodList& pods, const std::string& resource, const std::string& container) {
    std::map<std::string, std::int64_t> requests;
    for (const Pod& pod : pods) {
        TRY(requests[pod.metadata.name], request_of(pod, resource, container));
    }
    return requests;
}

Result<Proposal> propose_by_utilization(std::int32_t current, const PodList& pods, const PodGroups& groups, PodMetricValues metrics,
                                        const std::map<std::string, std::int64_t>& requests, std::int32_t target,
                                        const Tolerances& tolerances) {
    TRY_VOID(drop_uncounted(pods, groups, metrics));
    const LoadOf load_of = [&](const PodMetricValues& values) -> Result<Load> {
        Wide used = 0, requested = 0;
        std::int64_t count = 0;
        for (const auto& [pod, metric] : values) {
            const auto request = requests.find(pod);
            if (request == requests.end()) continue;
            used += metric.value;
            requested += request->second;
            ++count;
        }
        if (requested <= 0) return Error(Reason::BadRequest, "no metrics returned matched known pods");
        const auto utilization = clamped<std::int32_t>(used * 100 / requested);
        return Load{ratio_of(utilization, target), utilization, clamped<std::int64_t>(used / count)};
    };
    const Assumed assumed = [&](const std::string& pod) {
        const auto request = requests.find(pod);
        return request == requests.end() ? 0 : clamped<std::int64_t>(static_cast<Wide>(request->second) * std::max(100, target) / 100);
    };
    return propose(current, groups, std::move(metrics), load_of, assumed, tolerances);
}

Result<Proposal> propose_by_average(std::int32_t current, const PodList& pods, const PodGroups& groups, PodMetricValues metrics,
                                    std::int64_t target, const Tolerances& tolerances) {
    TRY_VOID(drop_uncounted(pods, groups, metrics));
    const LoadOf load_of = [&](const PodMetricValues& values) -> Result<Load> {
        Wide used = 0;
        for (const auto& [pod, metric] : values) used += metric.value;
        const auto average = clamped<std::int64_t>(used / static_cast<std::int64_t>(values.size()));
        return Load{ratio_of(static_cast<double>(average), static_cast<double>(target)), std::nullopt, average};
    };
    return propose(current, groups, std::move(metrics), load_of, [&](const std::string&) { return target; }, tolerances);
}

Result<Proposal> propose_by_value(std::int32_t current, const PodList& pods, std::int64_t usage, std::int64_t target,
                                  const Tolerances& tolerances) {
    const double ratio = ratio_of(static_cast<double>(usage), static_cast<double>(target));
    if (current == 0) return Proposal{.replicas = to_replicas(ratio), .usage = usage};
    if (tolerances.holds(ratio)) return Proposal{.replicas = current, .usage = usage};
    if (pods.empty())
        return Error(Reason::BadRequest, "unable to calculate ready pods: no pods returned by selector while calculating replica count");
    const auto ready = std::ranges::count_if(pods, [](const Pod& pod) { return pod.status.phase == "Running" && objects::is_ready(pod); });
    return Proposal{.replicas = to_replicas(ratio * static_cast<double>(ready)), .usage = usage};
}

Proposal propose_by_share(std::int32_t status_replicas, std::int64_t usage, std::int64_t target, const Tolerances& tolerances) {
    const double all = static_cast<double>(usage);
    const double ratio = ratio_of(all, static_cast<double>(target) * status_replicas);
    Proposal proposal{.replicas = status_replicas, .usage = usage};
    if (status_replicas == 0 || !tolerances.holds(ratio)) proposal.replicas = to_replicas(ratio_of(all, static_cast<double>(target)));
    if (status_replicas > 0) proposal.usage = static_cast<std::int64_t>(usage / status_replicas + (usage % status_replicas > 0));
    return proposal;
}

}  // namespace porthole::controllers
