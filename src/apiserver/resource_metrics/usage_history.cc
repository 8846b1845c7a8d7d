#include "apiserver/resource_metrics/usage_history.h"

#include <algorithm>

namespace porthole::apiserver {
namespace {

constexpr Duration FreshContainer = std::chrono::seconds(10);  ///< from this age on, a container's start can stand for a first sample

constexpr double MostPerSecond = 9e18;  ///< core-nanoseconds, so that the API's numbers hold what a kubelet claims

const UsagePoint* find_point(const PodPoints& pods, const std::string& pod, const std::string& container) {
    const auto found = pods.find(pod);
    if (found == pods.end()) return nullptr;
    const auto point = found->second.find(container);
    return point == found->second.end() ? nullptr : &point->second;
}

/// Nullopt where the processor's time has gone back: the node was started again.
std::optional<Usage> usage_between(const UsagePoint& before, const UsagePoint& last) {
    if (last.cpu < before.cpu || last.time <= before.time) return std::nullopt;
    const double seconds = static_cast<double>(last.time - before.time) / 1e9;
    const double rate = std::min(static_cast<double>(last.cpu - before.cpu) / seconds, MostPerSecond);
    return Usage{.cpu = static_cast<std::uint64_t>(rate), .memory = last.memory};
}

}  // namespace

void UsageHistory::add_node(const std::string& name, const UsagePoint& point, std::map<std::string, UsagePoint>& before) const {
    const auto last = nodes_.find(name);
    if (last == nodes_.end()) return;
    const auto earlier = nodes_before_.find(name);
    if (point.time > last->second.time)
        before[name] = last->second;
    else if (earlier != nodes_before_.end() && point.time > earlier->second.time)
        before[name] = earlier->second;  // the kubelet has told the same sample again
}

void UsageHistory::add_container(const std::string& pod, const std::string& name, const UsagePoint& point, Duration resolution,
                                 ContainerPoints& before) const {
    const Duration age(point.time - point.started_at);
    if (point.started_at > 0 && age < resolution && age >= FreshContainer) {
        before[name] = {.started_at = point.started_at, .time = point.started_at, .memory = point.memory};
        return;
    }
    const UsagePoint* last = find_point(pods_, pod, name);
    if (!last || point.started_at >= last->time) return;
    const UsagePoint* earlier = find_point(pods_before_, pod, name);
    if (point.time > last->time)
        before[name] = *last;
    else if (earlier && point.time > earlier->time)
        before[name] = *earlier;
}

void UsageHistory::add(const std::map<std::string, KubeletSamples>& round, Duration resolution) {
    std::map<std::string, UsagePoint> nodes, nodes_before;
    PodPoints pods, pods_before;
    for (const auto& [name, samples] : round) {
        if (samples.node) {
            add_node(name, *samples.node, nodes_before);
            nodes[name] = *samples.node;
        }
        for (const auto& [pod, containers] : samples.pods) {
            ContainerPoints before;
            for (const auto& [container, point] : containers) add_container(pod, container, point, resolution, before);
            if (!before.empty()) pods_before[pod] = std::move(before);
            pods[pod] = containers;
        }
    }
    nodes_ = std::move(nodes);
    nodes_before_ = std::move(nodes_before);
    pods_ = std::move(pods);
    pods_before_ = std::move(pods_before);
}

std::optional<NodeUsage> UsageHistory::node(const std::string& name) const {
    const auto last = nodes_.find(name), before = nodes_before_.find(name);
    if (last == nodes_.end() || before == nodes_before_.end()) return std::nullopt;
    const auto usage = usage_between(before->second, last->second);
    if (!usage) return std::nullopt;
    return NodeUsage{*usage, last->second.time, Duration(last->second.time - before->second.time)};
}

std::optional<PodUsage> UsageHistory::pod(const std::string& key) const {
    const auto last = pods_.find(key);
    if (last == pods_.end()) return std::nullopt;
    PodUsage result;
    for (const auto& [name, point] : last->second) {
        const UsagePoint* before = find_point(pods_before_, key, name);
        if (!before) return std::nullopt;
        const auto usage = usage_between(*before, point);
        if (!usage) continue;
        result.containers[name] = *usage;
        if (result.time != 0 && result.time <= point.time) continue;
        result.time = point.time;
        result.window = Duration(point.time - before->time);
    }
    return result;
}

}  // namespace porthole::apiserver
