#include "kubelet/pod_lifecycle.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration StartRetry = 10s, VolumeRefresh = 50s;
constexpr int StepLimit = 100;  // of one sync, against a runtime that never shows what it was told
constexpr const char* DeadlineMessage = "Pod was active on the node longer than the specified deadline";

}  // namespace

Task<> PodLifecycle::refresh(const WantedPod& wanted) {
    auto state = co_await containers_.read(wanted.pod->metadata.uid);
    if (!state) {
        if (!is_cancelled(state))
            events_.warning(reference_to(*wanted.pod), "FailedSync", "error determining status: " + state.error().message);
        co_return std::move(state).error();
    }
    state_ = std::move(*state);
    resizer_.apply_to(state_);
    reporter_.observe(view(wanted));
    co_return {};
}

Task<std::optional<Termination>> PodLifecycle::sync(const WantedPod& wanted) {
    CO_TRY_VOID(co_await refresh(wanted));
    if (reporter_.is_over(*wanted.pod)) co_return Termination{};
    if (const auto left = reporter_.deadline_left(*wanted.pod); left && *left <= Duration::zero()) {
        events_.normal(reference_to(*wanted.pod), "DeadlineExceeded", DeadlineMessage);
        co_return Termination{.reason = "DeadlineExceeded", .message = DeadlineMessage};
    }
    for (int step = 0; step < StepLimit; ++step) {
        const PodActions actions = compute_actions(*wanted.pod, state_, probes_.verdicts());
        if (actions.empty()) {
            CO_TRY_VOID(co_await refresh_volumes(wanted));
            break;
        }
        CO_TRY(auto taken, co_await take_step(wanted, actions));
        if (taken.end) co_return std::move(taken.end);
        CO_TRY_VOID(co_await refresh(wanted));
        if (reporter_.is_over(*wanted.pod)) co_return Termination{};
        if (!taken.progress) break;
    }
    co_return std::nullopt;
}

Task<PodLifecycle::Step> PodLifecycle::take_step(const WantedPod& wanted, const PodActions& actions) {
    const std::shared_ptr<const core::Pod> pod = wanted.pod;  // that of the actions, which may be replaced meanwhile
    if (!actions.containers_to_reset.empty()) {
        CO_TRY_VOID(co_await containers_.reset(pod, state_, actions.containers_to_reset));
        waiting_.clear();
        co_return Step{.progress = true};
    }
    Result<void> resized;
    if (actions.kill_pod) {
        if (actions.sandbox_changed)
            events_.normal(reference_to(*pod), "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
        CO_TRY_VOID(co_await containers_.kill_pod(pod, state_));
        if (!actions.create_sandbox) co_return Step{.progress = true};
    } else {
        if (!actions.containers_to_kill.empty()) {
            CO_TRY_VOID(co_await containers_.kill(pod, state_, actions.containers_to_kill));
            CO_TRY_VOID(co_await refresh(wanted));  // what has ended does not use what it was given
        }
        // A resize that is not possible now is tried again, and keeps nothing from starting.
        resized = co_await resizer_.resize(pod, actions, state_);
        if (is_cancelled(resized)) co_return std::move(resized).error();
        if (!resized) reporter_.report(view(wanted));
    }
    Step step{.progress = true};
    if (actions.create_sandbox || !actions.containers_to_start.empty()) {
        CO_TRY(step, co_await prepare_and_start(wanted, actions));
    }
    if (!step.end && !resized) co_return std::move(resized).error();
    co_return step;
}

Task<PodLifecycle::Step> PodLifecycle::prepare_and_start(const WantedPod& wanted, const PodActions& actions) {
    PreparedPod prepared;
    CO_TRY(const auto rejection, co_await preparer_.prepare(wanted.pod, state_, actions.create_sandbox, prepared));
    if (rejection) {
        if (rejection->reason == PodPreparer::NoUserNamespaces) containers_.counts().add_user_namespaced_pod(false);
        co_return Step{.end = Termination{.reason = rejection->reason, .message = "Pod was rejected: " + rejection->message}};
    }
    volumes_set_up_ = loop_.now();
    const std::size_t failing = waiting_.size();
    const auto started = co_await start(wanted, actions, prepared);
    if (actions.create_sandbox && prepared.users && !is_cancelled(started))
        containers_.counts().add_user_namespaced_pod(started && waiting_.empty());
    if (!started) co_return started.error();
    co_return Step{.progress = waiting_.empty() || waiting_.size() < failing};
}

Task<> PodLifecycle::start(const WantedPod& wanted, const PodActions& actions, const PreparedPod& prepared) {
    PodStartContext context{.prepared = prepared};
    if (actions.create_sandbox) {
        CO_TRY(context.sandbox, co_await sandboxes_.make(wanted.pod, prepared, actions.attempt));
        CO_TRY_VOID(co_await refresh(wanted));
    } else {
        context.sandbox = sandboxes_.config(*wanted.pod, prepared, actions.attempt);
    }
    context.pod = wanted.pod;
    context.state = state_;
    context.addresses = reporter_.addresses(*wanted.pod, state_);
    co_return co_await containers_.start(std::move(context), actions.containers_to_start, waiting_);
}

/// Files that come out of the API follow it while the pod runs.
Task<> PodLifecycle::refresh_volumes(const WantedPod& wanted) {
    if (wanted.pod->spec.volumes.empty() || loop_.now() - volumes_set_up_ < VolumeRefresh) co_return {};
    const auto refreshed = co_await preparer_.refresh_volumes(wanted.pod);
    volumes_set_up_ = loop_.now();
    if (is_cancelled(refreshed)) co_return refreshed.error();
    co_return {};
}

Task<> PodLifecycle::stop(const WantedPod& wanted) {
    probes_.stop_liveness_and_startup(wanted.pod->metadata.uid);
    CO_TRY_VOID(co_await refresh(wanted));
    auto killed = co_await containers_.kill_pod(wanted.pod, state_, wanted.termination->grace);
    if (!killed) {
        if (!is_cancelled(killed))
            events_.warning(reference_to(*wanted.pod), "FailedKillPod", "error killing pod: " + killed.error().message);
        co_return std::move(killed).error();
    }
    CO_TRY(state_, co_await containers_.read(wanted.pod->metadata.uid));
    if (state_.has_running_container()) co_return Error(Reason::Unavailable, "containers are still running");
    stopped_ = true;
    reporter_.report(view(wanted));
    preparer_.free_devices(wanted.pod->metadata.uid);  // before the scheduler can hear of the end: it may give them to another pod
    co_return {};
}

Task<> PodLifecycle::clean_up(const WantedPod& wanted) {
    const std::string& uid = wanted.pod->metadata.uid;
    probes_.remove_pod(uid);
    containers_.forget_pod(uid);
    CO_TRY_VOID(co_await preparer_.release(wanted.pod));
    reporter_.finish(view(wanted));
    co_return {};
}

std::optional<Duration> PodLifecycle::next_sync(const WantedPod& wanted) const {
    std::optional<Duration> next = reporter_.deadline_left(*wanted.pod);
    if (waiting_.empty()) return next;
    const Duration retry = std::min(containers_.retry_after(*wanted.pod, state_).value_or(StartRetry), StartRetry);
    return next ? std::min(*next, retry) : retry;
}

}  // namespace porthole::kubelet
