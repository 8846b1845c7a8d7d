#pragma once
#include "kubelet/admission.h"
#include "kubelet/pleg.h"
#include "kubelet/pod_reporter.h"
#include "kubelet/pod_worker.h"
#include "runtime/scope.h"

namespace porthole::kubelet {

/// All pods of the node, from all sources: owns one worker for each pod until nothing of it remains.
///
/// A pod in the runtime that no source names is ended, once all sources have been read. Lives on the kubelet's loop; all references
/// outlive it. Pointers to workers are valid until the next suspension. close() it before destroying it.
class PodManager {
public:
    using WorkerMaker = std::function<std::unique_ptr<PodWorker>(std::shared_ptr<const core::Pod>)>;
    PodManager(EventLoop& loop, Logger log, const NodeFacts& node, const Pleg& pleg, PodReporter& reporter, client::EventRecorder& events,
               WorkerMaker make_worker, std::function<AdmissionContext()> admission_context);

    /// A pod of this node was added or has changed.
    void update(std::shared_ptr<const core::Pod> asked);
    /// Its source no longer has it.
    void remove(const std::string& uid);
    /// Every source has been read: from now on, other pods in the runtime are ended.
    void set_sources_ready() { sources_ready_ = true; }
    bool sources_ready() const { return sources_ready_; }

    PodWorker* find(const std::string& uid);
    PodWorker* find(const std::string& namespace_, const std::string& name);
    std::vector<std::shared_ptr<const core::Pod>> pods() const;    ///< all known pods
    std::vector<std::shared_ptr<const core::Pod>> active() const;  ///< admitted, not ended, and still wanted
    bool is_known(const std::string& uid) const { return pods_.contains(uid); }
    void wake(const std::string& uid);
    void wake_all();
    /// Ends a pod to protect the node.
    void evict(const std::string& uid, Termination termination);

    /// Ends the pods in the runtime that no source names, after all sources have been read.
    void end_unknown();
    /// Resizes for which there was no room.
    void retry_resizes();
    /// Pods that have ended and that their source no longer has.
    std::vector<std::string> removable() const;
    /// nullptr if the pod is not removable.
    std::shared_ptr<const core::Pod> find_removable(const std::string& uid) const;
    /// Nothing of the removable pod is left. If its source has named it again since, it starts now.
    void forget(const std::string& uid);
    Task<> close() { return scope_.close(); }

private:
    struct Record {
        std::unique_ptr<PodWorker> worker;
        std::shared_ptr<const core::Pod> resized;  ///< with more resources than there is room for now; else null
        bool rejected = false;                     ///< never admitted: its worker does not run
        bool removed = false;                      ///< its source has dropped it
        std::shared_ptr<const core::Pod> again;    ///< while it ends: what its source has named since, to be started then; else null
        bool running = false;                      ///< the worker's task
    };
    Task<> run_worker(std::string uid);
    void start(const std::string& uid, Record& record);
    void update_known(Record& record, std::shared_ptr<const core::Pod> pod);
    void tell_of_resize(const core::Pod& pod, const std::optional<Rejection>& refusal, const Record& record);
    void adopt_orphan(const PodSighting& sighting);

    Logger log_;
    const NodeFacts& node_;
    const Pleg& pleg_;
    PodReporter& reporter_;
    client::EventRecorder& events_;
    WorkerMaker make_worker_;
    std::function<AdmissionContext()> admission_context_;
    std::map<std::string, Record> pods_;
    bool sources_ready_ = false;
    Scope scope_;
};

}  // namespace porthole::kubelet
