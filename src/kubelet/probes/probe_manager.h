#pragma once
#include "base/log.h"
#include "client/events.h"
#include "kubelet/pod/actions.h"
#include "kubelet/probes/network_prober.h"
#include "runtime/random.h"
#include "runtime/scope.h"

namespace porthole::kubelet {

enum class ProbeType { Startup, Liveness, Readiness };
const char* to_string(ProbeType type);  ///< "Startup", …

/// Runs the probes of all pods and keeps their results by container. Lives on the kubelet's loop; close() it before destroying it.
///
/// Readiness counts as failed until the first success, liveness as passed until it fails; both wait until the startup probe has passed.
/// After a liveness or startup failure, a worker pauses until there is a new container.
class ProbeManager {
public:
    struct Services {
        EventLoop& loop;
        Random& random;
        RuntimeService& runtime;
        NetworkProber& network;
        client::EventRecorder& events;
    };
    /// `changed` is called with a pod's uid when a result has changed.
    ProbeManager(Services services, std::function<void(const std::string& uid)> changed);

    /// Starts missing workers of a pod, and passes the running containers and the pod's address to all of them.
    void observe(std::shared_ptr<const core::Pod> pod, const PodRuntimeState& state, const std::string& address);
    /// The pod is ending: only readiness probes continue.
    void stop_liveness_and_startup(const std::string& uid);
    void remove_pod(const std::string& uid);
    ProbeVerdicts verdicts();

    /// Cancels the probe workers and waits for them.
    Task<> close() { return scope_.close(); }

private:
    struct Worker;
    using Key = std::tuple<std::string, std::string, ProbeType>;  // pod uid, container, type

    Task<> run(std::shared_ptr<Worker> worker);
    Task<> probe_once(std::shared_ptr<Worker> worker);
    Task<ProbeOutcome> try_probe(std::shared_ptr<Worker> worker);
    Task<ProbeOutcome> call(std::shared_ptr<Worker> worker);
    Task<ProbeOutcome> call_exec(std::shared_ptr<Worker> worker);
    void adopt_container(Worker& worker);
    void set_result(Worker& worker, ProbeVerdict verdict);
    void stop(const Key& key);

    Services services_;
    std::function<void(const std::string& uid)> changed_;
    std::map<Key, std::shared_ptr<Worker>> workers_;
    std::map<std::pair<std::string, ProbeType>, ProbeVerdict> results_;  // by container id
    MonotonicTime began_;                                                ///< just after the agent's start first probes are spread out
    Scope scope_;
};

/// The port that `port` means for a container: a number, or a name among its ports. Error: BadRequest.
Result<std::uint16_t> resolve_port(const IntOrString& port, const core::Container& container);
/// The target of a container's HTTP handler.
Result<HttpTarget> http_target(const core::HTTPGetAction& action, const core::Container& container, const std::string& pod_address);
/// The part of a probe's or hook's output that is kept: 10 KiB.
std::string kept_output(const cri::ExecSyncResponse& ended);

}  // namespace porthole::kubelet
