#include "controllers/job/job.h"

#include <algorithm>

#include "base/result.h"
#include "controllers/framework/batches.h"
#include "controllers/framework/claim.h"
#include "controllers/framework/owner.h"
#include "controllers/framework/pod_ranking.h"
#include "objects/pods.h"
#include "objects/selectors.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::controllers {

using api::core::v1::Container;
using api::core::v1::EnvVar;
using api::core::v1::Pod;
using client::NamespacedName;
using client::Requeue;
using namespace jobs;
using namespace std::chrono_literals;

namespace {

constexpr int Burst = 500;
constexpr Duration FirstBackoff = 10s, LongestBackoff = 10min;
constexpr const char* OurName = "kubernetes.io/job-controller";
constexpr const char* IndexVariable = "JOB_COMPLETION_INDEX";
/// Keys of pods without a job in the queue; no job's name has a slash.
constexpr const char* PodKeyPrefix = "pod/";

bool is_tracked(const Pod& pod) { return objects::has_finalizer(pod.metadata, TrackingFinalizer); }

std::vector<std::string> job_of_tracked(const Pod& pod) {
    const auto* controller = objects::find_controller(pod.metadata);
    if (!is_tracked(pod) || !controller || controller->kind != "Job") return {};
    return {pod.metadata.namespace_ + "/" + controller->name};
}

void add_index_variable(std::vector<Container>& containers) {
    for (Container& container : containers) {
        if (std::ranges::find(container.env, IndexVariable, &EnvVar::name) != container.env.end()) continue;
        EnvVar& variable = container.env.emplace_back();
        variable.name = IndexVariable;
        variable.value_from.emplace().field_ref.emplace().field_path = std::string("metadata.annotations['") + IndexKey + "']";
    }
}

int wanted_pods(const Job& job, const Tally& tally) {
    if (job.spec.suspend.value_or(false)) return 0;
    const int parallelism = job.spec.parallelism.value_or(1), active = static_cast<int>(tally.active.size());
    // A job without a number of completions is about to end once one pod has succeeded: the others may finish.
    if (!job.spec.completions) return tally.succeeded > 0 ? std::min(active, parallelism) : parallelism;
    return std::max(0, std::min(parallelism, *job.spec.completions - tally.succeeded - tally.failed_indexes.size()));
}

/// The lowest indexes that have neither succeeded nor failed for good, and of which no pod runs.
std::vector<std::int32_t> missing_indexes(const Job& job, const std::vector<PodPointer>& pods, const Tally& tally, int count) {
    IndexSet busy;
    for (const PodPointer& pod : pods) {
        const bool running = objects::is_active(*pod) || (replaces_only_ended(job) && !objects::is_terminal(*pod));
        if (const auto index = index_of(job, *pod); index && running) busy.insert(*index);
    }
    std::vector<std::int32_t> missing;
    for (std::int32_t index = 0; index < job.spec.completions.value_or(0) && static_cast<int>(missing.size()) < count;) {
        const std::int32_t next = tally.failed_indexes.first_absent(tally.completed_indexes.first_absent(busy.first_absent(index)));
        if (next == index)
            missing.push_back(index++);
        else
            index = next;
    }
    return missing;
}

Duration backoff_after(int failures) {
    return std::min<Duration>(FirstBackoff * (std::int64_t(1) << std::min(failures - 1, 10)), LongestBackoff);
}

/// Removes indexes that wait after a failure, each for itself (spec.backoffLimitPerIndex). If all do, returns how long the first has to.
Duration remove_waiting(std::vector<std::int32_t>& indexes, const Job& job, const Tally& tally, SystemTime now) {
    Duration shortest = Duration::max();
    std::erase_if(indexes, [&](std::int32_t index) {
        const auto last = tally.held.find(index);
        if (last == tally.held.end()) return false;
        const Duration left = end_time(*last->second, now) + backoff_after(failures_with(job, *last->second).all()) - now;
        if (left > Duration::zero()) shortest = std::min(shortest, left);
        return left > Duration::zero();
    });
    return indexes.empty() && shortest != Duration::max() ? shortest : Duration::zero();
}

Pod new_pod(const Job& job) {
    Pod pod = pod_from_template(job.spec.template_, owner_of(job));
    pod.metadata.finalizers.push_back(TrackingFinalizer);
    return pod;
}

Pod new_pod(const Job& job, const Tally& tally, std::int32_t index) {
    Pod pod = new_pod(job);
    add_index_variable(pod.spec.containers);
    add_index_variable(pod.spec.init_containers);
    const std::string text = std::to_string(index);
    pod.metadata.annotations[IndexKey] = pod.metadata.labels[IndexKey] = text;
    pod.metadata.generate_name = job.metadata.name + "-" + text + "-";
    pod.spec.hostname = job.metadata.name + "-" + text;
    if (!job.spec.backoff_limit_per_index) return pod;
    const auto last = tally.held.find(index);
    const IndexFailureCount failures = last == tally.held.end() ? IndexFailureCount() : failures_with(job, *last->second);
    pod.metadata.annotations[IndexFailures] = std::to_string(failures.counted);
    if (failures.ignored > 0) pod.metadata.annotations[IgnoredIndexFailures] = std::to_string(failures.ignored);
    return pod;
}

/// As many as `excess`, and all second pods of an index and those of no index, which come first; then by how little is lost.
std::vector<PodPointer> surplus_of(const Job& job, const std::vector<PodPointer>& active, int excess, SystemTime now) {
    if (excess <= 0 && !is_indexed(job)) return {};
    std::vector<RankedPod> ranked;
    for (const PodPointer& pod : active) ranked.push_back({pod});
    rank_for_deletion(ranked, now);
    std::vector<PodPointer> order;
    for (const RankedPod& pod : ranked) order.push_back(pod.pod);
    auto count = static_cast<std::size_t>(std::max(0, excess));
    if (is_indexed(job)) {
        IndexSet kept;
        std::set<std::string> needed;
        for (auto pod = order.rbegin(); pod != order.rend(); ++pod)
            if (const auto index = index_of(job, **pod); index && !kept.contains(*index)) {
                kept.insert(*index);
                needed.insert((*pod)->metadata.uid);
            }
        std::vector<PodPointer> in_use;
        for (const PodPointer& pod : order)
            if (needed.contains(pod->metadata.uid)) in_use.push_back(pod);
        std::erase_if(order, [&](const PodPointer& pod) { return needed.contains(pod->metadata.uid); });
        count = std::max(count, order.size());
        order.insert(order.end(), in_use.begin(), in_use.end());
    }
    order.resize(std::min({count, order.size(), std::size_t{Burst}}));
    return order;
}

}  // namespace

JobController::JobController(Context& context)
    : Controller(context.loop, context.log, {.name = "job-controller", .workers = 5}, {.first = 100ms, .longest = 1min}),
      context_(context),
      events_(context.events.get("job-controller")),
      pod_control_(context.client, events_),
      expectations_(context.loop),
      jobs_(context.informers.get<Job>()),
      pods_(context.informers.get<Pod>()),
      pods_by_owner_(context.pods_by_owner()),
      tracked_by_job_(pods_.add_index(job_of_tracked)) {
    reconcile_each(jobs_);
    depends_on(pods_).subscribe({.added =
                                     [this](const auto& pod) {
                                         if (const auto job = owner_of_pod(*pod)) expectations_.creation_observed(client::key_of(*job));
                                         pod_changed(*pod);
                                     },
                                 .updated =
                                     [this](const auto&, const auto& pod) {
                                         if (objects::is_terminating(*pod)) pod_gone(*pod);
                                         pod_changed(*pod);
                                     },
                                 .deleted =
                                     [this](const auto& pod) {
                                         counted_.erase(pod->metadata.uid);
                                         pod_gone(*pod);
                                         pod_changed(*pod);
                                     }});
}

std::shared_ptr<const Job> JobController::owner_of_pod(const Pod& pod) const { return find_owner(jobs_, Job::kind(), pod.metadata); }

void JobController::pod_gone(const Pod& pod) {
    if (const auto job = owner_of_pod(pod)) expectations_.deletion_observed(client::key_of(*job), pod.metadata.uid);
}

void JobController::pod_changed(const Pod& pod) {
    if (!is_tracked(pod)) counted_.erase(pod.metadata.uid);
    const auto* controller = objects::find_controller(pod.metadata);
    if (controller) {
        // Also for a job that is not there: its pods are to be let go.
        if (controller->kind == "Job") queue().add({pod.metadata.namespace_, controller->name});
        return;
    }
    if (is_tracked(pod)) queue().add({pod.metadata.namespace_, PodKeyPrefix + pod.metadata.name});
    for (const NamespacedName& key : matching_owners(jobs_, pod.metadata)) queue().add(key);
}

Task<Requeue> JobController::reconcile(NamespacedName key) {
    if (key.name.starts_with(PodKeyPrefix)) {
        const auto pod = pods_.find({key.namespace_, key.name.substr(std::string_view(PodKeyPrefix).size())});
        if (pod && is_tracked(*pod) && !objects::find_controller(pod->metadata)) CO_TRY_VOID(co_await release_pod(pod));
        co_return Requeue::never();
    }
    const auto job = jobs_.find(key);
    std::vector<PodPointer> left_over = tracked_by_job_.find(key.text());
    std::erase_if(left_over, [&](const PodPointer& pod) { return job && objects::is_controlled_by(pod->metadata, job->metadata.uid); });
    if (!left_over.empty()) CO_TRY_VOID(co_await release_all(std::move(left_over)));
    if (!job) {
        expectations_.forget(key);
        failures_.erase(key);
        written_.forget(key);
        co_return Requeue::never();
    }
    if (find_end(*job) || job->spec.managed_by.value_or(OurName) != OurName) co_return Requeue::never();
    if (written_.is_stale(*job)) co_return Requeue::in(1s);
    CO_TRY(auto pods, co_await claim_pods(*job));
    co_return co_await work_on(*job, std::move(pods));
}

Task<Requeue> JobController::work_on(const Job& cached, std::vector<PodPointer> pods) {
    const NamespacedName key = client::key_of(cached);
    const bool settled = expectations_.satisfied(key);
    Tally tally(cached, pods, counted_);
    note_failures(key, tally);
    std::optional<End> end = decide_end(cached, tally, loop().wall_now());
    if (end || cached.metadata.deletion_timestamp) tally.let_go_of_held(cached);
    CO_TRY(const Job job, co_await write_down(cached, tally));
    CO_TRY(JobStatus status, co_await count_ended(job, pods, tally));

    std::optional<Error> failure;
    Duration wait{};
    auto active = static_cast<std::int32_t>(tally.active.size());
    bool changing = false;
    if (end && active > 0) {
        Result<void> deleted = co_await delete_pods(job, tally.active, false);
        if (!deleted) failure = std::move(deleted).error();
        changing = true;
    } else if (!end && settled && !job.metadata.deletion_timestamp) {
        Result<Duration> adjusted = co_await adjust_pods(job, pods, tally);
        if (!adjusted) failure = std::move(adjusted).error();
        if (adjusted) wait = *adjusted;
    }
    if (failure && is_cancelled(*failure)) co_return std::move(*failure);

    if (!status.start_time && !job.spec.suspend.value_or(false)) status.start_time = Timestamp(loop().wall_now());
    status.active = changing ? 0 : active;
    status.ready = changing ? 0 : tally.ready;
    status.terminating = tally.terminating + (changing ? active : 0);
    const bool uncounted = status.uncounted_terminated_pods &&
                           !(status.uncounted_terminated_pods->succeeded.empty() && status.uncounted_terminated_pods->failed.empty());
    if (end)
        settle_end(job, status, *end, active == 0 && tally.terminating == 0 && !uncounted);
    else if (settle_suspension(job, status) && job.spec.active_deadline_seconds)
        wait = 1s;  // the deadline counts from now
    if (status != job.status) {
        CO_TRY(const Job stored, co_await write_status(job, status));
        if (const JobCondition* now = find_end(stored); now && now->type == "Complete")
            events_.normal(stored, "Completed", "Job completed");
        else if (now)
            events_.warning(stored, now->reason, now->message);
    }
    if (failure) co_return std::move(*failure);
    if (const auto deadline = time_to_deadline(job, loop().wall_now()); deadline && !end && *deadline > Duration::zero())
        wait = wait > Duration::zero() ? std::min(wait, *deadline) : *deadline;
    co_return wait > Duration::zero() ? Requeue::in(wait) : Requeue::never();
}

Task<std::vector<JobController::PodPointer>> JobController::claim_pods(const Job& job) {
    Claimer claimer(context_.client, owner_of(job));
    std::vector<PodPointer> claimed;
    for (const PodPointer& pod : pods_by_owner_.candidates_of(job.metadata, job.spec.selector)) {
        const ClaimAction action = decide_claim(job.metadata, pod->metadata, objects::matches(job.spec.selector, pod->metadata.labels));
        if (action == ClaimAction::Keep) claimed.push_back(pod);
        if (action == ClaimAction::Release) CO_TRY_VOID(co_await claimer.release(Pod::kind(), pod->metadata));
        if (action == ClaimAction::Adopt) {
            std::vector<std::string> finalizers;
            if (!objects::is_terminal(*pod)) finalizers.push_back(TrackingFinalizer);
            CO_TRY_VOID(co_await claimer.adopt(Pod::kind(), pod->metadata, std::move(finalizers)));
            claimed.push_back(pod);
        }
    }
    co_return std::move(claimed);
}

Task<Job> JobController::write_down(Job job, const Tally& tally) {
    if (tally.newly_failed.empty() && tally.newly_succeeded.empty()) co_return std::move(job);
    JobStatus status = job.status;
    tally.write_down(job, status);
    co_return co_await write_status(job, std::move(status));
}

Task<JobStatus> JobController::count_ended(const Job& job, const std::vector<PodPointer>& pods, const Tally& tally) {
    std::vector<PodPointer> ended = tally.ended;
    if (ended.size() > Burst) ended.resize(Burst);
    CO_TRY_VOID(co_await release_all(std::move(ended)));
    JobStatus status = job.status;
    if (is_indexed(job)) status.succeeded = tally.succeeded;
    if (!status.uncounted_terminated_pods) co_return std::move(status);
    // Whoever has no finalizer any more, or is gone, can be counted.
    std::set<std::string> held;
    for (const PodPointer& pod : pods)
        if (is_tracked(*pod) && !counted_.contains(pod->metadata.uid)) held.insert(pod->metadata.uid);
    const auto take = [&](std::vector<std::string>& uids) {
        return static_cast<std::int32_t>(std::erase_if(uids, [&](const std::string& uid) { return !held.contains(uid); }));
    };
    status.succeeded += take(status.uncounted_terminated_pods->succeeded);
    status.failed += take(status.uncounted_terminated_pods->failed);
    co_return std::move(status);
}

Task<> JobController::release_pod(PodPointer pod) {
    // By the element and not the list: others may change the pod at the same time.
    schema::Value patch;
    patch.ensure_path({"metadata", "uid"}) = pod->metadata.uid;
    patch.ensure_path({"metadata", "$deleteFromPrimitiveList/finalizers"}) = schema::Value::array({TrackingFinalizer});
    const std::string path = client::Client::path(Pod::kind(), client::key_of(*pod), "");
    counted_.insert(pod->metadata.uid);  // before: the cache may hear of it earlier than we
    const auto patched = co_await context_.client.patch_raw(path, client::PatchType::StrategicMerge, schema::to_json(patch));
    if (patched || is_not_found(patched)) co_return {};
    counted_.erase(pod->metadata.uid);
    co_return patched.error();
}

Task<> JobController::release_all(std::vector<PodPointer> pods) {
    std::vector<Task<>> releases;
    for (PodPointer& pod : pods) releases.push_back(release_pod(std::move(pod)));
    co_return co_await perform_all(std::move(releases));
}

void JobController::note_failures(const NamespacedName& key, const Tally& tally) {
    if (tally.newly_failed.empty() && tally.newly_succeeded.empty()) return;
    const auto monotonic = [&, now = loop().wall_now()](const Pod& pod) { return loop().now() - (now - end_time(pod, now)); };
    Failures& failures = failures_[key];
    for (const PodPointer& pod : tally.newly_failed) {
        ++failures.count;
        failures.last = std::max(failures.last, monotonic(*pod));
    }
    for (const PodPointer& pod : tally.newly_succeeded)
        if (monotonic(*pod) > failures.last) failures.count = 0;
}

Duration JobController::backoff_left(const NamespacedName& key) const {
    const auto found = failures_.find(key);
    if (found == failures_.end() || found->second.count == 0) return {};
    const auto& [count, last] = found->second;
    return std::max<Duration>(last + backoff_after(count) - loop().now(), Duration::zero());
}

Task<Duration> JobController::adjust_pods(const Job& job, const std::vector<PodPointer>& pods, const Tally& tally) {
    const int active = static_cast<int>(tally.active.size()), wanted = wanted_pods(job, tally);
    if (auto surplus = surplus_of(job, tally.active, active - wanted, loop().wall_now()); !surplus.empty()) {
        CO_TRY_VOID(co_await delete_pods(job, std::move(surplus), true));
        co_return Duration::zero();
    }
    const int missing = std::min(wanted - active - (replaces_only_ended(job) ? tally.terminating : 0), Burst);
    if (missing <= 0) co_return Duration::zero();
    if (!job.spec.backoff_limit_per_index) {
        if (const Duration left = backoff_left(client::key_of(job)); left > Duration::zero()) co_return left;
    }
    if (!is_indexed(job)) {
        CO_TRY_VOID(co_await create_pods(job, std::vector(static_cast<std::size_t>(missing), new_pod(job))));
        co_return Duration::zero();
    }
    std::vector<std::int32_t> indexes = missing_indexes(job, pods, tally, missing);
    const Duration left = remove_waiting(indexes, job, tally, loop().wall_now());
    std::vector<Pod> created;
    for (const std::int32_t index : indexes) created.push_back(new_pod(job, tally, index));
    if (!created.empty()) CO_TRY_VOID(co_await create_pods(job, std::move(created)));
    co_return left;
}

Task<> JobController::create_pods(const Job& job, std::vector<Pod> wanted) {
    co_return co_await create_expected(expectations_, client::key_of(job), static_cast<int>(wanted.size()), [&](int i) {
        return pod_control_.create(std::move(wanted[static_cast<std::size_t>(i)]), owner_of(job));
    });
}

Task<> JobController::delete_pods(const Job& job, std::vector<PodPointer> pods, bool counted_no_more) {
    std::vector<Task<>> deletions;
    for (PodPointer& pod : pods) {
        expectations_.expect_deletion(client::key_of(job), pod->metadata.uid);
        deletions.push_back(delete_pod(job, std::move(pod), counted_no_more));
    }
    co_return co_await perform_all(std::move(deletions));
}

/// A pod that is merely one too many has not failed: it is let go before it is deleted.
Task<> JobController::delete_pod(const Job& job, PodPointer pod, bool counted_no_more) {
    Result<void> removed;
    if (counted_no_more && is_tracked(*pod)) removed = co_await release_pod(pod);
    if (removed) removed = co_await pod_control_.remove(client::key_of(*pod), pod->metadata.uid, owner_of(job));
    if (removed) co_return {};
    expectations_.deletion_observed(client::key_of(job), pod->metadata.uid);
    if (is_not_found(removed)) co_return {};
    co_return removed;
}

/// What the end will be is said at once; that it has come, when nothing runs any more.
void JobController::settle_end(const Job& job, JobStatus& status, const End& end, bool all_ended) {
    const SystemTime now = loop().wall_now();
    const char *decided = end.success ? "SuccessCriteriaMet" : "FailureTarget", *ended = end.success ? "Complete" : "Failed";
    set_condition(status, {.type = decided, .status = "True", .reason = end.reason, .message = end.message}, now);
    if (!all_ended) return;
    set_condition(status, {.type = ended, .status = "True", .reason = end.reason, .message = end.message}, now);
    // One that began by a clock that was ahead would otherwise never end: no completion before the start is accepted.
    if (end.success) status.completion_time = std::max(Timestamp(now), status.start_time.value_or(Timestamp()));
    failures_.erase(client::key_of(job));
}

/// True when the job has been resumed just now.
bool JobController::settle_suspension(const Job& job, JobStatus& status) {
    const SystemTime now = loop().wall_now();
    if (job.spec.suspend.value_or(false)) {
        if (set_condition(status, {.type = "Suspended", .status = "True", .reason = "JobSuspended", .message = "Job suspended"}, now))
            events_.normal(job, "Suspended", "Job suspended");
        status.start_time.reset();
        return false;
    }
    if (!find_true(status, "Suspended")) return false;
    set_condition(status, {.type = "Suspended", .status = "False", .reason = "JobResumed", .message = "Job resumed"}, now);
    status.start_time = Timestamp(now);
    events_.normal(job, "Resumed", "Job resumed");
    return true;
}

Task<Job> JobController::write_status(const Job& job, JobStatus status) {
    Job changed = job;
    changed.status = std::move(status);
    CO_TRY(Job stored, co_await context_.client.update_status(std::move(changed)));
    written_.note(stored);
    co_return std::move(stored);
}

Result<ControllerPtr> make_job(Context& context) { return make_controller<JobController>(context); }

}  // namespace porthole::controllers
