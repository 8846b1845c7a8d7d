#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::apiserver {

/// The use of a node or container up to a point of time. Times are nanoseconds since 1970.
struct UsagePoint {
    std::int64_t started_at = 0;  ///< of a container; 0 for a node and if not reported
    std::int64_t time = 0;        ///< when it was measured
    std::uint64_t cpu = 0;        ///< core-nanoseconds since the start
    std::uint64_t memory = 0;     ///< bytes of the working set
    bool operator==(const UsagePoint&) const = default;
};

/// By name.
using ContainerPoints = std::map<std::string, UsagePoint>;
/// "namespace/name" of a pod.
using PodPoints = std::map<std::string, ContainerPoints>;

/// One report of a kubelet.
struct KubeletSamples {
    std::optional<UsagePoint> node;
    PodPoints pods;
};

/// Parses a kubelet's /metrics/resource, which is in Prometheus' text form; other families are skipped. Like metrics-server, it leaves out
/// a node without processor time or memory, and a pod with such a container. `now` replaces a missing time. Error: BadRequest for text in
/// another form.
Result<KubeletSamples> parse_kubelet_samples(std::string_view text, std::int64_t now);

}  // namespace porthole::apiserver
