#include "kubelet/volumes/persistent_volume_claim/claim_growth.h"

#include <algorithm>
#include <string_view>

#include "kubelet/pod/pod.h"

namespace porthole::kubelet {
namespace {

constexpr const char* Storage = "storage";
constexpr const char* Pending = "NodeResizePending";
constexpr const char* InProgress = "NodeResizeInProgress";
constexpr const char* Infeasible = "NodeResizeInfeasible";
constexpr const char* ResizeError = "NodeResizeError";
/// Of a claim whose volume the driver's controller has enlarged alone.
constexpr const char* NotOnNodes = "volume.kubernetes.io/node-expansion-not-required";

const Quantity* storage_of(const std::map<std::string, Quantity>& amounts) {
    const auto found = amounts.find(Storage);
    return found == amounts.end() ? nullptr : &found->second;
}

std::string status_of(const core::PersistentVolumeClaim& claim) {
    const auto found = claim.status.allocated_resource_statuses.find(Storage);
    return found == claim.status.allocated_resource_statuses.end() ? "" : found->second;
}

/// Whoever wrote it: with the node's part all is done.
bool is_of_growth(const core::PersistentVolumeClaimCondition& condition) {
    constexpr std::string_view Types[] = {"ControllerResizeError", "FileSystemResizePending", ResizeError, "Resizing"};
    return std::ranges::find(Types, condition.type) != std::end(Types);
}

/// Whether nothing is known to be under way any longer.
bool is_final(const Error& error) { return error.reason != Reason::Timeout && error.reason != Reason::Unavailable; }

}  // namespace

std::optional<ClaimGrowth> ClaimGrowth::find(ClaimRef claim, VolumeRef volume, PodRef pod) {
    const Quantity *offered = storage_of(volume->spec.capacity), *known = storage_of(claim->status.capacity);
    if (!offered || !known || *known >= *offered) return std::nullopt;
    const Quantity* allocated = storage_of(claim->status.allocated_resources);
    const std::string status = status_of(*claim);
    const bool is_our_turn = status == Pending || status == InProgress || (status.empty() && !allocated);
    if (!is_our_turn) return std::nullopt;
    const Quantity size = allocated ? *allocated : *offered;
    return ClaimGrowth(std::move(claim), std::move(volume), std::move(pod), size);
}

std::optional<ClaimGrowth> ClaimGrowth::find_further(ClaimRef claim, VolumeRef volume, PodRef pod) {
    const Quantity *offered = storage_of(volume->spec.capacity), *known = storage_of(claim->status.capacity);
    if (!offered || !known || *known < *offered || !status_of(*claim).empty()) return std::nullopt;
    if (std::ranges::find(claim->spec.access_modes, core::PersistentVolumeAccessMode::ReadWriteMany) == claim->spec.access_modes.end() ||
        claim->metadata.annotations.contains(NotOnNodes))
        return std::nullopt;
    const Quantity size = *offered;
    ClaimGrowth growth(std::move(claim), std::move(volume), std::move(pod), size);
    growth.is_further_ = true;
    return growth;
}

bool ClaimGrowth::is_outdated() const {
    const Quantity* wanted = storage_of(claim_->spec.resources.requests);
    return wanted && !(*wanted == size_);
}

Task<> ClaimGrowth::begin(client::Client& client) {
    if (status_of(*claim_) != Pending) co_return {};
    core::PersistentVolumeClaim told = *claim_;
    told.status.allocated_resource_statuses[Storage] = InProgress;
    co_return co_await write(std::move(told), client);
}

Task<> ClaimGrowth::succeed(const VolumeApi& api) {
    if (!is_further_) {
        core::PersistentVolumeClaim told = *claim_;
        told.status.capacity[Storage] = size_;
        told.status.allocated_resource_statuses.erase(Storage);
        std::erase_if(told.status.conditions, is_of_growth);
        CO_TRY_VOID(co_await write(std::move(told), api.client));
    }
    const std::string message =
        "MountVolume.NodeExpandVolume succeeded for volume \"" + volume_->metadata.name + "\" " + pod_->spec.node_name;
    api.events.normal(reference_to(*pod_), "FileSystemResizeSuccessful", message);
    api.events.normal(*claim_, "FileSystemResizeSuccessful", message);
    co_return {};
}

Task<> ClaimGrowth::fail(Error error, SystemTime now, const VolumeApi& api) {
    const bool is_unsupported = error.reason == Reason::MethodNotAllowed;
    if (is_further_ && is_unsupported) co_return {};
    const char* reason = is_unsupported ? "FileSystemResizeUnsupported" : "VolumeResizeFailed";
    const std::string message = "NodeExpandVolume.NodeExpandVolume failed for volume \"" + volume_->metadata.name + "\" : " + error.message;
    if (error.reason != Reason::Conflict) {
        api.events.warning(reference_to(*pod_), reason, message);
        api.events.warning(*claim_, reason, message);
    }
    // The next pod may grow it where this one's cannot be grown: nothing has failed.
    if (is_unsupported || is_further_ || !is_final(error)) co_return {};
    core::PersistentVolumeClaim told = *claim_;
    if (error.reason == Reason::BadRequest && !status_of(told).empty()) told.status.allocated_resource_statuses[Storage] = Infeasible;
    if (std::ranges::find(told.status.conditions, ResizeError, &core::PersistentVolumeClaimCondition::type) ==
        told.status.conditions.end()) {
        auto& condition = told.status.conditions.emplace_back();
        condition.type = ResizeError;
        condition.status = "True";
        condition.last_transition_time = Timestamp(now);
        condition.message = "failed to expand pvc with " + error.message;
    }
    if (told.status == claim_->status) co_return {};
    co_return co_await write(std::move(told), api.client);
}

void ClaimGrowth::refuse_read_only(client::EventRecorder& events) const {
    const std::string message =
        "MountVolume.NodeExpandVolume failed for volume \"" + volume_->metadata.name + "\" requested read-only file system";
    events.warning(reference_to(*pod_), "FileSystemResizeFailed", message);
    events.warning(*claim_, "FileSystemResizeFailed", message);
}

Task<> ClaimGrowth::write(core::PersistentVolumeClaim changed, client::Client& client) {
    CO_TRY(auto written, co_await client.update_status(std::move(changed)));
    claim_ = std::make_shared<const core::PersistentVolumeClaim>(std::move(written));
    co_return {};
}

}  // namespace porthole::kubelet
