#pragma once
#include <functional>
#include <set>
#include <string>

#include "csi_proxy/host.h"
#include "runtime/processes/process.h"
#include "runtime/worker_pool.h"
#include "winhost/disks/disk_source.h"
#include "winhost/host/turns.h"
#include "winhost/host/volume_mounts.h"

namespace porthole::winhost {

/// Disks and volumes of an emulated host's CSI proxy: image files and devices that are attached (AttachedDisks), whose volumes Linux mounts
/// (VolumeMounts). Their file system is ext4, where a real host has NTFS: the machine's e2fsprogs create and enlarge it; one that is
/// mounted is enlarged by the kernel. Disks are online until a driver says otherwise, and again after the emulation was restarted. One call
/// acts at a time, in the pool. All references outlive it.
class LoopVolumes final : public csi_proxy::Disks, public csi_proxy::Volumes {
public:
    static constexpr std::size_t MostWaiting = 32;
    struct Services {
        WorkerPool& pool;
        ProcessRunner& programs;
        Random& random;
        std::string disks;  ///< the directory of attached disks
        VolumeMounts::Services volumes;
        DiskSource* devices = nullptr;  ///< further disks
    };
    explicit LoopVolumes(Services services);

    Task<std::vector<Disk>> list() override;
    Task<> rescan() override;
    Task<> partition(csi_proxy::DiskNumber disk) override;
    Task<std::int64_t> size(csi_proxy::DiskNumber disk) override;
    Task<bool> is_online(csi_proxy::DiskNumber disk) override;
    Task<> set_online(csi_proxy::DiskNumber disk, bool online) override;
    Task<csi_proxy::HostUse> use_of(csi_proxy::DiskNumber disk) override;

    Task<std::vector<std::string>> list(csi_proxy::DiskNumber disk, std::uint32_t partition) override;
    Task<> mount(std::string volume, std::string path) override;
    Task<> unmount(std::string volume, std::string path) override;
    Task<bool> is_formatted(std::string volume) override;
    Task<> format(std::string volume) override;
    Task<> resize(std::string volume, std::int64_t bytes) override;
    Task<Stats> stats(std::string volume) override;
    Task<csi_proxy::DiskNumber> disk_of(std::string volume) override;
    Task<std::string> volume_at(std::string path) override;
    Task<> flush(std::string volume) override;
    Task<csi_proxy::HostUse> use_of(std::string volume) override;

    Task<std::vector<AttachedDisk>> attached();
    /// Nothing acts on disks as long as the result exists. Error: Conflict if one of those names is in use.
    Task<Semaphore::Permit> hold_unused(std::vector<std::string> names);

private:
    /// Runs `work` in the pool when it is its turn.
    template <class T>
    Task<T> in_turn(std::move_only_function<Result<T>()> work);
    Task<> format_disk(AttachedDisk disk);
    /// Requires: it is not in use.
    Task<> enlarge_unmounted(AttachedDisk disk);
    /// A program of e2fsprogs.
    Task<> run(std::vector<std::string> arguments, int highest_code);
    /// Of the volume, which is on an attached disk that is online.
    Result<AttachedDisk> usable_disk(const std::string& volume);
    Result<void> check_unused(const AttachedDisk& disk);
    Result<void> check_online(const AttachedDisk& disk) const;
    Result<bool> is_smaller_than_partition(const AttachedDisk& disk);
    Result<bool> has_file_system(const AttachedDisk& disk);

    Services services_;
    AttachedDisks disks_;
    VolumeMounts mounts_;
    std::set<std::string> offline_;  ///< names of disks
    Turns turns_{MostWaiting, "too many calls wait for the disks of this host"};
};

}  // namespace porthole::winhost
