#include "kubelet/pod_worker.h"

#include <algorithm>

#include "base/result.h"
#include "objects/conditions.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration Resync = 60s;
constexpr Duration LongestRetry = 10s;
constexpr Duration VolumeRefresh = 50s;
constexpr int StepLimit = 100;  // of one sync, against a runtime that never shows what it was told

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

PodWorker::PodWorker(PodServices& services, std::shared_ptr<const core::Pod> pod)
    : services_(services), pod_(std::move(pod)), resizer_(services, *pod_) {
    if (pod_->metadata.deletion_timestamp || is_terminal_phase(pod_->status.phase)) termination_.emplace();
}

void PodWorker::update(std::shared_ptr<const core::Pod> pod) {
    const bool shorter = pod->metadata.deletion_grace_period_seconds && pod_->metadata.deletion_grace_period_seconds &&
                         *pod->metadata.deletion_grace_period_seconds < *pod_->metadata.deletion_grace_period_seconds;
    pod_ = std::move(pod);
    if (pod_->metadata.deletion_timestamp && !termination_) return terminate({});
    if (shorter && !stopped_) interrupt_.trigger();
    wake_.set();
}

void PodWorker::terminate(Termination termination) {
    if (!termination_) {
        termination_ = std::move(termination);
        services_.probes.stop_liveness_and_startup(pod_->metadata.uid);
        interrupt_.trigger();
    } else if (termination.grace && (!termination_->grace || *termination.grace < *termination_->grace)) {
        termination_->grace = termination.grace;
        if (!stopped_) interrupt_.trigger();
    }
    wake_.set();
}

Task<> PodWorker::run() {
    while (!finished_) {
        wake_.reset();
        Result<void> result;
        if (!termination_) {
            result = co_await interrupt_.run(sync());
        } else if (!stopped_) {
            result = co_await interrupt_.run(stop_everything());
        } else {
            result = co_await clean_up();
        }
        Duration pause = next_sync();
        if (result) {
            failures_ = 0;
            if (termination_) continue;
        } else if (!is_cancelled(result)) {
            services_.log.warn("pod sync failed", {{"pod", pod_key(*pod_)}, {"error", result.error().message}});
            pause = retry_delay();
        }
        const auto woken = co_await with_timeout(wake_.wait(), pause, "next sync");
        if (is_cancelled(woken)) co_return cancelled_error();
    }
    co_return {};
}

Duration PodWorker::retry_delay() {
    failures_ = std::min(failures_ + 1, 10);
    return std::min<Duration>(1s * (1 << (failures_ - 1)), LongestRetry);
}

Task<> PodWorker::refresh() {
    auto state = co_await services_.containers.read(pod_->metadata.uid);
    if (!state) {
        if (!is_cancelled(state))
            services_.events.warning(reference_to(*pod_), "FailedSync", "error determining status: " + state.error().message);
        co_return std::move(state).error();
    }
    state_ = std::move(*state);
    resizer_.apply_to(state_);
    const std::vector<std::string> addresses = pod_addresses();
    services_.probes.observe(pod_, state_, addresses.empty() ? pod_->status.pod_ip : addresses.front());
    report();
    co_return {};
}

std::vector<std::string> PodWorker::pod_addresses() const {
    const cri::PodSandboxStatus* sandbox = state_.ready_sandbox();
    if (!sandbox) return {};
    return pod_->spec.host_network ? services_.node.host_addresses : addresses_of(*sandbox);
}

void PodWorker::report() {
    resizer_.tell_of_end(*pod_, state_, termination_.has_value());
    services_.statuses.set(*pod_, status_now());
}

core::PodStatus PodWorker::status_now() const {
    const core::PodStatus previous = previous_status(*pod_, services_.statuses.find(pod_->metadata.uid));
    const ProbeVerdicts verdicts = services_.probes.verdicts();
    core::PodStatus status = generate_status({.pod = *pod_,
                                              .state = state_,
                                              .probes = verdicts,
                                              .waiting = waiting_,
                                              .previous = previous,
                                              .host_addresses = services_.node.host_addresses,
                                              .runtime_name = services_.node.runtime_name,
                                              .finishing = termination_.has_value(),
                                              .terminated = stopped_,
                                              .now = services_.loop.wall_now()});
    resizer_.add_conditions(*pod_, state_, termination_.has_value(), status);
    services_.devices.add_health(*pod_, status);
    if (termination_ && !termination_->reason.empty()) {
        status.phase = core::PodPhase::Failed;
        status.reason = termination_->reason;
        status.message = termination_->message;
    }
    return status;
}

std::optional<Duration> PodWorker::deadline_left() const {
    if (!pod_->spec.active_deadline_seconds) return std::nullopt;
    const core::PodStatus* status = services_.statuses.find(pod_->metadata.uid);
    if (!status || !status->start_time) return std::nullopt;
    const SystemTime end = status->start_time->to_system_time() + std::chrono::seconds(*pod_->spec.active_deadline_seconds);
    return end - services_.loop.wall_now();
}

Task<> PodWorker::sync() {
    CO_TRY_VOID(co_await refresh());
    const core::PodStatus* status = services_.statuses.find(pod_->metadata.uid);
    if (status && is_terminal_phase(status->phase)) {
        terminate({});
        co_return {};
    }
    if (const auto left = deadline_left(); left && *left <= Duration::zero()) {
        services_.events.normal(reference_to(*pod_), "DeadlineExceeded", "Pod was active on the node longer than the specified deadline");
        terminate({.reason = "DeadlineExceeded", .message = "Pod was active on the node longer than the specified deadline"});
        co_return {};
    }
    for (int step = 0; step < StepLimit; ++step) {
        const PodActions actions = compute_actions(*pod_, state_, services_.probes.verdicts());
        if (actions.empty()) co_return co_await refresh_volumes();
        CO_TRY(const bool progress, co_await take_step(actions));
        CO_TRY_VOID(co_await refresh());
        status = services_.statuses.find(pod_->metadata.uid);
        if (status && is_terminal_phase(status->phase)) {
            terminate({});
            co_return {};
        }
        if (!progress) co_return {};
    }
    co_return {};
}

/// True when the next step may follow at once.
Task<bool> PodWorker::take_step(const PodActions& actions) {
    if (!actions.containers_to_reset.empty()) {
        CO_TRY_VOID(co_await services_.containers.reset(pod_, state_, actions.containers_to_reset));
        waiting_.clear();
        co_return true;
    }
    const std::shared_ptr<const core::Pod> pod = pod_;  // that of the actions, which may be replaced meanwhile
    Result<void> resized;
    if (actions.kill_pod) {
        if (actions.sandbox_changed)
            services_.events.normal(reference_to(*pod_), "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
        CO_TRY_VOID(co_await services_.containers.kill_pod(pod_, state_));
        if (!actions.create_sandbox) co_return true;
    } else {
        if (!actions.containers_to_kill.empty()) {
            CO_TRY_VOID(co_await services_.containers.kill(pod_, state_, actions.containers_to_kill));
            CO_TRY_VOID(co_await refresh());  // what has ended does not use what it was given
        }
        // A resize that is not possible now is tried again, and keeps nothing from starting.
        resized = co_await resizer_.resize(pod, actions, state_);
        if (is_cancelled(resized)) co_return std::move(resized).error();
        if (!resized) report();
    }
    if (!actions.create_sandbox && actions.containers_to_start.empty()) {
        if (!resized) co_return std::move(resized).error();
        co_return true;
    }
    CO_TRY_VOID(co_await prepare(actions));
    const std::size_t failing = waiting_.size();
    const auto started = co_await start_pod(actions);
    if (actions.create_sandbox && prepared_.users && !is_cancelled(started))
        services_.containers.counts().add_user_namespaced_pod(started && waiting_.empty());
    if (!started) co_return started.error();
    if (!resized) co_return std::move(resized).error();
    co_return waiting_.empty() || waiting_.size() < failing;
}

Task<> PodWorker::start_pod(const PodActions& actions) {
    if (actions.create_sandbox) {
        CO_TRY(sandbox_config_, co_await services_.sandboxes.make(pod_, prepared_, actions.attempt));
        CO_TRY_VOID(co_await refresh());
    } else {
        sandbox_config_ = services_.sandboxes.config(*pod_, prepared_, actions.attempt);
    }
    PodStartContext context{.pod = pod_, .prepared = prepared_, .state = state_, .sandbox = sandbox_config_, .addresses = pod_addresses()};
    co_return co_await services_.containers.start(std::move(context), actions.containers_to_start, waiting_);
}

Task<> PodWorker::prepare(const PodActions& actions) {
    CO_TRY(const auto rejection, co_await services_.preparer.prepare(pod_, state_, actions.create_sandbox, prepared_));
    if (rejection) {
        if (rejection->reason == PodPreparer::NoUserNamespaces) services_.containers.counts().add_user_namespaced_pod(false);
        terminate({.reason = rejection->reason, .message = "Pod was rejected: " + rejection->message});
        co_return Error(Reason::Conflict, rejection->message);
    }
    volumes_set_up_ = services_.loop.now();
    co_return {};
}

/// Files that come out of the API follow it while the pod runs.
Task<> PodWorker::refresh_volumes() {
    if (pod_->spec.volumes.empty() || services_.loop.now() - volumes_set_up_ < VolumeRefresh) co_return {};
    const auto refreshed = co_await services_.preparer.refresh_volumes(pod_);
    volumes_set_up_ = services_.loop.now();
    if (is_cancelled(refreshed)) co_return refreshed.error();
    co_return {};
}

Task<> PodWorker::stop_everything() {
    CO_TRY_VOID(co_await refresh());
    auto killed = co_await services_.containers.kill_pod(pod_, state_, termination_->grace);
    if (!killed) {
        if (!is_cancelled(killed))
            services_.events.warning(reference_to(*pod_), "FailedKillPod", "error killing pod: " + killed.error().message);
        co_return std::move(killed).error();
    }
    CO_TRY(state_, co_await services_.containers.read(pod_->metadata.uid));
    if (state_.has_running_container()) co_return Error(Reason::Unavailable, "containers are still running");
    stopped_ = true;
    report();
    co_return {};
}

Task<> PodWorker::clean_up() {
    const std::string uid = pod_->metadata.uid;  // the pod may be replaced meanwhile
    services_.probes.remove_pod(uid);
    services_.containers.forget_pod(uid);
    CO_TRY_VOID(co_await services_.preparer.release(pod_));
    report();
    services_.statuses.mark_finished(uid);
    finished_ = true;
    co_return {};
}

Duration PodWorker::next_sync() const {
    const double jitter = 1.0 + 0.5 * services_.random.fraction();
    Duration next(static_cast<Duration::rep>(static_cast<double>(Resync.count()) * jitter));
    const auto sooner = [&](std::optional<Duration> other) {
        if (other) next = std::clamp<Duration>(*other + 1ms, 1ms, next);
    };
    if (!waiting_.empty()) {
        sooner(services_.containers.retry_after(*pod_, state_));
        if (next > LongestRetry) sooner(LongestRetry);
    }
    sooner(deadline_left());
    return next;
}

}  // namespace porthole::kubelet
