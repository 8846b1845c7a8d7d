#pragma once
#include "fleet/pod_model.h"
#include "fleet/stage_selector.h"
#include "fleet/stage_template.h"

namespace porthole::fleet {

/// A `Stage` of KWOK (kwok.x-k8s.io/v1alpha1) for pods: what happens to pods that its selector matches, and when.
struct Stage {
    std::string name;
    StageSelector selector;
    std::uint64_t weight = 0;             ///< of several that match, one is drawn; 0 only where all have it
    Duration delay{}, longest_delay{};    ///< a time in between is drawn
    std::optional<StageTemplate> status;  ///< a strategic merge patch of the status, in YAML
    bool remove = false, empties_finalizers = false;
};

/// Pods follow the stages of a file. Random choices are derived from a pod's uid, so they are the same in every run.
class StageModel final : public PodModel {
public:
    explicit StageModel(std::vector<Stage> stages) : stages_(std::move(stages)) {}

    /// Stages may apply to any pod, so the text of every pod is kept.
    client::InformerCodec::Decode decoder() const override { return decode_whole_fleet_pod; }
    std::optional<PodStep> next(const FleetPod& pod) override;
    Result<PodChange> perform(const FleetPod& pod, const std::string& step, const PodPlace& place, SystemTime now) override;

private:
    std::vector<Stage> stages_;
};

/// The stages of YAML documents. Error: BadRequest with the stage, and the unsupported field or word.
Result<std::vector<Stage>> parse_stages(std::string_view yaml);

}  // namespace porthole::fleet
