#pragma once
#include <functional>
#include <memory>
#include <string>

#include "api/core_v1.h"
#include "api/storage_v1.h"
#include "base/log.h"
#include "client/informers/informer.h"
#include "kubelet/volumes/csi/csi_drivers.h"
#include "kubelet/volumes/framework/dependencies.h"
#include "runtime/files/file_system.h"
#include "runtime/worker_pool.h"

namespace porthole::kubelet {

using CsiDriverObjects = client::Informer<api::storage::v1::CSIDriver>;

/// The collaborators of CSI volumes. All live on the kubelet's loop.
struct CsiServices {
    const VolumeHost& host;
    const VolumeApi& api;
    CsiDrivers& drivers;
    CsiDriverObjects& driver_objects;
    Logger log;
    std::string node_name, root;
    std::function<std::shared_ptr<const api::core::v1::Node>()> node;  ///< this one as the API has it; null before it is there
    std::function<void()> report_node;                                 ///< called when CsiVolumes::volumes_in_use() has changed
    std::function<bool()> has_csi_proxy;                               ///< Windows: whether a CSI proxy serves on the node; null elsewhere
    Duration attach_limit = std::chrono::seconds(123);                 ///< for which a pod waits until its volume is attached; upstream's

    bool is_windows() const { return has_csi_proxy != nullptr; }
};

}  // namespace porthole::kubelet
