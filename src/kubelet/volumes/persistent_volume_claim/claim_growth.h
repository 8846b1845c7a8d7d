#pragma once
#include <memory>
#include <optional>

#include "client/client.h"
#include "client/events.h"
#include "kubelet/volumes/framework/dependencies.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

/// The node's part in the expansion of a claim's volume: when the node has to act, and the claim's status (KEP-1790).
///
/// The claim's status.allocatedResourceStatuses says whose turn it is: the node's with NodeResizePending and NodeResizeInProgress. begin()
/// writes NodeResizeInProgress. succeed() writes the new capacity and removes all traces of the expansion. fail() adds the condition
/// NodeResizeError; if a retry does not help, it writes NodeResizeInfeasible, and the external resizer decides about another size. A status
/// without any of this is from a resizer that does not support it: then the capacity of the volume counts.
class ClaimGrowth {
public:
    using ClaimRef = std::shared_ptr<const core::PersistentVolumeClaim>;
    using VolumeRef = std::shared_ptr<const core::PersistentVolume>;
    using PodRef = std::shared_ptr<const core::Pod>;

    /// Nullopt: there is nothing to expand, or it is not the node's turn.
    static std::optional<ClaimGrowth> find(ClaimRef claim, VolumeRef volume, PodRef pod);
    /// The part of every further node that has a volume for many of them: the first one has updated the claim, which stays as it is.
    /// Nullopt: the volume is for one node only, or the nodes have no part in it.
    static std::optional<ClaimGrowth> find_further(ClaimRef claim, VolumeRef volume, PodRef pod);

    const core::PersistentVolume& volume() const { return *volume_; }
    Quantity size() const { return size_; }
    /// Whether the claim's user has requested another size since this one was allocated.
    bool is_outdated() const;

    /// Error: the API's; the volume must not be grown then.
    Task<> begin(client::Client& client);
    Task<> succeed(const VolumeApi& api);
    /// `error`: MethodNotAllowed if the node cannot expand it at all, BadRequest if a retry does not help, Conflict if it is impossible
    /// while a pod uses the volume, Timeout and Unavailable if the outcome is unknown; others: retried. The pod keeps its volume.
    Task<> fail(Error error, SystemTime now, const VolumeApi& api);
    /// Instead of all of these where the pod has the volume read-only: events. Another pod may grow it.
    void refuse_read_only(client::EventRecorder& events) const;

private:
    ClaimGrowth(ClaimRef claim, VolumeRef volume, PodRef pod, Quantity size)
        : claim_(std::move(claim)), volume_(std::move(volume)), pod_(std::move(pod)), size_(size) {}
    Task<> write(core::PersistentVolumeClaim changed, client::Client& client);

    ClaimRef claim_;  ///< as last read or written
    VolumeRef volume_;
    PodRef pod_;
    Quantity size_;
    bool is_further_ = false;
};

}  // namespace porthole::kubelet
