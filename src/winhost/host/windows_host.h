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

/// The collaborators of an emulated host. All outlive it.
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
    std::string name;       ///< "windows-1": its computer name, [a-z0-9-]+
    HostProfile profile;    ///< the Windows version that it plays
    std::string data;       ///< a directory for it only, kept across restarts; its path must be short (at most 56 bytes)
    std::string programs;   ///< directory with the Windows programs to copy to it; "" for none
    std::string cache;      ///< where the Wine template is, or is built
    std::string wine_root;  ///< directory with the Wine of the pods' containers; "" for the installed one, which the host itself has always
    std::string pause_image = bundled_images::PauseImage;  ///< the sandbox image of pods
};

/// An emulated Windows host, in this process's network namespace: the host network service, the container runtime with its named pipe, and
/// the host's own programs. The uplink ("eth0") must have its address when it starts. Owns the directory `data`; lives on one loop.
///
/// If it is killed, pods and services keep running; the next one with the same directory adopts them. Programs on Linux reach it by
/// `data`/control.sock (control.h), `data`/cri.sock (CRI), `data`/csi.sock (the CSI proxy, once the host has booted) and the host
/// container's init; `data`/C is its C:\. Image files in `data`/disks are its attached disks (AttachedDisks). If a file
/// `data`/without-csi-proxy exists, the host acts as one without a CSI proxy, from its next boot on.
class WindowsHost {
public:
    WindowsHost(WindowsHostContext context, WindowsHostOptions options);
    ~WindowsHost();

    /// Ready when it returns. Errors: BadRequest for options, Conflict if another runs in `data`, NotFound without Wine, Io, Timeout.
    Task<> start();
    /// Returns when a shutdown of the host is requested (control.h).
    Task<> wait_for_shutdown();
    /// Stops services in order and ends all pods' processes; only files remain. Also call it after a start that failed.
    Task<> power_off();
    Task<> reboot();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Removes the leftovers of a killed host in `data`: processes, mounts, iSCSI sessions, cgroups, network namespaces. Files stay. Error:
/// Conflict if a host runs there; Io.
Task<> clean_up_host(WindowsHostContext context, std::string name, std::string data);

}  // namespace porthole::winhost
