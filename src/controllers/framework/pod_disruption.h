#pragma once
#include <functional>
#include <string>

#include "api/core_v1.h"
#include "client/client.h"

namespace porthole::controllers {

/// Why a controller deletes a pod that did not end by itself.
struct PodDisruption {
    std::string reason, message;  ///< of the condition DisruptionTarget
    std::function<void()> tell;   ///< records the event; called once, when the condition is set
};

/// Sets the pod's condition and deletes it. Success if it does not exist any more. May be repeated.
Task<> delete_disrupted(client::Client& client, api::core::v1::Pod pod, PodDisruption why, Timestamp now);

}  // namespace porthole::controllers
