#include "kubelet/pod/actions.h"

#include <algorithm>

#include "kubelet/pod/resize.h"
#include "objects/restart_rules.h"

namespace porthole::kubelet {
namespace {

using Policy = core::RestartPolicy;

bool is_deleted(const core::Pod& pod) { return pod.metadata.deletion_timestamp.has_value(); }

/// Whether this container, as it ended, restarts all.
bool is_source(const core::Container& container, const cri::ContainerStatus& status) {
    return is_exited(status) && objects::restarts_all_containers(container, status.exit_code);
}

bool had_any_container(const core::Pod& pod, const PodRuntimeState& state) {
    for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers})
        for (const core::Container& container : *list)
            if (state.find_newest(container.name)) return true;
    return false;
}

class Planner {
public:
    Planner(const core::Pod& pod, const PodRuntimeState& state, const ProbeVerdicts& probes) : pod_(pod), state_(state), probes_(probes) {}

    PodActions plan() {
        const SandboxNeed need = sandbox_need(pod_, state_);
        actions_.sandbox_id = need.old_id;
        if (!is_deleted(pod_) && is_restarting_all(pod_, state_)) {
            plan_reset();
        } else if (need.create) {
            plan_new_sandbox(need);
        } else {
            plan_in_sandbox();
        }
        return std::move(actions_);
    }

private:
    /// What made all restart goes last: should this be interrupted, it is still known to be under way.
    void plan_reset() {
        for (const bool source : {false, true})
            for (auto list : {&core::PodSpec::containers, &core::PodSpec::init_containers})
                for (const core::Container& container : pod_.spec.*list)
                    for (const cri::ContainerStatus& status : state_.containers)
                        if (name_of(status) == container.name && is_source(container, status) == source)
                            actions_.containers_to_reset.push_back(status.id);
    }

    void plan_new_sandbox(const SandboxNeed& need) {
        actions_.kill_pod = !state_.sandboxes.empty();
        actions_.attempt = need.attempt;
        // A pod that does not restart its containers gets no second sandbox once it has run.
        if (need.attempt > 0 && pod_.spec.restart_policy == Policy::Never && had_any_container(pod_, state_) && !any_restart_rules()) {
            actions_.kill_pod = state_.ready_sandbox() != nullptr || state_.has_running_container();
            return;
        }
        std::vector<ContainerSpec> regular;
        for (const core::Container& container : pod_.spec.containers)
            if (!has_succeeded_for_good(container)) regular.push_back({ContainerKind::Regular, container, ""});
        if (regular.empty()) {
            actions_.kill_pod = state_.ready_sandbox() != nullptr || state_.has_running_container();
            return;
        }
        actions_.create_sandbox = true;
        actions_.sandbox_changed = !state_.sandboxes.empty();
        // In a new sandbox initialization begins from the front.
        if (!pod_.spec.init_containers.empty()) {
            start(ContainerKind::Init, pod_.spec.init_containers.front());
        } else {
            actions_.containers_to_start = std::move(regular);
        }
    }

    void plan_in_sandbox() {
        if (!is_deleted(pod_)) plan_ephemeral();
        if (!plan_init()) return;
        const std::size_t kept = plan_regular();
        const bool nothing_left = kept == 0 && std::none_of(actions_.containers_to_start.begin(), actions_.containers_to_start.end(),
                                                            [](const ContainerSpec& s) { return s.kind == ContainerKind::Regular; });
        if (nothing_left) {
            actions_.kill_pod = true;
            actions_.containers_to_start.clear();
        }
    }

    void plan_ephemeral() {
        for (const core::EphemeralContainer& ephemeral : pod_.spec.ephemeral_containers)
            if (!state_.find_newest(ephemeral.name))
                actions_.containers_to_start.push_back(
                    {ContainerKind::Ephemeral, to_container(ephemeral), ephemeral.target_container_name});
    }

    /// True once regular containers may run. Once one has been made, initialization is over and only sidecars are looked after.
    bool plan_init() {
        const bool over = std::any_of(pod_.spec.containers.begin(), pod_.spec.containers.end(),
                                      [&](const core::Container& c) { return state_.find_newest(c.name) && in_this_sandbox(c); });
        for (const core::Container& container : pod_.spec.init_containers) {
            const bool sidecar = is_sidecar(container);
            if (over && !sidecar) continue;
            const cri::ContainerStatus* status = newest_in_sandbox(container);
            if (!status) {
                start(ContainerKind::Init, container);
                if (!over) return false;
                continue;
            }
            if (is_running(*status)) {
                if (sidecar && plan_running(ContainerKind::Init, container, *status)) continue;
                if (!sidecar) {
                    plan_running(ContainerKind::Init, container, *status);
                    return false;
                }
                if (!over) return false;
                continue;
            }
            if (!sidecar && is_exited(*status) && status->exit_code == 0) continue;
            if (!is_deleted(pod_) &&
                (status->state == cri::ContainerState::ContainerCreated || wants_restart(pod_, container, status->exit_code))) {
                start(ContainerKind::Init, container);
            } else if (!sidecar) {
                // A failed init container ends the pod.
                actions_.kill_pod = true;
                actions_.containers_to_start.clear();
                return false;
            }
            if (!over) return false;
        }
        return true;
    }

    std::size_t plan_regular() {
        std::size_t kept = 0;
        for (const core::Container& container : pod_.spec.containers) {
            const cri::ContainerStatus* status = state_.find_newest(container.name);
            if (status && is_running(*status)) {
                plan_running(ContainerKind::Regular, container, *status);
                if (actions_.containers_to_kill.empty() || actions_.containers_to_kill.back().id != status->id ||
                    actions_.containers_to_kill.back().restart)
                    ++kept;
            } else if (should_restart(pod_, container, state_)) {
                start(ContainerKind::Regular, container);
            }
        }
        return kept;
    }

    /// True when a running container may stay and has started.
    bool plan_running(ContainerKind kind, const core::Container& container, const cri::ContainerStatus& status) {
        ContainerToKill kill{.id = status.id, .name = container.name};
        const auto hash = status.annotations.find(ContainerHashAnnotation);
        if (hash != status.annotations.end() && hash->second != container_hash(container)) {
            kill.message = "Container " + container.name + " definition changed, will be restarted";
        } else if (container.liveness_probe && probes_.liveness(status.id) == ProbeVerdict::Failure) {
            kill.message = "Container " + container.name + " failed liveness probe";
            kill.failed_liveness = true;
            kill.restart = effective_restart_policy(pod_, container) != Policy::Never;
        } else if (container.startup_probe && probes_.startup(status.id) == ProbeVerdict::Failure) {
            kill.message = "Container " + container.name + " failed startup probe";
            kill.failed_startup = true;
            kill.restart = effective_restart_policy(pod_, container) != Policy::Never;
        } else if (plan_resize(container, status) == ResizeStep::Restart) {
            kill.message = "Container " + container.name + " resize requires restart";
        } else {
            return has_started(container, status, probes_);
        }
        if (kill.restart && !kill.message.ends_with("restart") && !kill.message.ends_with("will be restarted"))
            kill.message += ", will be restarted";
        actions_.containers_to_kill.push_back(std::move(kill));
        return false;
    }

    ResizeStep plan_resize(const core::Container& container, const cri::ContainerStatus& status) {
        const auto given = given_resources(status);
        if (!given || is_deleted(pod_)) return ResizeStep::None;
        const ResizeStep step = resize_step(container, pod_.spec.resources, *given);
        if (step == ResizeStep::Restart) return step;
        if (step == ResizeStep::InPlace) actions_.containers_to_resize.push_back({status.id, container});
        if (differ_at_pod_level(given->pod, pod_.spec.resources)) actions_.resize_pod = true;
        return step;
    }

    void start(ContainerKind kind, const core::Container& container) { actions_.containers_to_start.push_back({kind, container, ""}); }

    const cri::ContainerStatus* newest_in_sandbox(const core::Container& container) const {
        const cri::ContainerStatus* status = state_.find_newest(container.name);
        return status && in_this_sandbox(container) ? status : nullptr;
    }

    /// Whether the newest container of that name was made after the present sandbox.
    bool in_this_sandbox(const core::Container& container) const {
        const cri::ContainerStatus* status = state_.find_newest(container.name);
        const cri::PodSandboxStatus* sandbox = state_.newest_sandbox();
        return status && (!sandbox || status->created_at >= sandbox->created_at);
    }

    bool has_succeeded_for_good(const core::Container& container) const {
        const cri::ContainerStatus* status = state_.find_newest(container.name);
        return status && is_exited(*status) && !wants_restart(pod_, container, status->exit_code);
    }

    bool any_restart_rules() const {
        return std::any_of(pod_.spec.containers.begin(), pod_.spec.containers.end(),
                           [](const core::Container& c) { return c.restart_policy.has_value() || !c.restart_policy_rules.empty(); });
    }

    const core::Pod& pod_;
    const PodRuntimeState& state_;
    const ProbeVerdicts& probes_;
    PodActions actions_;
};

}  // namespace

PodActions compute_actions(const core::Pod& pod, const PodRuntimeState& state, const ProbeVerdicts& probes) {
    return Planner(pod, state, probes).plan();
}

bool wants_restart(const core::Pod& pod, const core::Container& container, std::int32_t exit_code) {
    if (objects::matching_restart_rule(container, exit_code)) return true;
    const std::string policy = effective_restart_policy(pod, container);
    return policy == Policy::Always || (policy == Policy::OnFailure && exit_code != 0);
}

bool is_restarting_all(const core::Pod& pod, const PodRuntimeState& state) {
    for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers})
        for (const core::Container& container : *list)
            if (const cri::ContainerStatus* status = state.find_newest(container.name); status && is_source(container, *status))
                return true;
    return false;
}

std::string effective_restart_policy(const core::Pod& pod, const core::Container& container) {
    if (container.restart_policy) return *container.restart_policy;
    const bool init = std::any_of(pod.spec.init_containers.begin(), pod.spec.init_containers.end(),
                                  [&](const core::Container& other) { return other.name == container.name; });
    if (init && pod.spec.restart_policy != Policy::Never) return Policy::OnFailure;
    return pod.spec.restart_policy.empty() ? std::string(Policy::Always) : pod.spec.restart_policy;
}

bool should_restart(const core::Pod& pod, const core::Container& container, const PodRuntimeState& state) {
    if (is_deleted(pod)) return false;
    const cri::ContainerStatus* status = state.find_newest(container.name);
    if (!status || status->state == cri::ContainerState::ContainerCreated || status->state == cri::ContainerState::ContainerUnknown)
        return true;
    if (is_running(*status)) return false;
    return wants_restart(pod, container, status->exit_code);
}

SandboxNeed sandbox_need(const core::Pod& pod, const PodRuntimeState& state) {
    const cri::PodSandboxStatus* newest = state.newest_sandbox();
    if (!newest) return {.create = true};
    const std::uint32_t next = (newest->metadata ? newest->metadata->attempt : 0) + 1;
    const auto ready = std::count_if(state.sandboxes.begin(), state.sandboxes.end(), [](const cri::PodSandboxStatus& sandbox) {
        return sandbox.state == cri::PodSandboxState::SandboxReady;
    });
    const bool usable = newest->state == cri::PodSandboxState::SandboxReady && ready == 1;
    const bool has_address = pod.spec.host_network || !addresses_of(*newest).empty();
    if (usable && has_address) return {.attempt = next - 1, .old_id = newest->id};
    return {.create = true, .attempt = next, .old_id = newest->id};
}

bool has_started(const core::Container& container, const cri::ContainerStatus& status, const ProbeVerdicts& probes) {
    if (!is_running(status)) return false;
    return !container.startup_probe || probes.startup(status.id) == ProbeVerdict::Success;
}

}  // namespace porthole::kubelet
