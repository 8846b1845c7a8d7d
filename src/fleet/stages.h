#pragma once
#include "fleet/pod_model.h"
#include "fleet/stage_selector.h"
#include "fleet/stage_template.h"

namespace porthole::fleet {

/// A `Stage` of KWOK (kwok.x-k8s.io/v1alpha1) for pods: what happens to those that its selector matches, and when.
struct Stage {
    std::string name;
    StageSelector selector;
    std::uint64_t weight = 0;             ///< of several that match, one is drawn; 0 only where all have it
    Duration delay{}, longest_delay{};    ///< a time in between is drawn
    std::optional<StageTemplate> status;  ///< a strategic merge patch of the status, in YAML
    bool remove = false, empties_finalizers = false;
};

/// Pods live by the stages of a file. What is drawn follows from a pod's uid: the same pod, the same choice.
class StageModel final : public PodModel {
public:
    explicit StageModel(std::vector<Stage> stages) : stages_(std::move(stages)) {}

    /// Stages matter to pods that seem to have nothing to do, too: the text of every pod is kept.
    client::InformerCodec::Decode decoder() const override { return decode_whole_fleet_pod; }
    std::optional<PodStep> next(const FleetPod& pod) override;
    Result<PodChange> perform(const FleetPod& pod, const std::string& step, const PodPlace& place, SystemTime now) override;

private:
    std::vector<Stage> stages_;
};

/// The stages of YAML documents. Error: BadRequest, naming the stage, and the field or word that is not supported.
Result<std::vector<Stage>> parse_stages(std::string_view yaml);

}  // namespace porthole::fleet
