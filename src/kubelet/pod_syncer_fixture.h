#pragma once
#include "base/result.h"
#include "kubelet/pod_worker.h"

namespace porthole::kubelet {

/// Records how steps end. Each takes `time` and fails with `failure`, unless that is "".
struct FakeSyncer final : PodSyncer {
    explicit FakeSyncer(EventLoop& loop) : loop(loop) {}
    Task<> step(std::string name) {
        const auto slept = co_await loop.sleep(time);
        steps.push_back(slept ? name : name + " interrupted");
        if (!slept || failure.empty()) co_return slept;
        co_return Error(Reason::Unknown, failure);
    }
    Task<std::optional<Termination>> sync(const WantedPod&) override {
        CO_TRY_VOID(co_await step("sync"));
        co_return end;
    }
    Task<> stop(const WantedPod& wanted) override {
        reason = wanted.termination->reason;
        return step("stop");
    }
    Task<> clean_up(const WantedPod&) override { return step("clean up"); }
    std::optional<Duration> next_sync(const WantedPod&) const override { return next; }

    EventLoop& loop;
    Duration time = Duration::zero();
    std::string failure, reason;
    std::optional<Termination> end;
    std::optional<Duration> next;
    std::vector<std::string> steps;
};

}  // namespace porthole::kubelet
