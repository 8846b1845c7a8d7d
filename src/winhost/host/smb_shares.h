#pragma once
#include <memory>
#include <string>
#include <vector>

#include "csi_proxy/host.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"
#include "runtime/sync.h"
#include "runtime/worker_pool.h"
#include "winhost/host/host_mounts.h"

namespace porthole::winhost {

/// The Windows path at which the share of `remote` is mounted, with the rest of `remote` appended: for "\\server\share\a" it is
/// "C:\ProgramData\Porthole Shares\server\share\a". Server and share are in lower case. Requires: check_share().
/// Error: BadRequest for names that are not valid names of folders.
Result<std::string> place_of_share(const std::string& remote);

/// SMB shares of an emulated host: Linux mounts them in the host's root file system, by the machine's mount.cifs (cifs-utils) and its
/// kernel, where links of the CSI proxy lead to them. They are encrypted, as a real host's are without `-require-privacy=false`. Like the
/// mappings of a host, they end with it. All references outlive it.
class SmbShares final : public csi_proxy::Shares {
public:
    struct Services {
        ProcessRunner& programs;
        FileSystem& files;
        WorkerPool& workers;     ///< that wait where a server is away
        std::string root;        ///< the host's root file system
        std::string own_folder;  ///< a directory that no container can reach, for mounts and passwords in progress
        std::vector<std::string> programs_of_mount = {"/sbin/mount.cifs", "/usr/sbin/mount.cifs"};  ///< one of which must be there
    };
    explicit SmbShares(Services services) : services_(std::move(services)) {}

    /// Errors also: MethodNotAllowed on a machine without mount.cifs; Io with the program's message, for example if the kernel has no cifs.
    Task<> map(std::string remote, std::string user, std::string password) override;
    Task<> unmap(std::string remote) override;

private:
    Result<std::string> folder_of(const std::string& remote) const;
    Task<bool> answers(std::string path);
    /// What takes as long as a server is away.
    Task<> on_worker(std::move_only_function<Result<void>()> work) { return run_blocking<void>(services_.workers, std::move(work)); }
    Task<> mount(std::string remote, std::string credentials, std::string target);

    Services services_;
    HostMounts mounts_{services_.files, services_.root};
    Semaphore one_at_a_time_{1};
};

}  // namespace porthole::winhost
