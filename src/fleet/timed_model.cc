#include "fleet/timed_model.h"

#include <algorithm>

#include "base/result.h"
#include "base/time/bounded_seconds.h"
#include "kubelet/pod/status.h"
#include "kubelet/status_manager.h"
#include "schema/json/json.h"

namespace porthole::fleet {
namespace {

namespace core = api::core::v1;
namespace cri = api::cri::v1;
using kubelet::ContainerKind;

// The names of steps are for people who read logs.
constexpr const char* Start = "start";
constexpr const char* Complete = "complete";
constexpr const char* Recover = "recover";
constexpr const char* Stop = "stop";
constexpr const char* Remove = "remove";

constexpr std::int32_t EndedBySignal = 128 + 15;

std::int64_t nanoseconds(SystemTime time) { return time.time_since_epoch().count(); }

/// Since when a container of that name runs, by the pod's status.
std::int64_t started_at(const core::Pod& pod, const std::string& container, std::int64_t otherwise) {
    for (const auto* statuses : {&pod.status.init_container_statuses, &pod.status.container_statuses})
        for (const core::ContainerStatus& status : *statuses)
            if (status.name == container && status.state.running && !status.state.running->started_at.is_zero())
                return nanoseconds(status.state.running->started_at.to_system_time());
    return otherwise;
}

cri::ContainerStatus container_of(const core::Pod& pod, const core::Container& container, std::int64_t now) {
    cri::ContainerStatus made;
    made.id = pod.metadata.uid + "-" + container.name;
    made.metadata.emplace().name = container.name;
    made.image.emplace().image = container.image;
    made.image_ref = container.image;
    made.created_at = made.started_at = started_at(pod, container.name, now);
    made.state = cri::ContainerState::ContainerRunning;
    return made;
}

void end(cri::ContainerStatus& container, std::int32_t code, std::int64_t now) {
    container.state = cri::ContainerState::ContainerExited;
    container.exit_code = code;
    container.reason = code == 0 ? "Completed" : "Error";
    container.finished_at = now;
}

/// What a container runtime would have of the pod: its containers run, or have ended with `exit_code`.
kubelet::PodRuntimeState runtime_state(const core::Pod& pod, const std::string& address, std::optional<std::int32_t> exit_code,
                                       SystemTime now) {
    kubelet::PodRuntimeState state;
    cri::PodSandboxStatus& sandbox = state.sandboxes.emplace_back();
    sandbox.id = pod.metadata.uid;
    sandbox.state = exit_code ? cri::PodSandboxState::SandboxNotready : cri::PodSandboxState::SandboxReady;
    sandbox.network.emplace().ip = address;
    for (const kubelet::ContainerSpec& spec : kubelet::all_containers(pod)) {
        if (spec.kind == ContainerKind::Ephemeral) continue;
        cri::ContainerStatus container = container_of(pod, spec.container, nanoseconds(now));
        const bool initializes = spec.kind == ContainerKind::Init && !kubelet::is_sidecar(spec.container);
        if (initializes || exit_code) end(container, initializes ? 0 : *exit_code, nanoseconds(now));
        state.containers.push_back(std::move(container));
    }
    return state;
}

}  // namespace

std::optional<PodStep> TimedModel::next(const FleetPod& pod) {
    if (!pod.has_step()) return std::nullopt;
    if (pod.deleting) {
        if (pod.phase != "Running") return PodStep{Remove, {}};
        Duration stop = times_.stop_after;
        if (const auto read = schema::decode_json<core::Pod>(pod.text); read && read->metadata.deletion_grace_period_seconds)
            stop = std::min<Duration>(stop, bounded_seconds(*read->metadata.deletion_grace_period_seconds));
        return PodStep{Stop, stop};
    }
    // Nobody but a kubelet makes a pod ready again whose node was taken for lost.
    if (pod.unready && !pod.completes) return PodStep{Recover, {}};
    return pod.phase == "Running" ? PodStep{Complete, times_.complete_after} : PodStep{Start, times_.start_after};
}

Result<PodChange> TimedModel::perform(const FleetPod& pod, const std::string& step, const PodPlace& place, SystemTime now) {
    if (step == Remove) return PodChange{"", true};
    TRY(const core::Pod object, schema::decode_json<core::Pod>(pod.text));
    std::string address = pod.address;
    if (step == Start && !object.spec.host_network && address.empty()) {
        const auto taken = place.take_address();
        if (!taken) return Error(Reason::ServiceUnavailable, "node " + pod.node + " has no address for pods yet");
        address = *taken;
    }
    std::optional<std::int32_t> exit_code;
    if (step == Complete) exit_code = 0;
    if (step == Stop) exit_code = EndedBySignal;
    const kubelet::PodRuntimeState state = runtime_state(object, address, exit_code, now);
    const auto success = [](const std::string&) { return kubelet::ProbeVerdict::Success; };
    const core::PodStatus status = kubelet::generate_status({.pod = object,
                                                             .state = state,
                                                             .probes = {success, success, success},
                                                             .waiting = {},
                                                             .previous = object.status,
                                                             .host_addresses = {place.host_address},
                                                             .runtime_name = "porthole-fleet",
                                                             .finishing = exit_code.has_value(),
                                                             .terminated = exit_code.has_value(),
                                                             .now = now});
    return PodChange{kubelet::status_patch(object.metadata.uid, object.status, status), step == Stop};
}

}  // namespace porthole::fleet
