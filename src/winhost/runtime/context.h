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

/// What the runtime and its parts run on. All outlive it.
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

/// What a host chooses for its container runtime.
struct RuntimeOptions {
    std::string host_name;    ///< of the emulated host: names its cgroups, [a-z0-9-]+
    std::string data;         ///< a folder of its own; its path must be short (at most 60 bytes)
    std::string host_root;    ///< the host's root file system on Linux, in which its C:\ is: where CRI's host paths are
    std::string host_socket;  ///< of the init of the host's own container: where CRI's named pipes are
    ContainerUsers users;     ///< as those of the host's own container, whose volumes its pods have
    HostProfile profile;
    WineTemplate wine;
    /// Every sandbox needs it, pulled if need be; "" for none. Nothing of it runs, but one for another build keeps pods from starting.
    std::string sandbox_image;
    std::int64_t process_limit = ContainerProcessLimit;
};

}  // namespace porthole::winhost
