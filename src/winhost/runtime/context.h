#pragma once
#include <cstdint>
#include <string>

#include "base/log.h"
#include "runtime/asio_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"
#include "runtime/random.h"
#include "runtime/worker_pool.h"
#include "winhost/bundle/container_users.h"
#include "winhost/images/image_store.h"
#include "winhost/runtime/container_plan.h"
#include "winhost/runtime/pod_network.h"
#include "winhost/template/wine_template.h"

namespace porthole::winhost {

/// The collaborators of the runtime and its parts. All outlive it.
struct RuntimeContext {
    AsioLoop& loop;
    ProcessRunner& processes;
    FileSystem& files;
    WorkerPool& pool;
    Random& random;
    ImageStore& images;
    PodNetwork& network;
    Logger log;
};

/// Options of a host's container runtime.
struct RuntimeOptions {
    std::string host_name;    ///< of the emulated host: names its cgroups, [a-z0-9-]+
    std::string data;         ///< a directory for it only; its path must be short (at most 60 bytes)
    std::string host_root;    ///< the host's root file system on Linux, in which its C:\ is: where CRI's host paths are
    std::string host_socket;  ///< of the init of the host's own container: where CRI's named pipes are
    ContainerUsers users;     ///< the same as for the host's own container, whose volumes its pods use
    HostProfile profile;
    WineTemplate wine;  ///< of the pods' containers; the host may have another
    /// Every sandbox needs this image, which is pulled if necessary; "" for none. Nothing of it runs, but one for another build prevents
    /// pods from starting.
    std::string sandbox_image;
    std::int64_t process_limit = ContainerProcessLimit;
};

}  // namespace porthole::winhost
