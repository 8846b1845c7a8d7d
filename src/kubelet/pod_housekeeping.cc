#include "kubelet/pod_housekeeping.h"

#include <algorithm>
#include <utility>

#include "base/result.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration HousekeepingPeriod = 2s, GcPeriod = 60s;
constexpr Duration FirstPause = 500ms, LongestPause = 122s;  // upstream's, between attempts to unmount

}  // namespace

Task<> PodHousekeeping::run() {
    MonotonicTime collected = loop_.now();
    bool has_looked = false;
    for (;;) {
        CO_TRY_VOID(co_await loop_.sleep(HousekeepingPeriod));
        pods_.retry_resizes();
        auto finished = co_await finish_removed();
        if (is_cancelled(finished)) co_return std::move(finished).error();
        const bool knows_all = pods_.sources_ready() && pleg_.has_listed();
        // At once after a start: until then, volumes of pods that have gone meanwhile cannot be detached.
        if (knows_all && !std::exchange(has_looked, true)) remove_stale();
        if (loop_.now() - collected < GcPeriod) continue;
        collected = loop_.now();
        auto collection = co_await gc_.collect([this](const std::string& uid) { return pods_.is_known(uid); }, pods_.sources_ready());
        if (is_cancelled(collection)) co_return std::move(collection).error();
        if (!collection) log_.warn("dead containers cannot be removed", {{"error", collection.error().message}});
        if (!knows_all) continue;
        remove_stale();
        // A driver may take its time.
        scope_.spawn(
            preparer_.release_stale_devices([this](const std::string& uid) { return pods_.is_known(uid) || pleg_.pods().contains(uid); }));
    }
}

/// Removes the last leftovers of pods that have ended and that their source no longer has.
Task<> PodHousekeeping::finish_removed() {
    for (const std::string& uid : pods_.removable()) {
        auto removed = co_await gc_.remove_pod(uid);
        if (!removed) {
            if (is_cancelled(removed)) co_return std::move(removed).error();
            log_.warn("containers of an ended pod cannot be removed", {{"uid", uid}, {"error", removed.error().message}});
            continue;
        }
        const auto pod = pods_.find_removable(uid);
        if (!pod) continue;
        if (const auto gone = footprint_.remove_logs(*pod); !gone)
            log_.warn("log directory cannot be removed", {{"path", footprint_.log_directory(*pod)}, {"error", gone.error().message}});
        (void)footprint_.remove_cgroup(*pod);
        pods_.forget(uid);
    }
    co_return {};
}

/// Directories and cgroups of pods that ended while no kubelet was there to see it. Containers that do not run use neither.
void PodHousekeeping::remove_stale() {
    const auto is_stale = [this](const std::string& uid) { return !pods_.is_known(uid) && !pleg_.is_running(uid); };
    for (const std::string& uid : footprint_.pods_on_disk())
        if (is_stale(uid) && removing_volumes_.insert(uid).second) scope_.spawn(remove_stale_volumes(uid));
    footprint_.remove_stale_cgroups(is_stale);
}

/// A task for each pod: a driver may take its time, or not be there yet.
Task<> PodHousekeeping::remove_stale_volumes(std::string uid) {
    for (Duration pause = FirstPause; !pods_.is_known(uid); pause = std::min<Duration>(pause * 2, LongestPause)) {
        const auto removed = co_await preparer_.release_stale(uid, [this, uid] { return pods_.is_known(uid); });
        if (is_cancelled(removed)) co_return removed;
        if (removed) break;
        log_.warn("volumes of an ended pod cannot be removed", {{"uid", uid}, {"error", removed.error().message}});
        CO_TRY_VOID(co_await loop_.sleep(pause));
    }
    removing_volumes_.erase(uid);
    co_return {};
}

}  // namespace porthole::kubelet
