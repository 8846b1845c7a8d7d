#include "kubelet/volumes/local_volume/local_volume_reclaimer.h"

#include "objects/local_volume.h"
#include "objects/owners.h"

namespace porthole::kubelet {

namespace local_volume = objects::local_volume;
using namespace std::chrono_literals;
using client::Requeue;

namespace {
constexpr Duration StillMounted = 2s;  // between looks at a volume whose last pod is still ending
constexpr Duration NotPermitted = 10min, Unreachable = 5s;

std::string volumes_of(const std::string& node) { return std::string(local_volume::NodeLabel) + "=" + node; }
}  // namespace

LocalVolumeReclaimer::LocalVolumeReclaimer(EventLoop& loop, client::Client& client, client::Informers& informers,
                                           client::EventRecorder& events, Logger log, LocalVolumes& volumes, const std::string& node)
    : Controller(loop, std::move(log), {.name = "local-volume-reclaimer"}),
      client_(client),
      events_(events),
      data_(volumes),
      volumes_(informers.get<PersistentVolume>({.label_selector = volumes_of(node)})) {
    reconcile_each(volumes_);
}

Task<Requeue> LocalVolumeReclaimer::reconcile(client::NamespacedName key) {
    const auto volume = volumes_.find(key);
    if (!volume || !local_volume::is_local(*volume) || !volume->metadata.deletion_timestamp) co_return Requeue::never();
    if (volume->status.phase == "Bound" || !objects::has_finalizer(volume->metadata, local_volume::Finalizer)) co_return Requeue::never();
    if (volume->spec.persistent_volume_reclaim_policy == "Delete") {
        const auto removed = co_await data_.remove(volume);
        if (is_cancelled(removed)) co_return removed.error();
        if (!removed && removed.error().reason == Reason::Conflict) co_return Requeue::in(StillMounted);
        if (!removed) {
            events_.warning(*volume, "VolumeFailedDelete", removed.error().message);
            co_return removed.error();
        }
        log().info("data of a volume deleted", {{"volume", key.name}});
    }
    PersistentVolume free = *volume;
    std::erase(free.metadata.finalizers, local_volume::Finalizer);
    CO_TRY_VOID(co_await client_.update(std::move(free)));
    co_return Requeue::never();
}

Task<> wait_until_local_volumes_may_be_seen(EventLoop& loop, client::Client& client, std::string node) {
    for (;;) {
        const auto seen = co_await client.list<api::core::v1::PersistentVolume>({.label_selector = volumes_of(node), .limit = 1});
        if (seen) co_return {};
        if (is_cancelled(seen)) co_return seen.error();
        CO_TRY_VOID(co_await loop.sleep(seen.error().reason == Reason::Forbidden ? NotPermitted : Unreachable));
    }
}

}  // namespace porthole::kubelet
