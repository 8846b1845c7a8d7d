#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/resource_metrics/kubelet_samples.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// Use per second, and the samples from which it is computed.
struct Usage {
    std::uint64_t cpu = 0;     ///< core-nanoseconds per second
    std::uint64_t memory = 0;  ///< bytes
};
/// Of a node.
struct NodeUsage {
    Usage usage;
    std::int64_t time = 0;  ///< of the later sample, in nanoseconds since 1970
    Duration window{};      ///< between the two samples
};
/// Of a pod, by container.
struct PodUsage {
    std::map<std::string, Usage> containers;
    std::int64_t time = 0;  ///< the earliest of its containers'
    Duration window{};
};

/// The last two samples of all nodes and pods, and the usage computed from them, by the rules of metrics-server's storage.
///
/// A round of samples replaces the previous one: nodes and pods that are missing in it are forgotten, so that outdated values are not
/// shown. A restarted container starts from zero; one that is younger than a round but older than ten seconds is measured from its start.
class UsageHistory {
public:
    /// All that was collected in one round, by the node's name; `resolution` is the time between two rounds.
    void add(const std::map<std::string, KubeletSamples>& round, Duration resolution);

    /// Nullopt without two samples.
    std::optional<NodeUsage> node(const std::string& name) const;
    /// `key` is "namespace/name". Nullopt without two samples of every container.
    std::optional<PodUsage> pod(const std::string& key) const;

private:
    void add_node(const std::string& name, const UsagePoint& point, std::map<std::string, UsagePoint>& before) const;
    void add_container(const std::string& pod, const std::string& name, const UsagePoint& point, Duration resolution,
                       ContainerPoints& before) const;

    std::map<std::string, UsagePoint> nodes_, nodes_before_;
    PodPoints pods_, pods_before_;
};

}  // namespace porthole::apiserver
