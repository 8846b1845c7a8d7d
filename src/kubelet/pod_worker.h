#pragma once
#include "kubelet/container/cgroups.h"
#include "kubelet/interrupt.h"
#include "kubelet/lifecycle/container_gc.h"
#include "kubelet/lifecycle/container_killer.h"
#include "kubelet/lifecycle/container_starter.h"
#include "kubelet/lifecycle/state_reader.h"
#include "kubelet/probes/probe_manager.h"
#include "kubelet/status_manager.h"

namespace porthole::kubelet {

/// What the node tells every pod.
struct NodeFacts {
    std::string node_name;
    std::vector<std::string> host_addresses;
    ResourceList allocatable;
    std::string runtime_name = "containerd";
    std::string network_problem = "container runtime status check may not have completed yet";  ///< "" when pods can have networks
    ClusterDns dns;
    std::string cgroup_root;
    std::string log_root;
    bool windows = false;
};

/// What pod workers share.
struct PodServices {
    EventLoop& loop;
    Random& random;
    Logger log;
    client::Client& client;
    RuntimeService& runtime;
    FileSystem& files;
    Cgroups& cgroups;
    StateReader& reader;
    ContainerStarter& starter;
    ContainerKiller& killer;
    ImagePuller& puller;
    VolumeManager& volumes;
    ProbeManager& probes;
    StatusManager& statuses;
    ObjectSource& objects;
    client::EventRecorder& events;
    NodeFacts& node;
    std::function<std::vector<std::shared_ptr<const core::Service>>()> list_services;
};

/// Why and how a pod ends.
struct Termination {
    std::optional<Duration> grace;  ///< shorter than the pod's own
    std::string reason, message;    ///< of a pod that fails for it: "Evicted", "DeadlineExceeded"; "" for an ordinary end
};

/// One pod from its first sandbox to its last trace: a level-triggered loop that reads the runtime's state, reports it, and takes the
/// next step. Ending interrupts whatever step is under way. Restarted on a pod that already runs, it goes on from what is there.
class PodWorker {
public:
    PodWorker(PodServices& services, std::shared_ptr<const core::Pod> pod);

    const core::Pod& pod() const { return *pod_; }
    const std::shared_ptr<const core::Pod>& shared_pod() const { return pod_; }
    void update(std::shared_ptr<const core::Pod> pod);
    /// Something about the pod's containers may have changed.
    void wake() { wake_.set(); }
    /// Asked again, a shorter grace period cuts a running one.
    void terminate(Termination termination);
    bool is_terminating() const { return termination_.has_value(); }
    /// Nothing of it runs any more and its volumes are gone; containers and logs are still there to be read.
    bool is_finished() const { return finished_; }
    Event& finished_event() { return finished_event_; }

    /// Until the pod is finished or the task is cancelled.
    Task<> run();

private:
    Task<> sync();
    Task<bool> take_step(const PodActions& actions);
    Task<> prepare();
    cri::PodSandboxConfig sandbox_config(std::uint32_t attempt, cri::DNSConfig dns) const;
    Task<> make_sandbox(const PodActions& actions);
    Task<> kill_containers(const PodActions& actions);
    Task<> start_containers(const PodActions& actions);
    Task<> stop_everything();
    Task<> clean_up();

    Task<> refresh();
    void report();
    core::PodStatus status_now() const;
    std::vector<std::string> pod_addresses() const;
    PodStartContext start_context() const;
    Task<std::string> runtime_handler();
    Task<> fetch_pull_secrets();
    Task<> refresh_volumes();
    Duration next_sync() const;
    std::optional<Duration> deadline_left() const;
    Duration retry_delay();

    PodServices& services_;
    std::shared_ptr<const core::Pod> pod_;
    PodRuntimeState state_;
    std::map<std::string, WaitingReason> waiting_;
    std::optional<Termination> termination_;
    bool stopped_ = false, finished_ = false;
    int failures_ = 0;  ///< syncs in a row

    // What the containers to be started share; made anew by every sync.
    MountedVolumes volumes_;
    MonotonicTime volumes_set_up_{};
    std::vector<std::shared_ptr<const core::Secret>> pull_secrets_;
    cri::PodSandboxConfig sandbox_config_;
    PodHostname hostname_;

    Interrupt interrupt_;
    Event wake_, finished_event_;
};

}  // namespace porthole::kubelet
