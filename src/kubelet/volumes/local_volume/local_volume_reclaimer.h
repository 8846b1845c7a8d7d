#pragma once
#include "client/events.h"
#include "client/informers/controller.h"
#include "kubelet/volumes/local_volume/local_volumes.h"

namespace porthole::kubelet {

/// Deletes the data of this node's local volumes once their PersistentVolume is being deleted and bound to no claim, unless the reclaim
/// policy is Retain, and then removes the object's finalizer.
class LocalVolumeReclaimer final : public client::Controller {
public:
    LocalVolumeReclaimer(EventLoop& loop, client::Client& client, client::Informers& informers, client::EventRecorder& events, Logger log,
                         LocalVolumes& volumes, const std::string& node);

private:
    using PersistentVolume = api::core::v1::PersistentVolume;
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    client::EventRecorder& events_;
    LocalVolumes& data_;
    client::Informer<PersistentVolume>& volumes_;
};

/// Waits until the API server allows the node to read its volumes, which those of other distributions never do. Error: Cancelled.
Task<> wait_until_local_volumes_may_be_seen(EventLoop& loop, client::Client& client, std::string node);

}  // namespace porthole::kubelet
