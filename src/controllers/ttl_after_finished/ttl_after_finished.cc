#include "controllers/ttl_after_finished/ttl_after_finished.h"

#include "base/result.h"
#include "controllers/job/job_status.h"

namespace porthole::controllers {

using api::batch::v1::Job;
using client::Requeue;

namespace {

/// Until the job may go; nullopt when it stays.
std::optional<Duration> time_left(const Job& job, SystemTime now) {
    const auto* ended = find_end(job);
    if (!ended || !job.spec.ttl_seconds_after_finished || job.metadata.deletion_timestamp) return std::nullopt;
    return ended->last_transition_time.to_system_time() + std::chrono::seconds(*job.spec.ttl_seconds_after_finished) - now;
}

}  // namespace

TtlAfterFinishedController::TtlAfterFinishedController(Context& context)
    : Controller(context.loop, context.log, {.name = "ttl-after-finished-controller", .workers = 5}),
      client_(context.client),
      jobs_(context.informers.get<Job>()) {
    reconcile_each(jobs_);
}

Task<Requeue> TtlAfterFinishedController::reconcile(client::NamespacedName key) {
    const auto job = jobs_.find(key);
    const auto left = job ? time_left(*job, loop().wall_now()) : std::nullopt;
    if (!left) co_return Requeue::never();
    if (*left > Duration::zero()) co_return Requeue::in(*left);
    // The cache may lag: the time may just have been prolonged, or the job may be a namesake by now.
    const auto live = co_await client_.get<Job>(key);
    if (is_not_found(live)) co_return Requeue::never();
    if (!live) co_return live.error();
    const auto really_left = time_left(*live, loop().wall_now());
    if (!really_left) co_return Requeue::never();
    if (*really_left > Duration::zero()) co_return Requeue::in(*really_left);
    CO_TRY_VOID(ignore_not_found(co_await client_.remove<Job>(key, {.uid = live->metadata.uid, .propagation_policy = "Foreground"})));
    co_return Requeue::never();
}

Result<ControllerPtr> make_ttl_after_finished(Context& context) { return make_controller<TtlAfterFinishedController>(context); }

}  // namespace porthole::controllers
