#pragma once
#include <optional>

#include "base/log.h"
#include "kubelet/pod/pod.h"
#include "kubelet/pod/wanted_pod.h"
#include "runtime/random.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// Allows a task to be ended from outside without ending the task that awaits it. One run() at a time; must outlive it.
class Interrupt {
public:
    /// Runs `task` until its end or until trigger(): then it yields Reason::Cancelled.
    template <class T>
    Task<T> run(Task<T> task) {
        Running<T> operation(*this, std::move(task));
        co_return co_await operation;
    }
    /// Ends the task of run(), if there is one.
    void trigger() {
        if (current_) current_->cancel();
    }

private:
    template <class T>
    class Running final : public Operation<T> {
    public:
        Running(Interrupt& owner, Task<T> task) : owner_(owner), task_(std::move(task)) {}

    private:
        void start() override {
            child_.emplace(this->loop());
            owner_.current_ = &*child_;
            start_task(std::move(task_), *child_, [this](Result<T> result) {
                owner_.current_ = nullptr;
                this->complete_later(std::move(result));
            });
        }
        void cancel() override { child_->cancel(); }

        Interrupt& owner_;
        Task<T> task_;
        std::optional<TaskContext> child_;
    };

    TaskContext* current_ = nullptr;
};

/// The steps of one pod, of which a worker runs one at a time. Each may be repeated, and cancelled at any suspension; `wanted` is the
/// worker's and may change meanwhile.
class PodSyncer {
public:
    virtual ~PodSyncer() = default;
    /// Brings the pod nearer to what is wanted. Yields why it has to end instead, or nullopt.
    virtual Task<std::optional<Termination>> sync(const WantedPod& wanted) = 0;
    /// Ends what runs of it.
    virtual Task<> stop(const WantedPod& wanted) = 0;
    /// Takes back what it has of the node. Cannot be interrupted.
    virtual Task<> clean_up(const WantedPod& wanted) = 0;
    /// After which time there is something to do even if nothing changes.
    virtual std::optional<Duration> next_sync(const WantedPod& wanted) const = 0;
};

/// One pod from its first sandbox to its removal: a loop that syncs it whenever something has changed, and at least every 60 to 90 s, then
/// stops it and cleans up. Terminating interrupts the step in progress; a step that fails is repeated after 1 s, then 2 s, up to 10 s.
class PodWorker {
public:
    /// `random` outlives it.
    PodWorker(Random& random, Logger log, std::unique_ptr<PodSyncer> syncer, std::shared_ptr<const core::Pod> pod);

    const core::Pod& pod() const { return *wanted_.pod; }
    const std::shared_ptr<const core::Pod>& shared_pod() const { return wanted_.pod; }
    void update(std::shared_ptr<const core::Pod> pod);
    /// Call it before update().
    void set_resize_pending(std::optional<Rejection> why) { wanted_.resize_pending = std::move(why); }
    const std::optional<Rejection>& resize_pending() const { return wanted_.resize_pending; }
    /// Something about the pod's containers may have changed.
    void wake() { wake_.set(); }
    /// May be called again; a shorter grace period then shortens a running one.
    void terminate(Termination termination);
    bool is_terminating() const { return wanted_.termination.has_value(); }
    /// Whether nothing of it runs and its volumes are removed; containers and logs can still be read.
    bool is_finished() const { return finished_; }

    /// Until the pod is finished or the task is cancelled.
    Task<> run();

private:
    Task<> take_step();
    Duration next_sync() const;
    Duration retry_delay();

    Random& random_;
    Logger log_;
    std::unique_ptr<PodSyncer> syncer_;
    WantedPod wanted_;
    bool stopped_ = false, finished_ = false;
    int failures_ = 0;  ///< steps in a row
    Interrupt interrupt_;
    Event wake_;
};

}  // namespace porthole::kubelet
