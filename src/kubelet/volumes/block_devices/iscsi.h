#pragma once
#include "kubelet/volumes/block_devices/device_kind.h"
#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::kubelet {

/// Logical units of iSCSI targets, by the node's `iscsiadm` (open-iscsi). Details: portals ("10.0.0.1:3260", several with commas), iqn,
/// lun, interface, initiator ("" for the interface's own), chap_discovery and chap_session ("true"). Secrets: the keys of upstream's
/// kubernetes.io/iscsi-chap. Differs from Kubernetes: they are written to open-iscsi's records and not given to iscsiadm as arguments,
/// which processes of the node can see.
std::unique_ptr<DeviceKind> make_iscsi_devices(EventLoop& loop, FileSystem& files, ProcessRunner& programs);

}  // namespace porthole::kubelet
