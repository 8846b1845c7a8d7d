#include "kubelet/pod_reporter.h"

#include <algorithm>

#include "objects/conditions.h"

namespace porthole::kubelet {
namespace {

/// The status to start from: ours for what we own, the API's for what is others'.
core::PodStatus previous_status(const core::Pod& pod, const core::PodStatus* own) {
    if (!own) return pod.status;
    core::PodStatus previous = *own;
    previous.nominated_node_name = pod.status.nominated_node_name;
    previous.resource_claim_statuses = pod.status.resource_claim_statuses;
    previous.extended_resource_claim_status = pod.status.extended_resource_claim_status;
    for (const core::PodCondition& condition : pod.status.conditions) {
        if (!objects::find_condition(previous.conditions, condition.type)) previous.conditions.push_back(condition);
    }
    for (core::PodCondition& mine : previous.conditions) {
        const bool gate = std::any_of(pod.spec.readiness_gates.begin(), pod.spec.readiness_gates.end(),
                                      [&](const core::PodReadinessGate& g) { return g.condition_type == mine.type; });
        if (!gate) continue;
        for (const core::PodCondition& theirs : pod.status.conditions)
            if (theirs.type == mine.type) mine = theirs;
    }
    return previous;
}

}  // namespace

void PodReporter::observe(const PodView& view) {
    const std::vector<std::string> own = addresses(*view.wanted.pod, view.state);
    probes_.observe(view.wanted.pod, view.state, own.empty() ? view.wanted.pod->status.pod_ip : own.front());
    report(view);
}

void PodReporter::report(const PodView& view) {
    view.resizer.tell_of_end(view.wanted, view.state);
    statuses_.set(*view.wanted.pod, status_of(view));
}

void PodReporter::finish(const PodView& view) {
    report(view);
    statuses_.mark_finished(view.wanted.pod->metadata.uid);
}

void PodReporter::forget(const std::string& uid, bool again) { again ? statuses_.begin_anew(uid) : statuses_.forget(uid); }

std::vector<std::string> PodReporter::addresses(const core::Pod& pod, const PodRuntimeState& state) const {
    const cri::PodSandboxStatus* sandbox = state.ready_sandbox();
    if (!sandbox) return {};
    return pod.spec.host_network ? node_.host_addresses : addresses_of(*sandbox);
}

core::PodStatus PodReporter::status_of(const PodView& view) const {
    const core::Pod& pod = *view.wanted.pod;
    const auto& termination = view.wanted.termination;
    const core::PodStatus previous = previous_status(pod, statuses_.find(pod.metadata.uid));
    const ProbeVerdicts verdicts = probes_.verdicts();
    const SystemTime now = loop_.wall_now();
    core::PodStatus status = generate_status({.pod = pod,
                                              .state = view.state,
                                              .probes = verdicts,
                                              .waiting = view.waiting,
                                              .previous = previous,
                                              .host_addresses = node_.host_addresses,
                                              .runtime_name = node_.runtime_name,
                                              .finishing = termination.has_value(),
                                              .terminated = view.stopped,
                                              .now = now});
    view.resizer.add_conditions(view.wanted, view.state, now, status);
    devices_.add_health(pod, status);
    // Not while containers run: others would take what they use for free.
    if (termination && view.stopped && !termination->reason.empty()) {
        status.phase = core::PodPhase::Failed;
        status.reason = termination->reason;
        status.message = termination->message;
    }
    return status;
}

void PodReporter::reject(const core::Pod& pod, const Rejection& rejection) {
    events_.warning(reference_to(pod), rejection.reason, rejection.message);
    core::PodStatus status = pod.status;
    status.phase = core::PodPhase::Failed;
    status.reason = rejection.reason;
    status.message = "Pod was rejected: " + rejection.message;
    status.observed_generation = pod.metadata.generation;
    status.qos_class = objects::qos_class(pod.spec);
    if (!status.start_time) status.start_time = Timestamp(loop_.wall_now());
    statuses_.set(pod, std::move(status));
}

bool PodReporter::is_over(const core::Pod& pod) const {
    const core::PodStatus* status = statuses_.find(pod.metadata.uid);
    return status && is_terminal_phase(status->phase);
}

std::optional<Duration> PodReporter::deadline_left(const core::Pod& pod) const {
    if (!pod.spec.active_deadline_seconds) return std::nullopt;
    const core::PodStatus* status = statuses_.find(pod.metadata.uid);
    if (!status || !status->start_time) return std::nullopt;
    const SystemTime end = status->start_time->to_system_time() + std::chrono::seconds(*pod.spec.active_deadline_seconds);
    return end - loop_.wall_now();
}

}  // namespace porthole::kubelet
