#pragma once
#include "kubelet/lifecycle/pod_containers.h"
#include "kubelet/pod_reporter.h"
#include "kubelet/pod_worker.h"
#include "kubelet/preparation/pod_sandboxes.h"

namespace porthole::kubelet {

/// The steps of one pod on the node: reads the runtime's state, reports it, and does what compute_actions() names. For a pod that already
/// runs, it continues from the existing state. All references outlive it and its tasks.
class PodLifecycle final : public PodSyncer {
public:
    PodLifecycle(EventLoop& loop, PodPreparer& preparer, PodSandboxes& sandboxes, PodContainers& containers, ProbeManager& probes,
                 PodReporter& reporter, client::EventRecorder& events, PodResizer resizer)
        : loop_(loop),
          preparer_(preparer),
          sandboxes_(sandboxes),
          containers_(containers),
          probes_(probes),
          reporter_(reporter),
          events_(events),
          resizer_(std::move(resizer)) {}

    Task<std::optional<Termination>> sync(const WantedPod& wanted) override;
    Task<> stop(const WantedPod& wanted) override;
    Task<> clean_up(const WantedPod& wanted) override;
    std::optional<Duration> next_sync(const WantedPod& wanted) const override;

private:
    struct Step {
        bool progress = false;                ///< the next one may follow at once
        std::optional<Termination> end = {};  ///< the pod cannot run here
    };
    PodView view(const WantedPod& wanted) { return {wanted, state_, waiting_, resizer_, stopped_}; }
    Task<> refresh(const WantedPod& wanted);
    Task<Step> take_step(const WantedPod& wanted, const PodActions& actions);
    Task<Step> prepare_and_start(const WantedPod& wanted, const PodActions& actions);
    Task<> start(const WantedPod& wanted, const PodActions& actions, const PreparedPod& prepared);
    Task<> refresh_volumes(const WantedPod& wanted);

    EventLoop& loop_;
    PodPreparer& preparer_;
    PodSandboxes& sandboxes_;
    PodContainers& containers_;
    ProbeManager& probes_;
    PodReporter& reporter_;
    client::EventRecorder& events_;
    PodResizer resizer_;
    PodRuntimeState state_;
    std::map<std::string, WaitingReason> waiting_;  ///< by container
    MonotonicTime volumes_set_up_{};
    bool stopped_ = false;
};

}  // namespace porthole::kubelet
