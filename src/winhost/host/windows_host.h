#pragma once
#include <memory>
#include <string>

#include "base/log.h"
#include "bundled_images/bundled_images.h"
#include "runtime/asio_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"
#include "runtime/random.h"
#include "runtime/worker_pool.h"
#include "winhost/images/registry/registry_client.h"
#include "winhost/template/host_profile.h"

namespace porthole::winhost {

/// What an emulated host runs on. All outlive it.
struct WindowsHostContext {
    AsioLoop& loop;
    ProcessRunner& processes;
    FileSystem& files;
    WorkerPool& pool;
    Random& random;
    RegistryClient& registries;
    Logger log;
};

/// How one host differs from another.
struct WindowsHostOptions {
    std::string name;      ///< "windows-1": its computer name, [a-z0-9-]+
    HostProfile profile;   ///< the Windows version that it plays
    std::string data;      ///< a folder of its own, kept over restarts; its path must be short (at most 56 bytes)
    std::string programs;  ///< folder of the Windows programs to place on it; "" for none
    std::string cache;     ///< where the Wine template is, or is built
    std::string pause_image = bundled_images::PauseImage;  ///< the sandbox image of pods
};

/// An emulated Windows host, in this process's network namespace: the host network service, the container runtime with its
/// named pipe, and the host's own programs. The uplink ("eth0") must have its address when it starts. Owns the folder `data`; lives on
/// one loop.
///
/// Killed at any time it leaves pods and services running; the next one with the same folder adopts them. Programs on Linux reach it by
/// `data`/control.sock (control.h), `data`/cri.sock (CRI) and the host container's init; `data`/C is its C:\. Where a file
/// `data`/without-csi-proxy is, the host plays one on which no CSI proxy was installed, from its next boot on.
class WindowsHost {
public:
    WindowsHost(WindowsHostContext context, WindowsHostOptions options);
    ~WindowsHost();

    /// Ready when it returns. Errors: BadRequest for options, Conflict where another runs in `data`, NotFound without Wine, Io, Timeout.
    Task<> start();
    /// Returns when the host was asked to shut down (control.h).
    Task<> wait_for_shutdown();
    /// Services are stopped in good order, all pods' processes end, nothing but files is left. Call it also after a start that failed.
    Task<> power_off();
    Task<> reboot();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Removes what a killed host has left in `data`: processes, mounts, cgroups, network namespaces. Files stay. Error: Conflict while
/// one runs there; Io.
Task<> clean_up_host(WindowsHostContext context, std::string name, std::string data);

}  // namespace porthole::winhost
