#pragma once
#include "base/log.h"
#include "kubelet/lifecycle/container_preparer.h"
#include "kubelet/lifecycle/hooks.h"
#include "kubelet/lifecycle/log_links.h"
#include "kubelet/lifecycle/start_counts.h"

namespace porthole::kubelet {

/// Starts containers: image, configuration, creation, start, postStart hook; each step is recorded in an event. Serves all pods of the
/// node; of one pod, one start at a time. All references outlive it and its tasks.
class ContainerStarter {
public:
    ContainerStarter(RuntimeService& runtime, ImagePuller& puller, ContainerPreparer& preparer, ContainerHooks& hooks, LogLinks& links,
                     client::EventRecorder& events, Logger log)
        : runtime_(runtime), puller_(puller), preparer_(preparer), hooks_(hooks), links_(links), events_(events), log_(std::move(log)) {}

    /// Why the container does not run, or nullopt if it does. Fails only by cancellation.
    Task<std::optional<WaitingReason>> start(const PodStartContext& context, ContainerSpec spec);
    StartCounts& counts() { return counts_; }

private:
    Task<std::optional<WaitingReason>> try_to_start(const PodStartContext& context, ContainerSpec spec);
    Task<std::optional<WaitingReason>> run_post_start(const PodStartContext& context, ContainerSpec spec, std::string id);

    RuntimeService& runtime_;
    ImagePuller& puller_;
    ContainerPreparer& preparer_;
    ContainerHooks& hooks_;
    LogLinks& links_;
    client::EventRecorder& events_;
    Logger log_;
    StartCounts counts_;
};

}  // namespace porthole::kubelet
