#pragma once
#include <memory>
#include <optional>

#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// The node's part in the growth of a claim's volume: when it is the node's turn, and what the claim is told (KEP-1790).
///
/// The claim's status.allocatedResourceStatuses says whose turn it is: the node's with NodeResizePending and NodeResizeInProgress. begin()
/// writes NodeResizeInProgress. succeed() writes the new capacity and removes all that speaks of the growth. fail() adds the condition
/// NodeResizeError; after an error that trying again does not mend it writes NodeResizeInfeasible, and the external resizer decides about
/// another size. A status without any of this is of a resizer that does not know it: then the capacity of the volume counts.
class ClaimGrowth {
public:
    using ClaimRef = std::shared_ptr<const core::PersistentVolumeClaim>;
    using VolumeRef = std::shared_ptr<const core::PersistentVolume>;
    using PodRef = std::shared_ptr<const core::Pod>;

    /// Nothing: there is nothing to grow, or it is not the node's turn.
    static std::optional<ClaimGrowth> find(ClaimRef claim, VolumeRef volume, PodRef pod);

    const core::PersistentVolume& volume() const { return *volume_; }
    Quantity size() const { return size_; }
    /// Whether the claim's user has asked for another size since this one was allocated.
    bool is_outdated() const;

    /// Error: the API's; the volume must not be grown then.
    Task<> begin(client::Client& client);
    Task<> succeed(VolumeServices& services);
    /// `error`: MethodNotAllowed where the node cannot at all, BadRequest where trying again does not help, Conflict where it cannot while
    /// a pod uses the volume, Timeout and Unavailable where the outcome is not known; others: tried again. The pod keeps what it has.
    Task<> fail(Error error, VolumeServices& services);

private:
    ClaimGrowth(ClaimRef claim, VolumeRef volume, PodRef pod, Quantity size)
        : claim_(std::move(claim)), volume_(std::move(volume)), pod_(std::move(pod)), size_(size) {}
    Task<> write(core::PersistentVolumeClaim changed, client::Client& client);

    ClaimRef claim_;  ///< as last read or written
    VolumeRef volume_;
    PodRef pod_;
    Quantity size_;
};

}  // namespace porthole::kubelet
