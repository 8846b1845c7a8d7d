#pragma once
#include <optional>

#include "kubelet/pod_resizer.h"
#include "kubelet/pod_services.h"

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

/// Why and how a pod ends.
struct Termination {
    std::optional<Duration> grace;  ///< shorter than the pod's own
    std::string reason, message;    ///< of a pod that fails for it: "Evicted", "DeadlineExceeded"; "" for an ordinary end
};

/// One pod from its first sandbox to its removal: a level-triggered loop that reads the runtime's state, reports it, and takes the next
/// step. Terminating interrupts the step in progress. For a pod that already runs, it continues from the existing state.
class PodWorker {
public:
    PodWorker(PodServices& services, std::shared_ptr<const core::Pod> pod);

    const core::Pod& pod() const { return *pod_; }
    const std::shared_ptr<const core::Pod>& shared_pod() const { return pod_; }
    void update(std::shared_ptr<const core::Pod> pod);
    /// Why the pod has less than it requests, with the reason of its condition PodResizePending; nullopt if it has what it requests. Call
    /// before update().
    void set_resize_pending(std::optional<Rejection> why) { resizer_.set_pending(std::move(why)); }
    const std::optional<Rejection>& resize_pending() const { return resizer_.pending(); }
    /// Something about the pod's containers may have changed.
    void wake() { wake_.set(); }
    /// May be called again; a shorter grace period then shortens a running one.
    void terminate(Termination termination);
    bool is_terminating() const { return termination_.has_value(); }
    /// Whether nothing of it runs and its volumes are removed; containers and logs can still be read.
    bool is_finished() const { return finished_; }

    /// Until the pod is finished or the task is cancelled.
    Task<> run();

private:
    Task<> sync();
    Task<bool> take_step(const PodActions& actions);
    Task<> prepare(const PodActions& actions);
    Task<> start_pod(const PodActions& actions);
    Task<> stop_everything();
    Task<> clean_up();

    Task<> refresh();
    void report();
    core::PodStatus status_now() const;
    std::vector<std::string> pod_addresses() const;
    Task<> refresh_volumes();
    Duration next_sync() const;
    std::optional<Duration> deadline_left() const;
    Duration retry_delay();

    PodServices& services_;
    std::shared_ptr<const core::Pod> pod_;
    PodRuntimeState state_;
    std::map<std::string, WaitingReason> waiting_;
    PodResizer resizer_;
    std::optional<Termination> termination_;
    bool stopped_ = false, finished_ = false;
    int failures_ = 0;  ///< syncs in a row

    // For the containers to be started; replaced by every sync.
    PreparedPod prepared_;
    MonotonicTime volumes_set_up_{};
    cri::PodSandboxConfig sandbox_config_;

    Interrupt interrupt_;
    Event wake_;
};

}  // namespace porthole::kubelet
