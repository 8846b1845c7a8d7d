#include "kubelet/pod_manager.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "base/time/time.h"
#include "kubelet/pod/resize.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration RelistPeriod = 1s, RelistLimit = 3min;
constexpr Duration HousekeepingPeriod = 2s, GcPeriod = 60s;
constexpr Duration FirstPause = 500ms, LongestPause = 122s;  // upstream's, between attempts to unmount

/// The pod with what the system ignores left out, so that nothing below has to know of it.
std::shared_ptr<const core::Pod> as_it_runs(std::shared_ptr<const core::Pod> pod, const windows::Verdict& verdict) {
    if (!verdict.effective) return pod;
    auto adapted = std::make_shared<core::Pod>(*pod);
    adapted->spec = *verdict.effective;
    return adapted;
}

}  // namespace

PodManager::PodManager(PodServices& services, std::function<AdmissionContext()> admission_context)
    : services_(services), admission_context_(std::move(admission_context)), relisted_(services.loop.now()), scope_(services.loop) {}

void PodManager::update(std::shared_ptr<const core::Pod> asked) {
    const std::string uid = asked->metadata.uid;
    const NodeFacts& node = services_.node;
    const windows::Verdict verdict = node.windows ? windows::Verdict::of(asked->spec, asked->metadata.annotations, node.gates,
                                                                         {.runtime = windows::runtime_of(node.runtime_version)})
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
    const bool runs = seen_.contains(uid) && seen_[uid].has_running;
    std::optional<Rejection> rejection;
    if (!over && !runs) rejection = admit(*pod, verdict, admission_context_());
    Record& record = pods_[uid];
    // What a pod asked for while no kubelet was there is a resize like any other.
    const bool resized = runs && !over && differ_in_resources(*pod, with_reported_resources(*pod));
    record.worker =
        std::make_unique<PodWorker>(services_, resized ? std::make_shared<const core::Pod>(with_reported_resources(*pod)) : pod);
    if (rejection) {
        record.rejected = true;
        reject(*pod, *rejection);
    } else {
        if (!over && !runs) tell_differences(*pod, verdict);
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
    if (!refusal) return services_.events.normal(reference_to(pod), "ResizeStarted", resize_message("Pod resize started", pod));
    const PodWorker& worker = *record.worker;
    if (worker.resize_pending() == refusal && worker.pod().metadata.generation == pod.metadata.generation) return;
    services_.events.warning(reference_to(pod), "Resize" + refusal->reason,
                             resize_message("Pod resize " + refusal->reason, pod, refusal->message));
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

/// What of the pod is not on Windows as it asks.
void PodManager::tell_differences(const core::Pod& pod, const windows::Verdict& verdict) {
    for (const windows::Notice& notice : verdict.notices) services_.events.warning(reference_to(pod), notice.reason, notice.message);
}

void PodManager::reject(const core::Pod& pod, const Rejection& rejection) {
    services_.events.warning(reference_to(pod), rejection.reason, rejection.message);
    core::PodStatus status = pod.status;
    status.phase = core::PodPhase::Failed;
    status.reason = rejection.reason;
    status.message = "Pod was rejected: " + rejection.message;
    status.observed_generation = pod.metadata.generation;
    status.qos_class = objects::qos_class(pod.spec);
    if (!status.start_time) status.start_time = Timestamp(services_.loop.wall_now());
    services_.statuses.set(pod, std::move(status));
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

Task<> PodManager::relist_once() {
    auto listed = co_await services_.reader.list();
    if (is_cancelled(listed)) co_return std::move(listed).error();
    if (!listed) co_return {};  // the node's Ready condition tells
    has_listed_ = true;
    relisted_ = services_.loop.now();
    for (const auto& [uid, sighting] : *listed)
        if (const auto before = seen_.find(uid); before == seen_.end() || !(before->second == sighting)) wake(uid);
    for (const auto& [uid, sighting] : seen_)
        if (!listed->contains(uid)) wake(uid);
    seen_ = std::move(*listed);
    if (!sources_ready_) co_return {};
    for (const auto& [uid, sighting] : seen_)
        if (!pods_.contains(uid) && sighting.has_running) adopt_orphan(sighting);
    co_return {};
}

Task<> PodManager::run_relist() {
    for (;;) {
        CO_TRY_VOID(co_await relist_once());
        CO_TRY_VOID(co_await services_.loop.sleep(RelistPeriod));
    }
}

/// Makes as much of a pod as its labels tell, to end it.
void PodManager::adopt_orphan(const PodSighting& sighting) {
    services_.log.info("killing a pod that the kubelet does not know",
                       {{"pod", sighting.namespace_ + "/" + sighting.name}, {"uid", sighting.uid}});
    auto pod = std::make_shared<core::Pod>();
    pod->metadata.uid = sighting.uid;
    pod->metadata.name = sighting.name;
    pod->metadata.namespace_ = sighting.namespace_;
    Record& record = pods_[sighting.uid];
    record.worker = std::make_unique<PodWorker>(services_, pod);
    record.removed = true;
    record.worker->terminate({});
    start(sighting.uid, record);
}

std::string PodManager::relist_problem() const {
    const Duration ago = services_.loop.now() - relisted_;
    if (ago < RelistLimit) return "";
    return "PLEG is not healthy: pleg was last seen active " + format_duration(std::chrono::floor<std::chrono::seconds>(ago)) +
           " ago; threshold is 3m0s";
}

Task<> PodManager::run_housekeeping() {
    MonotonicTime collected = services_.loop.now();
    bool has_looked = false;
    for (;;) {
        CO_TRY_VOID(co_await services_.loop.sleep(HousekeepingPeriod));
        retry_resizes();
        auto finished = co_await finish_removed();
        if (is_cancelled(finished)) co_return std::move(finished).error();
        const bool knows_all = sources_ready_ && has_listed_;
        // At once after a start: until then, volumes of pods that have gone meanwhile cannot be detached.
        if (knows_all && !std::exchange(has_looked, true)) remove_stale();
        if (services_.loop.now() - collected < GcPeriod) continue;
        collected = services_.loop.now();
        auto collection = co_await services_.gc.collect([this](const std::string& uid) { return pods_.contains(uid); }, sources_ready_);
        if (is_cancelled(collection)) co_return std::move(collection).error();
        if (!collection) services_.log.warn("dead containers cannot be removed", {{"error", collection.error().message}});
        if (!knows_all) continue;
        remove_stale();
        // A driver may take its time.
        scope_.spawn(
            services_.devices.release_stale([this](const std::string& uid) { return pods_.contains(uid) || seen_.contains(uid); }));
    }
}

/// Removes the last leftovers of pods that have ended and that their source no longer has.
Task<> PodManager::finish_removed() {
    std::vector<std::string> over;
    for (const auto& [uid, record] : pods_)
        if (record.removed && !record.running && (record.rejected || record.worker->is_finished())) over.push_back(uid);
    for (const std::string& uid : over) {
        auto removed = co_await services_.gc.remove_pod(uid);
        if (!removed) {
            if (is_cancelled(removed)) co_return std::move(removed).error();
            services_.log.warn("containers of an ended pod cannot be removed", {{"uid", uid}, {"error", removed.error().message}});
            continue;
        }
        const auto found = pods_.find(uid);
        if (found == pods_.end() || !found->second.removed || found->second.running) continue;
        const core::Pod& pod = found->second.worker->pod();
        if (const auto gone = services_.footprint.remove_logs(pod); !gone)
            services_.log.warn("log directory cannot be removed",
                               {{"path", services_.footprint.log_directory(pod)}, {"error", gone.error().message}});
        (void)services_.footprint.remove_cgroup(pod);
        const std::shared_ptr<const core::Pod> again = found->second.again;
        pods_.erase(found);
        if (!again) {
            services_.statuses.forget(uid);
            continue;
        }
        services_.statuses.begin_anew(uid);
        update(again);
    }
    co_return {};
}

/// Directories and cgroups of pods that ended while no kubelet was there to see it. Containers that do not run use neither.
void PodManager::remove_stale() {
    const auto is_stale = [this](const std::string& uid) {
        const auto seen = seen_.find(uid);
        return !pods_.contains(uid) && (seen == seen_.end() || !seen->second.has_running);
    };
    for (const std::string& uid : services_.footprint.pods_on_disk())
        if (is_stale(uid) && removing_volumes_.insert(uid).second) scope_.spawn(remove_stale_volumes(uid));
    services_.footprint.remove_stale_cgroups(is_stale);
}

/// Besides housekeeping, and for each pod on its own: a driver may take its time, or not be there yet.
Task<> PodManager::remove_stale_volumes(std::string uid) {
    for (Duration pause = FirstPause; !pods_.contains(uid); pause = std::min<Duration>(pause * 2, LongestPause)) {
        const auto removed = co_await services_.preparer.release_stale(uid, [this, uid] { return pods_.contains(uid); });
        if (is_cancelled(removed)) co_return removed;
        if (removed) break;
        services_.log.warn("volumes of an ended pod cannot be removed", {{"uid", uid}, {"error", removed.error().message}});
        CO_TRY_VOID(co_await services_.loop.sleep(pause));
    }
    removing_volumes_.erase(uid);
    co_return {};
}

}  // namespace porthole::kubelet
