#include "kubelet/volumes/csi/csi_attachments.h"

#include <algorithm>

#include "base/result.h"
#include "client/client.h"
#include "kubelet/volumes/csi/csi_requests.h"
#include "kubelet/volumes/framework/attach_limit.h"
#include "net/grpc/grpc.h"
#include "objects/csi_volume.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using api::storage::v1::VolumeAttachment;

constexpr Duration FirstPause = 100ms, LongestPause = 2s;

bool shows_in_use(const core::Node& node, const std::string& name) {
    return std::ranges::find(node.status.volumes_in_use, name) != node.status.volumes_in_use.end();
}
bool shows_attached(const core::Node& node, const std::string& name) {
    return std::ranges::find(node.status.volumes_attached, name, &core::AttachedVolume::name) != node.status.volumes_attached.end();
}

}  // namespace

const CsiAttachments::Shown& CsiAttachments::shown() {
    auto node = services_.node();
    if (node == shown_.of) return shown_;
    shown_ = {.of = std::move(node)};
    if (!shown_.of) return shown_;
    shown_.in_use.insert(shown_.of->status.volumes_in_use.begin(), shown_.of->status.volumes_in_use.end());
    for (const core::AttachedVolume& one : shown_.of->status.volumes_attached) shown_.attached.insert(one.name);
    return shown_;
}

/// Whether the API's node shows the volume as in use and attached. What is watched may be of before the last pod let the volume go: then
/// the API says that it is not in use, and it may be detached.
Task<bool> CsiAttachments::is_held(std::string name) {
    const auto node = co_await services_.api.client.get<core::Node>({"", services_.node_name});
    if (is_cancelled(node)) co_return node.error();
    co_return node&& shows_in_use(*node, name) && shows_attached(*node, name);
}

Task<CsiAttachments::PublishContext> CsiAttachments::wait(const VolumeRequest& request, const CsiVolume& volume) {
    const std::string name = objects::unique_volume_name(volume.driver, volume.handle);
    const MonotonicTime end = services_.host.loop.now() + services_.attach_limit;
    Duration pause = FirstPause;
    for (;;) {
        if (!attach_required(services_.driver_objects.find({"", volume.driver}).get())) co_return PublishContext();
        const Shown& node = shown();
        bool held = node.in_use.contains(name) && node.attached.contains(name);
        if (held) {
            CO_TRY(held, co_await is_held(name));
        }
        if (held) {
            request.step = csi_step(volume, "MountVolume.WaitForAttach", "MapVolume.WaitForAttach");
            co_return co_await read(volume);
        }
        if (pause == FirstPause || pause == LongestPause) services_.report_node();
        if (services_.host.loop.now() >= end) {
            const std::string& own = request.volume.name;
            const std::string text = "unmounted volumes=[" + own + "], unattached volumes=[" + own +
                                     "], failed to process volumes=[]: context deadline exceeded";
            CO_TRY(const bool full, co_await is_node_full(volume));
            request.step = {"FailedMount", full ? "" : "Unable to attach or mount volumes: "};
            if (full) co_return attach_limit_exceeded("Node has reached its volume attachment limit, rejecting pod. " + text);
            co_return Error(Reason::Timeout, text);
        }
        CO_TRY_VOID(co_await services_.host.loop.sleep(pause));
        pause = std::min<Duration>(pause * 3 / 2, LongestPause);
    }
}

/// Whether the driver said so when the volume was to be attached. It is asked for its new limit then.
Task<bool> CsiAttachments::is_node_full(const CsiVolume& volume) {
    const auto object = services_.driver_objects.find({"", volume.driver});
    if (!object || !object->spec.node_allocatable_update_period_seconds) co_return false;
    const std::string name = objects::attachment_name(volume.driver, volume.handle, services_.node_name);
    const auto attachment = co_await services_.api.client.get<VolumeAttachment>({"", name});
    if (is_cancelled(attachment)) co_return attachment.error();
    if (!attachment || !attachment->status.attach_error) co_return false;
    if (attachment->status.attach_error->error_code != static_cast<std::int32_t>(net::GrpcStatus::ResourceExhausted)) co_return false;
    const auto refreshed = co_await services_.drivers.refresh_limit(volume.driver);
    if (is_cancelled(refreshed)) co_return refreshed.error();
    if (!refreshed) services_.log.warn("limit of volumes not updated", {{"driver", volume.driver}, {"error", refreshed.error().message}});
    co_return true;
}

Task<CsiAttachments::PublishContext> CsiAttachments::read(const CsiVolume& volume) {
    const std::string name = objects::attachment_name(volume.driver, volume.handle, services_.node_name);
    const auto attachment = co_await services_.api.client.get<VolumeAttachment>({"", name});
    if (is_cancelled(attachment)) co_return attachment.error();
    const auto problem = [&](const std::string& text) { return Error(Reason::Unavailable, text); };
    if (!attachment)
        co_return problem("volume " + volume.handle + " has GET error for volume attachment " + name + ": " + attachment.error().message);
    if (attachment->metadata.deletion_timestamp) co_return problem("volume attachment is being deleted");
    if (attachment->status.attached) co_return attachment->status.attachment_metadata;
    if (attachment->status.attach_error) co_return problem(attachment->status.attach_error->message);
    co_return problem("volume " + volume.handle + " is not attached for volume attachment " + name);
}

}  // namespace porthole::kubelet
