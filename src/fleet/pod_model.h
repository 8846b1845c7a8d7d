#pragma once
#include <functional>
#include <optional>
#include <string>

#include "fleet/fleet_pod.h"
#include "runtime/event_loop.h"

namespace porthole::fleet {

/// What a pod does next, and how long after it could.
struct PodStep {
    std::string name;
    Duration delay{};
};

/// Where a pod runs. Both are "" until a model asks.
struct PodPlace {
    std::string host_address;
    std::function<std::optional<std::string>()> take_address;  ///< for the pod; nullopt when the node has none
};

/// What a step does to the pod in the API, in this order.
struct PodChange {
    std::string status_patch;         ///< strategic merge; "" for none
    bool remove = false;              ///< at once, as the kubelet does once the containers have ended
    bool empties_finalizers = false;  ///< before it is removed
};

/// How pods live.
class PodModel {
public:
    virtual ~PodModel() = default;
    /// The decoder of what next() needs to know.
    virtual client::InformerCodec::Decode decoder() const = 0;
    /// nullopt when nothing is left to do until the pod changes.
    virtual std::optional<PodStep> next(const FleetPod& pod) = 0;
    /// Requires: next(pod) yields a step of that name. Error: ServiceUnavailable when the node has no address for the pod yet.
    virtual Result<PodChange> perform(const FleetPod& pod, const std::string& step, const PodPlace& place, SystemTime now) = 0;
};

}  // namespace porthole::fleet
