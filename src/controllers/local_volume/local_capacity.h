#pragma once
#include "api/storage_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Publishes how much room each node has for volumes of each class of local.porthole.io, as CSIStorageCapacity in kube-system, by which the
/// scheduler chooses. At most once a second for a node. Keys are names of nodes.
class LocalCapacityPublisher final : public client::Controller {
public:
    static constexpr const char* Account = "local-volume-provisioner";
    explicit LocalCapacityPublisher(Context& context);

private:
    using Capacity = api::storage::v1::CSIStorageCapacity;
    using Node = api::core::v1::Node;
    using PersistentVolume = api::core::v1::PersistentVolume;
    using StorageClass = api::storage::v1::StorageClass;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    void soon(const std::string& node);
    /// What is to be published of the node, by name; nothing for a node that is gone.
    std::map<std::string, Capacity> wanted(const std::string& node) const;

    client::Client& client_;
    client::Informer<Node>& nodes_;
    client::Informer<StorageClass>& classes_;
    client::Informer<PersistentVolume>& volumes_;
    client::Informer<Capacity>& capacities_;
    client::Informer<PersistentVolume>::Index volumes_of_;  ///< by node
    client::Informer<Capacity>::Index capacities_of_;       ///< ours, by node
};

}  // namespace porthole::controllers
