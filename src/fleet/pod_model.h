#pragma once
#include <functional>
#include <optional>
#include <string>

#include "fleet/fleet_pod.h"
#include "runtime/event_loop.h"

namespace porthole::fleet {

/// A pod's next step, and its delay.
struct PodStep {
    std::string name;
    Duration delay{};
};

/// The location of a pod. Both are "" until a model sets them.
struct PodPlace {
    std::string host_address;
    std::function<std::optional<std::string>()> take_address;  ///< for the pod; nullopt if the node has none
};

/// The effect of a step on the pod in the API, in this order.
struct PodChange {
    std::string status_patch;         ///< strategic merge; "" for none
    bool remove = false;              ///< without a grace period, as the kubelet does once the containers have ended
    bool empties_finalizers = false;  ///< before it is removed
};

/// How pods live.
class PodModel {
public:
    virtual ~PodModel() = default;
    /// The decoder of the data that next() needs.
    virtual client::InformerCodec::Decode decoder() const = 0;
    /// nullopt if there is no step until the pod changes.
    virtual std::optional<PodStep> next(const FleetPod& pod) = 0;
    /// Requires: next(pod) returns a step of that name. Error: ServiceUnavailable if the node has no address for the pod yet.
    virtual Result<PodChange> perform(const FleetPod& pod, const std::string& step, const PodPlace& place, SystemTime now) = 0;
};

}  // namespace porthole::fleet
