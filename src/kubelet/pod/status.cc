#include "kubelet/pod/status.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "kubelet/pod/resize.h"
#include "kubelet/pod/resources.h"
#include "objects/conditions.h"
#include "objects/restart_rules.h"

namespace porthole::kubelet {
namespace {

Timestamp time_of(std::int64_t nanoseconds) { return nanoseconds ? Timestamp::from_nanoseconds(nanoseconds) : Timestamp(); }

core::ContainerState waiting_state(std::string reason, std::string message = "") {
    core::ContainerState state;
    state.waiting.emplace();
    state.waiting->reason = std::move(reason);
    state.waiting->message = std::move(message);
    return state;
}

core::ContainerState lost_state(std::string message) {
    core::ContainerState state;
    state.terminated.emplace();
    state.terminated->exit_code = 137;
    state.terminated->reason = ContainerStatusUnknown;
    state.terminated->message = std::move(message);
    return state;
}

bool is_empty(const core::ContainerState& state) { return !state.waiting && !state.running && !state.terminated; }

/// Looked up by name: a pod has room for thousands of containers.
class StatusesByName {
public:
    explicit StatusesByName(const std::vector<core::ContainerStatus>& statuses) {
        for (const core::ContainerStatus& status : statuses) by_name_.emplace(status.name, &status);
    }
    /// nullptr if there is none.
    const core::ContainerStatus* find(const std::string& name) const {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }

private:
    std::unordered_map<std::string_view, const core::ContainerStatus*> by_name_;
};

class ContainerStatuses {
public:
    ContainerStatuses(const StatusInputs& inputs, bool restarting_all) : in_(inputs), restarting_all_(restarting_all) {}

    core::ContainerStatus make(ContainerKind kind, const core::Container& container, const StatusesByName& previous) const {
        const core::ContainerStatus* before = previous.find(container.name);
        core::ContainerStatus status = from_runtime(kind, container, before);
        apply_waiting(kind, container, status);
        if (in_.terminated) settle(container, before, status);
        set_readiness(kind, container, status);
        return status;
    }

private:
    core::ContainerStatus blank(ContainerKind kind, const core::Container& container) const {
        core::ContainerStatus status;
        status.name = container.name;
        status.image = container.image;
        const bool initializes = kind == ContainerKind::Regular && !in_.pod.spec.init_containers.empty();
        const bool init_too = kind == ContainerKind::Init;
        status.state = waiting_state(initializes || init_too ? PodInitializing : ContainerCreating);
        return status;
    }

    core::ContainerStatus from_runtime(ContainerKind kind, const core::Container& container, const core::ContainerStatus* before) const {
        const cri::ContainerStatus* newest = in_.state.find_newest(container.name);
        if (!newest) return from_memory(kind, container, before);
        core::ContainerStatus status = blank(kind, container);
        status.container_id = id_text(newest->id);
        // The runtime may have forgotten the ones before.
        if (before)
            status.last_state =
                before->state.terminated && before->container_id != status.container_id ? before->state : before->last_state;
        if (newest->image && !newest->image->image.empty()) status.image = newest->image->image;
        status.image_id = newest->image_ref;
        status.restart_count = std::max(restart_count_of(*newest), before ? before->restart_count : 0);
        core::ContainerState state = state_of(*newest);
        if (!is_empty(state)) status.state = std::move(state);
        if (const cri::ContainerStatus* older = previous_attempt(*newest)) {
            core::ContainerState last = state_of(*older);
            if (last.terminated) status.last_state = std::move(last);
        }
        add_details(container, *newest, status);
        return status;
    }

    /// The runtime has nothing of that name: not yet, or not any more.
    core::ContainerStatus from_memory(ContainerKind kind, const core::Container& container, const core::ContainerStatus* before) const {
        core::ContainerStatus status = blank(kind, container);
        if (!before) return status;
        if (restarting_all_ && kind != ContainerKind::Ephemeral && !before->state.waiting) {
            constexpr const char* Message = "The container is removed because RestartAllContainers in place";
            status.state = waiting_state(RestartingAllContainers, Message);
            status.last_state = lost_state(Message);
            status.last_state.terminated->reason = RestartingAllContainers;
            status.restart_count = before->restart_count + 1;
            return status;
        }
        if (before->state.terminated) {
            status = *before;
            status.allocated_resources_status.clear();  // added to each report
            return status;
        }
        status.last_state = before->last_state;
        status.restart_count = before->restart_count;
        if (!before->state.running) return status;
        core::ContainerState lost =
            lost_state("The container could not be located when the pod was deleted.  The container used to be Running");
        lost.terminated->container_id = before->container_id;
        lost.terminated->started_at = before->state.running->started_at;
        status.last_state = std::move(lost);
        ++status.restart_count;
        return status;
    }

    core::ContainerState state_of(const cri::ContainerStatus& from) const {
        core::ContainerState state;
        switch (from.state) {
            case cri::ContainerState::ContainerRunning:
                state.running.emplace();
                state.running->started_at = time_of(from.started_at);
                break;
            case cri::ContainerState::ContainerExited:
                state.terminated.emplace();
                state.terminated->exit_code = from.exit_code;
                state.terminated->reason = from.reason;
                state.terminated->message = from.message;
                state.terminated->started_at = time_of(from.started_at);
                state.terminated->finished_at = time_of(from.finished_at);
                state.terminated->container_id = id_text(from.id);
                break;
            case cri::ContainerState::ContainerUnknown:
                state = lost_state("The container could not be located when the pod was terminated");
                state.terminated->container_id = id_text(from.id);
                break;
            case cri::ContainerState::ContainerCreated:
                break;
        }
        return state;
    }

    const cri::ContainerStatus* previous_attempt(const cri::ContainerStatus& newest) const {
        bool passed = false;
        for (const cri::ContainerStatus& container : in_.state.containers) {
            if (container.id == newest.id) {
                passed = true;
            } else if (passed && name_of(container) == name_of(newest)) {
                return &container;
            }
        }
        return nullptr;
    }

    void add_details(const core::Container& container, const cri::ContainerStatus& from, core::ContainerStatus& status) const {
        if (is_running(from)) {
            const auto given = given_resources(from);
            status.resources = given ? given->container : container.resources;
            status.allocated_resources = container.resources.requests;
        }
        if (from.user && from.user->linux) {
            status.user.emplace().linux.emplace();
            status.user->linux->uid = from.user->linux->uid;
            status.user->linux->gid = from.user->linux->gid;
            status.user->linux->supplemental_groups = from.user->linux->supplemental_groups;
        }
        for (const core::VolumeMount& mount : container.volume_mounts) {
            core::VolumeMountStatus& shown = status.volume_mounts.emplace_back();
            shown.name = mount.name;
            shown.mount_path = mount.mount_path;
            shown.read_only = mount.read_only;
            const bool recursive = std::ranges::any_of(
                from.mounts, [&](const cri::Mount& made) { return made.container_path == mount.mount_path && made.recursive_read_only; });
            using Mode = core::RecursiveReadOnlyMode;
            if (mount.read_only) shown.recursive_read_only = recursive ? Mode::Enabled : Mode::Disabled;
        }
    }

    /// What keeps a container from starting (again) is shown instead of how it ended, where it is to start at all.
    void apply_waiting(ContainerKind kind, const core::Container& container, core::ContainerStatus& status) const {
        if (in_.finishing || status.state.running) return;
        const auto why = in_.waiting.find(container.name);
        if (why == in_.waiting.end()) return;
        if (status.state.terminated && !should_restart(in_.pod, container, in_.state)) return;
        const bool ended_well = status.state.terminated && status.state.terminated->exit_code == 0;
        if (kind == ContainerKind::Init && !is_sidecar(container) && ended_well) return;
        if (status.state.terminated) status.last_state = status.state;
        status.state = waiting_state(why->second.reason, why->second.message);
    }

    /// In a pod that is over, no container may look alive.
    void settle(const core::Container& container, const core::ContainerStatus* before, core::ContainerStatus& status) const {
        if (status.state.terminated) return;
        if (status.last_state.terminated && !status.state.running) {
            status.state = status.last_state;
            status.last_state = core::ContainerState();
            return;
        }
        if (!before && status.container_id.empty() && in_.state.empty()) return;  // it never got that far
        if (status.container_id.empty() && !(before && before->state.running)) return;
        status.state = lost_state("The container could not be located when the pod was terminated");
    }

    void set_readiness(ContainerKind kind, const core::Container& container, core::ContainerStatus& status) const {
        const cri::ContainerStatus* newest = in_.state.find_newest(container.name);
        const bool running = status.state.running && newest && is_running(*newest);
        const bool started = running && has_started(container, *newest, in_.probes);
        status.started = started;
        if (kind == ContainerKind::Init && !is_sidecar(container)) {
            status.ready = status.state.terminated && status.state.terminated->exit_code == 0;
        } else {
            status.ready = started && (!container.readiness_probe || in_.probes.readiness(newest->id) == ProbeVerdict::Success);
        }
        if (kind == ContainerKind::Ephemeral) {
            status.ready = false;
            status.started.reset();
        }
    }

    std::string id_text(const std::string& id) const { return in_.runtime_name + "://" + id; }

    const StatusInputs& in_;
    bool restarting_all_;
};

bool is_regular_init(const core::Pod& pod, std::size_t index) { return !is_sidecar(pod.spec.init_containers[index]); }

struct Counts {
    int unknown = 0, running = 0, waiting = 0, stopped = 0, succeeded = 0;
};

Counts count_regular(const core::Pod& pod, const core::PodStatus& status) {
    Counts counts;
    const StatusesByName statuses(status.container_statuses);
    for (const core::Container& container : pod.spec.containers) {
        const core::ContainerStatus* found = statuses.find(container.name);
        if (!found) {
            ++counts.unknown;
        } else if (found->state.running) {
            ++counts.running;
        } else if (found->state.terminated) {
            ++counts.stopped;
            if (found->state.terminated->exit_code == 0) ++counts.succeeded;
        } else if (found->state.waiting) {
            ++(found->last_state.terminated ? counts.stopped : counts.waiting);
        } else {
            ++counts.unknown;
        }
    }
    return counts;
}

core::PodCondition condition(const char* type, bool holds, std::string reason = "", std::string message = "") {
    core::PodCondition made;
    made.type = type;
    made.status = holds ? core::ConditionStatus::True : core::ConditionStatus::False;
    made.reason = std::move(reason);
    made.message = std::move(message);
    return made;
}

using Condition = core::PodConditionType;

/// The two lists that messages about containers name.
struct Unfit {
    std::vector<std::string> unknown, unfit;
    std::string message(const char* what) const {
        std::string text;
        if (!unknown.empty()) text = "containers with unknown status: [" + join(unknown, " ") + "]";
        if (!unfit.empty())
            text += (text.empty() ? "" : ", ") + ("containers with " + std::string(what) + " status: [" + join(unfit, " ") + "]");
        return text;
    }
};

core::PodCondition initialized_condition(const core::Pod& pod, const core::PodStatus& status) {
    if (status.phase == core::PodPhase::Succeeded) return condition(Condition::Initialized, true, "PodCompleted");
    Unfit found;
    const StatusesByName statuses(status.init_container_statuses);
    for (std::size_t i = 0; i < pod.spec.init_containers.size(); ++i) {
        const core::Container& container = pod.spec.init_containers[i];
        const core::ContainerStatus* one = statuses.find(container.name);
        if (!one) {
            found.unknown.push_back(container.name);
        } else if (is_regular_init(pod, i) ? !one->ready : !one->started.value_or(false)) {
            found.unfit.push_back(container.name);
        }
    }
    // Once a regular container has run, initialization is over for good.
    for (const core::ContainerStatus& one : status.container_statuses)
        if (one.state.running || one.state.terminated || one.last_state.terminated) found = Unfit();
    const std::string message = found.message("incomplete");
    if (message.empty()) return condition(Condition::Initialized, true);
    return condition(Condition::Initialized, false, "ContainersNotInitialized", message);
}

core::PodCondition containers_ready_condition(const core::Pod& pod, const core::PodStatus& status) {
    if (status.phase == core::PodPhase::Succeeded) return condition(Condition::ContainersReady, false, "PodCompleted");
    if (status.phase == core::PodPhase::Failed) return condition(Condition::ContainersReady, false, "PodFailed");
    Unfit found;
    const auto look = [&](const core::Container& container, const StatusesByName& statuses) {
        const core::ContainerStatus* one = statuses.find(container.name);
        if (!one) {
            found.unknown.push_back(container.name);
        } else if (!one->ready) {
            found.unfit.push_back(container.name);
        }
    };
    const StatusesByName init(status.init_container_statuses), regular(status.container_statuses);
    for (const core::Container& container : pod.spec.init_containers)
        if (is_sidecar(container)) look(container, init);
    for (const core::Container& container : pod.spec.containers) look(container, regular);
    const std::string message = found.message("unready");
    if (message.empty()) return condition(Condition::ContainersReady, true);
    return condition(Condition::ContainersReady, false, "ContainersNotReady", message);
}

core::PodCondition ready_condition(const core::Pod& pod, const core::PodStatus& status, const core::PodCondition& containers) {
    core::PodCondition ready = containers;
    ready.type = Condition::Ready;
    if (containers.status != core::ConditionStatus::True) return ready;
    std::string message;
    for (const core::PodReadinessGate& gate : pod.spec.readiness_gates) {
        const core::PodCondition* found = objects::find_condition(status.conditions, gate.condition_type);
        if (found && found->status == core::ConditionStatus::True) continue;
        if (!message.empty()) message += ", ";
        message += found ? "the status of pod readiness gate \"" + gate.condition_type + "\" is not \"True\", but " + found->status
                         : "corresponding condition of pod readiness gate \"" + gate.condition_type + "\" does not exist.";
    }
    if (message.empty()) return ready;
    return condition(Condition::Ready, false, "ReadinessGatesNotReady", message);
}

/// What is allocated to the pod as a whole, and what of cpu and memory it has: that differs while a resize is under way.
void set_resources(const StatusInputs& in, core::PodStatus& status) {
    status.allocated_resources = objects::pod_requests(in.pod.spec);
    const core::PodSpec given = with_given_resources(in.pod, in.state).spec;
    const ResourceList requests = objects::pod_requests(given), limits = enforced_limits(given);
    core::ResourceRequirements& shown = status.resources.emplace(given.resources.value_or(core::ResourceRequirements()));
    for (const char* name : {"cpu", "memory"}) {
        if (const auto request = requests.find(name); request != requests.end()) shown.requests[name] = request->second;
        if (const auto limit = limits.find(name); limit != limits.end()) shown.limits[name] = limit->second;
    }
}

void set_addresses(const StatusInputs& in, core::PodStatus& status) {
    status.pod_ip = in.previous.pod_ip;
    status.pod_ips = in.previous.pod_ips;
    if (!in.host_addresses.empty()) {
        status.host_ip = in.host_addresses.front();
        for (const std::string& address : in.host_addresses) status.host_ips.emplace_back().ip = address;
    }
    std::vector<std::string> addresses;
    if (const cri::PodSandboxStatus* sandbox = in.state.ready_sandbox()) {
        addresses = in.pod.spec.host_network ? in.host_addresses : addresses_of(*sandbox);
    } else if (in.pod.spec.host_network && status.pod_ip.empty()) {
        addresses = in.host_addresses;
    }
    if (addresses.empty()) return;
    status.pod_ip = addresses.front();
    status.pod_ips.clear();
    for (const std::string& address : addresses) status.pod_ips.emplace_back().ip = address;
}

}  // namespace

bool is_terminal_phase(const std::string& phase) { return phase == core::PodPhase::Succeeded || phase == core::PodPhase::Failed; }

std::string phase_of(const core::Pod& pod, const core::PodStatus& status, bool finishing) {
    using Phase = core::PodPhase;
    const Counts counts = count_regular(pod, status);
    // Before the first regular container has come to anything, the init containers decide.
    const bool started = counts.running + counts.stopped > 0;
    const StatusesByName init(status.init_container_statuses), regular(status.container_statuses);
    for (std::size_t i = 0; i < pod.spec.init_containers.size(); ++i) {
        const core::Container& container = pod.spec.init_containers[i];
        const core::ContainerStatus* one = init.find(container.name);
        if (is_sidecar(container)) {
            if (!started && !finishing && !(one && one->started.value_or(false))) return Phase::Pending;
            continue;
        }
        const bool over = one && one->state.terminated;
        if (over && one->state.terminated->exit_code != 0 &&
            (finishing || !wants_restart(pod, container, one->state.terminated->exit_code)))
            return Phase::Failed;
        if (!started && !finishing && !(over && one->state.terminated->exit_code == 0)) return Phase::Pending;
    }
    if (counts.waiting > 0 && !finishing) return Phase::Pending;
    if (counts.running > 0 && counts.unknown == 0) return Phase::Running;
    if (counts.running == 0 && counts.stopped > 0 && counts.unknown == 0) {
        const bool all_well = counts.succeeded == static_cast<int>(pod.spec.containers.size());
        if (finishing && !is_static_pod(pod)) return all_well ? Phase::Succeeded : Phase::Failed;
        bool restartable = false;
        for (const core::Container& container : pod.spec.containers) {
            const core::ContainerStatus* one = regular.find(container.name);
            const bool waits = one->state.waiting.has_value();
            restartable = restartable || waits || wants_restart(pod, container, one->state.terminated->exit_code);
        }
        if (restartable) return Phase::Running;
        return all_well ? Phase::Succeeded : Phase::Failed;
    }
    return Phase::Pending;
}

void update_conditions(const core::Pod& pod, core::PodStatus& status, bool has_sandbox, SystemTime now) {
    const std::int64_t generation = pod.metadata.generation;
    const core::PodCondition containers_ready = containers_ready_condition(pod, status);
    const auto set = [&](core::PodCondition one) {
        one.observed_generation = generation;
        objects::set_condition(status.conditions, std::move(one), Timestamp(now));
    };
    set(condition(Condition::PodReadyToStartContainers, has_sandbox));
    set(initialized_condition(pod, status));
    set(ready_condition(pod, status, containers_ready));
    set(containers_ready);
    set(condition(Condition::PodScheduled, true));
}

/// Until the last container has been removed, so that all begin anew.
core::PodCondition restarting_condition(const StatusInputs& in, const core::PodStatus& status, bool restarting_all) {
    constexpr const char* Type = Condition::AllContainersRestarting;
    if (status.phase == core::PodPhase::Succeeded) return condition(Type, false, "PodCompleted");
    if (status.phase == core::PodPhase::Failed) return condition(Type, false, "PodFailed");
    const bool any_left = std::ranges::any_of(all_containers(in.pod), [&](const ContainerSpec& spec) {
        return spec.kind != ContainerKind::Ephemeral && in.state.find_newest(spec.container.name);
    });
    if (!restarting_all || !any_left) return condition(Type, false);
    return condition(Type, true, "RestartAllContainersStarted", "container exited with restart policy rule");
}

/// A pod that was refused before it had containers has none after a restart of the kubelet, either.
bool never_had_containers(const StatusInputs& in) {
    return is_terminal_phase(in.previous.phase) && in.previous.container_statuses.empty() &&
           std::ranges::none_of(all_containers(in.pod),
                                [&](const ContainerSpec& spec) { return in.state.find_newest(spec.container.name); });
}

void set_container_statuses(const StatusInputs& in, bool restarting_all, core::PodStatus& status) {
    if (never_had_containers(in)) return;
    const ContainerStatuses containers(in, restarting_all);
    const StatusesByName init(in.previous.init_container_statuses), regular(in.previous.container_statuses),
        ephemerals(in.previous.ephemeral_container_statuses);
    for (const core::Container& container : in.pod.spec.init_containers)
        status.init_container_statuses.push_back(containers.make(ContainerKind::Init, container, init));
    for (const core::Container& container : in.pod.spec.containers)
        status.container_statuses.push_back(containers.make(ContainerKind::Regular, container, regular));
    for (const core::EphemeralContainer& ephemeral : in.pod.spec.ephemeral_containers)
        status.ephemeral_container_statuses.push_back(containers.make(ContainerKind::Ephemeral, to_container(ephemeral), ephemerals));
    const auto by_name = [](const core::ContainerStatus& a, const core::ContainerStatus& b) { return a.name < b.name; };
    std::sort(status.container_statuses.begin(), status.container_statuses.end(), by_name);
    std::sort(status.ephemeral_container_statuses.begin(), status.ephemeral_container_statuses.end(), by_name);
}

core::PodStatus generate_status(const StatusInputs& in) {
    core::PodStatus status;
    status.observed_generation = in.pod.metadata.generation;
    status.conditions = in.previous.conditions;
    status.nominated_node_name = in.previous.nominated_node_name;
    status.resource_claim_statuses = in.previous.resource_claim_statuses;
    status.extended_resource_claim_status = in.previous.extended_resource_claim_status;
    status.start_time = in.previous.start_time ? in.previous.start_time : std::optional(Timestamp(in.now));
    status.qos_class = objects::qos_class(in.pod.spec);
    set_addresses(in, status);
    set_resources(in, status);

    const core::PodCondition* restarting = objects::find_condition(in.previous.conditions, Condition::AllContainersRestarting);
    const bool restarting_all = is_restarting_all(in.pod, in.state) || (restarting && restarting->status == core::ConditionStatus::True);
    set_container_statuses(in, restarting_all, status);

    if (is_terminal_phase(in.previous.phase)) {
        status.phase = in.previous.phase;
        status.reason = in.previous.reason;
        status.message = in.previous.message;
    } else {
        status.phase = phase_of(in.pod, status, in.finishing);
        // A pod that is over has failed unless it is seen to have succeeded.
        if (in.terminated && !is_terminal_phase(status.phase) && !is_static_pod(in.pod)) status.phase = core::PodPhase::Failed;
    }
    const cri::PodSandboxStatus* sandbox = in.state.ready_sandbox();
    update_conditions(in.pod, status, sandbox && (in.pod.spec.host_network || !status.pod_ip.empty()), in.now);
    if (objects::may_restart_all_containers(in.pod.spec)) {
        core::PodCondition made = restarting_condition(in, status, restarting_all);
        made.observed_generation = in.pod.metadata.generation;
        objects::set_condition(status.conditions, std::move(made), Timestamp(in.now));
    }
    return status;
}

}  // namespace porthole::kubelet
