#include "kubelet/pod_worker.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration Resync = 60s, LongestRetry = 10s;

}  // namespace

PodWorker::PodWorker(Random& random, Logger log, std::unique_ptr<PodSyncer> syncer, std::shared_ptr<const core::Pod> pod)
    : random_(random), log_(std::move(log)), syncer_(std::move(syncer)), wanted_{.pod = std::move(pod)} {
    if (wanted_.pod->metadata.deletion_timestamp || is_terminal_phase(wanted_.pod->status.phase)) wanted_.termination.emplace();
}

void PodWorker::update(std::shared_ptr<const core::Pod> pod) {
    const auto before = std::exchange(wanted_.pod, std::move(pod))->metadata.deletion_grace_period_seconds;
    const auto& now = wanted_.pod->metadata.deletion_grace_period_seconds;
    if (wanted_.pod->metadata.deletion_timestamp && !wanted_.termination) return terminate({});
    if (now && before && *now < *before && !stopped_) interrupt_.trigger();
    wake_.set();
}

void PodWorker::terminate(Termination termination) {
    auto& present = wanted_.termination;
    const bool shorter = present && termination.grace && (!present->grace || *termination.grace < *present->grace);
    if (!present) {
        present = std::move(termination);
        interrupt_.trigger();
    } else if (shorter) {
        present->grace = termination.grace;
        if (!stopped_) interrupt_.trigger();
    }
    wake_.set();
}

Task<> PodWorker::run() {
    while (!finished_) {
        wake_.reset();
        const auto result = co_await take_step();
        Duration pause = next_sync();
        if (result) {
            failures_ = 0;
            if (wanted_.termination) continue;
        } else if (!is_cancelled(result)) {
            log_.warn("pod sync failed", {{"pod", pod_key(*wanted_.pod)}, {"error", result.error().message}});
            pause = retry_delay();
        }
        const auto woken = co_await with_timeout(wake_.wait(), pause, "next sync");
        if (is_cancelled(woken)) co_return cancelled_error();
    }
    co_return {};
}

Task<> PodWorker::take_step() {
    if (!wanted_.termination) {
        CO_TRY(auto end, co_await interrupt_.run(syncer_->sync(wanted_)));
        if (end) terminate(std::move(*end));
    } else if (!stopped_) {
        CO_TRY_VOID(co_await interrupt_.run(syncer_->stop(wanted_)));
        stopped_ = true;
    } else {
        CO_TRY_VOID(co_await syncer_->clean_up(wanted_));
        finished_ = true;
    }
    co_return {};
}

Duration PodWorker::retry_delay() {
    failures_ = std::min(failures_ + 1, 10);
    return std::min<Duration>(1s * (1 << (failures_ - 1)), LongestRetry);
}

Duration PodWorker::next_sync() const {
    const double jitter = 1.0 + 0.5 * random_.fraction();
    const Duration next(static_cast<Duration::rep>(static_cast<double>(Resync.count()) * jitter));
    const auto sooner = syncer_->next_sync(wanted_);
    return sooner ? std::clamp<Duration>(*sooner + 1ms, 1ms, next) : next;
}

}  // namespace porthole::kubelet
