#include "kubelet/pod_manager.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "kubelet/pod/resize.h"

namespace porthole::kubelet {
namespace {

/// The pod with what the system ignores left out, so that nothing below has to know of it.
std::shared_ptr<const core::Pod> as_it_runs(std::shared_ptr<const core::Pod> pod, const windows::Verdict& verdict) {
    if (!verdict.effective) return pod;
    auto adapted = std::make_shared<core::Pod>(*pod);
    adapted->spec = *verdict.effective;
    return adapted;
}

}  // namespace

PodManager::PodManager(EventLoop& loop, Logger log, const NodeFacts& node, const Pleg& pleg, PodReporter& reporter,
                       client::EventRecorder& events, WorkerMaker make_worker, std::function<AdmissionContext()> admission_context)
    : log_(std::move(log)),
      node_(node),
      pleg_(pleg),
      reporter_(reporter),
      events_(events),
      make_worker_(std::move(make_worker)),
      admission_context_(std::move(admission_context)),
      scope_(loop) {}

void PodManager::update(std::shared_ptr<const core::Pod> asked) {
    const std::string uid = asked->metadata.uid;
    const windows::Verdict verdict = node_.windows ? windows::Verdict::of(asked->spec, asked->metadata.annotations, node_.gates,
                                                                          {.runtime = windows::runtime_of(node_.runtime_version)})
                                                   : windows::Verdict();
    const std::shared_ptr<const core::Pod> pod = as_it_runs(asked, verdict);
    const auto found = pods_.find(uid);
    if (found != pods_.end()) {
        Record& record = found->second;
        // As when a manifest is moved away and back, whose pod keeps its uid.
        if (record.removed && !asked->metadata.deletion_timestamp && !is_terminal_phase(asked->status.phase)) {
            record.again = asked;
            return;
        }
        record.removed = false;
        update_known(record, pod);
        // A rejected pod that is deleted has nothing to end, but its deletion must be finished.
        if (record.rejected && record.worker->is_terminating()) start(uid, record);
        return;
    }
    // What runs already was admitted by whoever started it; what is over needs no room.
    const bool over = pod->metadata.deletion_timestamp || is_terminal_phase(pod->status.phase);
    const bool runs = pleg_.is_running(uid);
    std::optional<Rejection> rejection;
    if (!over && !runs) rejection = admit(*pod, verdict, admission_context_());
    Record& record = pods_[uid];
    // What a pod asked for while no kubelet was there is a resize like any other.
    const bool resized = runs && !over && differ_in_resources(*pod, with_reported_resources(*pod));
    record.worker = make_worker_(resized ? std::make_shared<const core::Pod>(with_reported_resources(*pod)) : pod);
    if (rejection) {
        record.rejected = true;
        reporter_.reject(*pod, *rejection);
    } else {
        if (!over && !runs)  // what of it is not on Windows as it asks
            for (const windows::Notice& notice : verdict.notices) events_.warning(reference_to(*pod), notice.reason, notice.message);
        start(uid, record);
    }
    if (resized) update_known(record, pod);
}

/// What the node has no room for is put off; the pod goes on with what it has.
void PodManager::update_known(Record& record, std::shared_ptr<const core::Pod> pod) {
    record.resized = nullptr;
    std::optional<Rejection> refusal;
    const core::Pod& present = record.worker->pod();
    if (!pod->metadata.deletion_timestamp && !record.rejected && differ_in_resources(*pod, present)) {
        refusal = check_resize(*pod, admission_context_());
        tell_of_resize(*pod, refusal, record);
        if (refusal) {
            record.resized = pod;
            pod = std::make_shared<const core::Pod>(with_resources_of(*pod, present));
        }
    }
    record.worker->set_resize_pending(std::move(refusal));
    record.worker->update(std::move(pod));
}

/// That a resize begins, or once for each form of the pod what it waits for.
void PodManager::tell_of_resize(const core::Pod& pod, const std::optional<Rejection>& refusal, const Record& record) {
    if (!refusal) return events_.normal(reference_to(pod), "ResizeStarted", resize_message("Pod resize started", pod));
    const PodWorker& worker = *record.worker;
    if (worker.resize_pending() == refusal && worker.pod().metadata.generation == pod.metadata.generation) return;
    events_.warning(reference_to(pod), "Resize" + refusal->reason, resize_message("Pod resize " + refusal->reason, pod, refusal->message));
}

void PodManager::retry_resizes() {
    for (auto& [uid, record] : pods_)
        if (record.resized) update_known(record, record.resized);
}

void PodManager::start(const std::string& uid, Record& record) {
    record.rejected = false;
    if (record.running || record.worker->is_finished()) return;
    record.running = true;
    scope_.spawn(run_worker(uid));
}

Task<> PodManager::run_worker(std::string uid) {
    PodWorker& worker = *pods_.at(uid).worker;
    auto ended = co_await worker.run();
    pods_.at(uid).running = false;
    co_return ended;
}

void PodManager::remove(const std::string& uid) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    Record& record = found->second;
    record.removed = true;
    record.again = nullptr;
    record.worker->terminate({});
    if (!record.rejected) start(uid, record);
}

PodWorker* PodManager::find(const std::string& uid) {
    const auto found = pods_.find(uid);
    return found == pods_.end() ? nullptr : found->second.worker.get();
}

PodWorker* PodManager::find(const std::string& namespace_, const std::string& name) {
    PodWorker* match = nullptr;
    for (auto& [uid, record] : pods_) {
        const api::meta::v1::ObjectMeta& metadata = record.worker->pod().metadata;
        if (metadata.namespace_ == namespace_ && metadata.name == name && (!match || !record.removed)) match = record.worker.get();
    }
    return match;
}

std::vector<std::shared_ptr<const core::Pod>> PodManager::pods() const {
    std::vector<std::shared_ptr<const core::Pod>> all;
    for (const auto& [uid, record] : pods_)
        if (!record.removed) all.push_back(record.worker->shared_pod());
    return all;
}

std::vector<std::shared_ptr<const core::Pod>> PodManager::active() const {
    std::vector<std::shared_ptr<const core::Pod>> all;
    for (const auto& [uid, record] : pods_)
        if (!record.rejected && !record.removed && !record.worker->is_finished() && !is_terminal_phase(record.worker->pod().status.phase))
            all.push_back(record.worker->shared_pod());
    return all;
}

void PodManager::wake(const std::string& uid) {
    if (PodWorker* worker = find(uid)) worker->wake();
}

void PodManager::wake_all() {
    for (auto& [uid, record] : pods_) record.worker->wake();
}

void PodManager::evict(const std::string& uid, Termination termination) {
    if (PodWorker* worker = find(uid)) worker->terminate(std::move(termination));
}

void PodManager::end_unknown() {
    if (!sources_ready_) return;
    for (const auto& [uid, sighting] : pleg_.pods())
        if (!pods_.contains(uid) && sighting.has_running) adopt_orphan(sighting);
}

/// Makes as much of a pod as its labels tell, to end it.
void PodManager::adopt_orphan(const PodSighting& sighting) {
    log_.info("killing a pod that the kubelet does not know", {{"pod", sighting.namespace_ + "/" + sighting.name}, {"uid", sighting.uid}});
    auto pod = std::make_shared<core::Pod>();
    pod->metadata.uid = sighting.uid;
    pod->metadata.name = sighting.name;
    pod->metadata.namespace_ = sighting.namespace_;
    Record& record = pods_[sighting.uid];
    record.worker = make_worker_(pod);
    record.removed = true;
    record.worker->terminate({});
    start(sighting.uid, record);
}

std::vector<std::string> PodManager::removable() const {
    std::vector<std::string> found;
    for (const auto& [uid, record] : pods_)
        if (find_removable(uid)) found.push_back(uid);
    return found;
}

std::shared_ptr<const core::Pod> PodManager::find_removable(const std::string& uid) const {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return nullptr;
    const Record& record = found->second;
    return record.removed && !record.running && (record.rejected || record.worker->is_finished()) ? record.worker->shared_pod() : nullptr;
}

void PodManager::forget(const std::string& uid) {
    const std::shared_ptr<const core::Pod> again = pods_.extract(uid).mapped().again;
    reporter_.forget(uid, again != nullptr);
    if (again) update(again);
}

}  // namespace porthole::kubelet
