#pragma once
#include "kubelet/admission.h"
#include "kubelet/pod_worker.h"

namespace porthole::kubelet {

/// All pods of the node, from all sources: owns one worker for each pod until nothing of it remains.
///
/// A pod in the runtime that no source names is ended, once all sources have been read. Lives on the kubelet's loop; `services` must
/// outlive it. Pointers to workers are valid until the next suspension. close() it before destroying it.
class PodManager {
public:
    PodManager(PodServices& services, std::function<AdmissionContext()> admission_context);

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

    /// Reads the runtime's state once; an unreachable runtime is not an error.
    Task<> relist_once();
    /// Checks the runtime for changes every second, until cancelled.
    Task<> run_relist();
    /// Removes leftovers of ended pods every two seconds, and ended containers and what pods have left that ended without a kubelet every
    /// minute, until cancelled.
    Task<> run_housekeeping();
    /// "" if relisting works.
    std::string relist_problem() const;
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
    void retry_resizes();
    void tell_differences(const core::Pod& pod, const windows::Verdict& verdict);
    void reject(const core::Pod& pod, const Rejection& rejection);
    void adopt_orphan(const PodSighting& sighting);
    Task<> finish_removed();
    void remove_stale();
    Task<> remove_stale_volumes(std::string uid);

    PodServices& services_;
    std::function<AdmissionContext()> admission_context_;
    std::map<std::string, Record> pods_;
    std::map<std::string, PodSighting> seen_;
    MonotonicTime relisted_;
    bool sources_ready_ = false;
    bool has_listed_ = false;                 ///< the runtime has told once what is there
    std::set<std::string> removing_volumes_;  ///< of these pods: their tasks
    Scope scope_;
};

}  // namespace porthole::kubelet
