#pragma once
#include "fleet/pod_model.h"

namespace porthole::fleet {

/// The delays of pods' steps.
struct PodTimes {
    Duration start_after = std::chrono::seconds(1);      ///< from its assignment until its containers run and are ready
    Duration complete_after = std::chrono::seconds(10);  ///< from then until a Job's containers end well
    Duration stop_after = std::chrono::seconds(1);       ///< from its deletion until the containers have ended, or its grace period
};

/// Pods as on a node without failures: they start, those of Jobs succeed, and deleted ones end. Statuses are the kubelet's, computed from
/// the state that a container runtime would have.
class TimedModel final : public PodModel {
public:
    explicit TimedModel(PodTimes times) : times_(times) {}

    client::InformerCodec::Decode decoder() const override { return decode_fleet_pod; }
    std::optional<PodStep> next(const FleetPod& pod) override;
    Result<PodChange> perform(const FleetPod& pod, const std::string& step, const PodPlace& place, SystemTime now) override;

private:
    PodTimes times_;
};

}  // namespace porthole::fleet
