#pragma once
#include "client/events.h"
#include "kubelet/pod/backoff.h"
#include "kubelet/pod/pod.h"
#include "kubelet/pod/status.h"

namespace porthole::kubelet {

/// Holds back containers that keep ending: one comes back at once the first time, then after 10 s, 20 s, … Both references outlive it.
class RestartBackoff {
public:
    RestartBackoff(EventLoop& loop, client::EventRecorder& events, Backoff delays)
        : loop_(loop), events_(events), delays_(std::move(delays)) {}

    /// Before a start, which it counts unless it yields why the container must wait.
    std::optional<WaitingReason> hold_back(const core::Pod& pod, const PodRuntimeState& state, const ContainerSpec& spec);
    /// How long the container must still wait for its next start.
    std::optional<Duration> delay(const core::Pod& pod, const PodRuntimeState& state, const core::Container& container) const;
    void forget_pod(const std::string& uid) { delays_.forget_prefix(uid + "_"); }

private:
    EventLoop& loop_;
    client::EventRecorder& events_;
    Backoff delays_;
};

}  // namespace porthole::kubelet
