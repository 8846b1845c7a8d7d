#pragma once
#include <memory>
#include <optional>
#include <string>

#include "api/core_v1.h"
#include "kubelet/pod/rejection.h"
#include "runtime/event_loop.h"

namespace porthole::kubelet {

/// Why and how a pod ends.
struct Termination {
    std::optional<Duration> grace;  ///< shorter than the pod's own
    std::string reason, message;    ///< of a pod that fails for it: "Evicted", "DeadlineExceeded"; "" for an ordinary end
};

/// What is wanted of a pod. Its worker changes it, also while a step for it runs.
struct WantedPod {
    std::shared_ptr<const api::core::v1::Pod> pod;
    std::optional<Termination> termination;  ///< nullopt if it is to run
    /// Why the pod has less than it requests, with the reason of its condition PodResizePending; nullopt if it has what it requests.
    std::optional<Rejection> resize_pending;
};

}  // namespace porthole::kubelet
