#pragma once
#include <memory>

#include "base/log.h"
#include "hns/emulator/data_plane/data_plane.h"
#include "hns/emulator/data_plane/linux/contributions.h"
#include "runtime/processes/process.h"
#include "runtime/worker_pool.h"

namespace porthole::hns::emulator {

/// The data plane on Linux: one network namespace is the host, whose uplinks are its physical adapters. Everything is routed through it;
/// only transparent networks are bridged. `planner.h` computes what is to be done; this runs it by programs (ip, bridge, tc, nft, sysctl).
/// IPv4 only. Needs root. Call restore() first. Both references outlive it.
std::unique_ptr<DataPlane> make_linux_data_plane(ProcessRunner& processes, WorkerPool& pool, Logger log, LinuxOptions options);

}  // namespace porthole::hns::emulator
