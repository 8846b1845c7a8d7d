#include "winhost/host/loop_volumes.h"

#include <algorithm>

#include "base/strings.h"
#include "runtime/files/loop_devices.h"

namespace porthole::winhost {
namespace {

using csi_proxy::DiskNumber;
using csi_proxy::HostUse;

constexpr std::string_view VolumeStart = "\\\\?\\Volume{", VolumeEnd = "}\\";
constexpr Duration LongestProgram = std::chrono::minutes(5);
constexpr std::size_t LongestComplaint = 1024;
constexpr int Repaired = 1;               // exit code of e2fsck
constexpr std::uint64_t Slack = 4 << 20;  // at the end of a partition, which ext4 may not be able to use
// In the first 2048 bytes of an ext4 file system.
constexpr std::size_t ExtBlocks = 1028, ExtBlockSize = 1048, ExtMagic = 1080, ExtBlocksHigh = 1360;

std::uint64_t number_at(std::string_view text, std::size_t at, std::size_t size) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i) number |= std::uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
    return number;
}
bool is_ext(std::string_view start) { return start.size() >= 2048 && number_at(start, ExtMagic, 2) == 0xef53; }
/// Requires: is_ext(). Anyone may have written it: it is only compared.
std::uint64_t ext_bytes(std::string_view start) {
    const std::uint64_t shift = std::min<std::uint64_t>(number_at(start, ExtBlockSize, 4), 6);
    return (number_at(start, ExtBlocks, 4) | number_at(start, ExtBlocksHigh, 4) << 32) * (1024U << shift);
}
std::string kibibytes(const Partition& partition) { return std::to_string(partition.bytes / 1024) + "k"; }

/// "\\?\Volume{id}\". Requires: check_volume() for the other way.
std::string volume_of(const std::string& id) { return std::string(VolumeStart) + id + std::string(VolumeEnd); }
std::string id_of(const std::string& volume) {
    return to_lower(std::string_view(volume).substr(VolumeStart.size(), volume.size() - VolumeStart.size() - VolumeEnd.size()));
}

/// As Windows writes it; drivers look for the number of a LUN.
std::string location_of(const AttachedDisk& disk) {
    if (!disk.location.empty()) return disk.location;
    return "Integrated : Adapter 0 : Port 0 : Target 0 : LUN " + std::to_string(disk.number);
}

}  // namespace

LoopVolumes::LoopVolumes(Services services)
    : services_(std::move(services)),
      disks_(services_.volumes.files, services_.random, services_.disks, services_.devices),
      mounts_(services_.volumes) {}

template <class T>
Task<T> LoopVolumes::in_turn(std::move_only_function<Result<T>()> work) {
    CO_TRY(const auto permit, co_await turns_.take());
    co_return co_await run_blocking<T>(services_.pool, std::move(work));
}

Task<std::vector<csi_proxy::Disks::Disk>> LoopVolumes::list() {
    return in_turn<std::vector<Disk>>([this]() -> Result<std::vector<Disk>> {
        TRY(const auto attached, disks_.list());
        std::vector<Disk> disks;
        for (const AttachedDisk& one : attached) disks.push_back({one.number, location_of(one), one.serial_number, one.unique_id});
        return disks;
    });
}

Task<std::vector<AttachedDisk>> LoopVolumes::attached() {
    return in_turn<std::vector<AttachedDisk>>([this] { return disks_.list(); });
}

/// Every call looks at image files again, but not at what other machines have.
Task<> LoopVolumes::rescan() {
    CO_TRY(const auto permit, co_await turns_.take());
    if (services_.devices) CO_TRY_VOID(co_await services_.devices->rescan());
    co_return co_await run_blocking<void>(services_.pool, [this]() -> Result<void> {
        TRY_VOID(disks_.list());
        return {};
    });
}

Task<Semaphore::Permit> LoopVolumes::hold_unused(std::vector<std::string> names) {
    CO_TRY(Semaphore::Permit permit, co_await turns_.take());
    CO_TRY_VOID(co_await run_blocking<void>(services_.pool, [&]() -> Result<void> {
        TRY(const auto attached, disks_.list());
        for (const AttachedDisk& disk : attached)
            if (std::ranges::find(names, disk.name) != names.end()) TRY_VOID(check_unused(disk));
        return {};
    }));
    co_return permit;
}

/// No volume of it is mounted, also not by somebody else.
Result<void> LoopVolumes::check_unused(const AttachedDisk& disk) {
    if (disk.table && disk.table->partition) {
        TRY(const auto paths, mounts_.access_paths(disk.table->partition->id));
        if (!paths.empty()) return Error(Reason::Conflict, "a volume of disk " + disk.name + " is mounted at " + paths.front());
    }
    return mounts_.check_unused(disk);
}

Result<void> LoopVolumes::check_online(const AttachedDisk& disk) const {
    if (offline_.contains(disk.name)) return Error(Reason::Conflict, "disk " + std::to_string(disk.number) + " is offline");
    return {};
}

Result<AttachedDisk> LoopVolumes::usable_disk(const std::string& volume) {
    TRY(AttachedDisk disk, disks_.find_partition(id_of(volume)));
    TRY_VOID(check_online(disk));
    return disk;
}

Task<> LoopVolumes::partition(DiskNumber number) {
    return in_turn<void>([this, number]() -> Result<void> {
        TRY(const AttachedDisk disk, disks_.find(number));
        TRY_VOID(check_online(disk));
        return disks_.partition(disk);
    });
}

Task<std::int64_t> LoopVolumes::size(DiskNumber number) {
    return in_turn<std::int64_t>([this, number]() -> Result<std::int64_t> {
        TRY(const AttachedDisk disk, disks_.find(number));
        return static_cast<std::int64_t>(disk.bytes);
    });
}

Task<bool> LoopVolumes::is_online(DiskNumber number) {
    return in_turn<bool>([this, number]() -> Result<bool> {
        TRY(const AttachedDisk disk, disks_.find(number));
        return !offline_.contains(disk.name);
    });
}

Task<> LoopVolumes::set_online(DiskNumber number, bool online) {
    return in_turn<void>([this, number, online]() -> Result<void> {
        TRY(const AttachedDisk disk, disks_.find(number));
        if (online) {
            offline_.erase(disk.name);
            return {};
        }
        TRY_VOID(check_unused(disk));
        offline_.insert(disk.name);
        return {};
    });
}

Task<HostUse> LoopVolumes::use_of(DiskNumber number) {
    return in_turn<HostUse>([this, number]() -> Result<HostUse> {
        TRY(const AttachedDisk disk, disks_.find(number));
        HostUse use;
        if (disk.table && disk.table->partition) {
            TRY(use.paths, mounts_.access_paths(disk.table->partition->id));
        }
        return use;
    });
}

Task<HostUse> LoopVolumes::use_of(std::string volume) {
    return in_turn<HostUse>([this, volume]() -> Result<HostUse> {
        HostUse use;
        TRY(use.paths, mounts_.access_paths(id_of(volume)));
        return use;
    });
}

Task<std::vector<std::string>> LoopVolumes::list(DiskNumber number, std::uint32_t partition) {
    return in_turn<std::vector<std::string>>([this, number, partition]() -> Result<std::vector<std::string>> {
        TRY(const AttachedDisk disk, disks_.find(number));
        TRY_VOID(check_online(disk));
        if (!disk.problem.empty()) return Error(Reason::Conflict, "disk " + disk.name + ": " + disk.problem);
        const bool has_one = disk.table && disk.table->partition;
        if (partition > 1 || (partition == 1 && !has_one))
            return Error(Reason::NotFound, "disk " + disk.name + " has no partition " + std::to_string(partition));
        if (!has_one) return std::vector<std::string>();
        TRY_VOID(disks_.find_partition(disk.table->partition->id));
        return std::vector<std::string>{volume_of(disk.table->partition->id)};
    });
}

/// The superblock of one that is mounted says how large it was before.
Result<bool> LoopVolumes::is_smaller_than_partition(const AttachedDisk& disk) {
    const Partition& partition = *disk.table->partition;
    TRY(const std::string start, services_.volumes.files.read_at(disk.image, partition.start, 2048));
    return is_ext(start) && ext_bytes(start) + Slack < partition.bytes;
}

/// Whatever is there, so that nothing is taken for empty that is not: ext4 leaves room for other systems' programs at the start.
Result<bool> LoopVolumes::has_file_system(const AttachedDisk& disk) {
    TRY(const std::string start, services_.volumes.files.read_at(disk.image, disk.table->partition->start, 2048));
    if (start.substr(0, 1024).find_first_not_of('\0') != start.npos) return true;
    return is_ext(start);
}

Task<bool> LoopVolumes::is_formatted(std::string volume) {
    return in_turn<bool>([this, volume]() -> Result<bool> {
        TRY(const AttachedDisk disk, usable_disk(volume));
        return has_file_system(disk);
    });
}

/// Where it cannot be enlarged later, the volume takes the size of its disk before.
Task<> LoopVolumes::mount(std::string volume, std::string path) {
    CO_TRY(const auto permit, co_await turns_.take());
    bool enlarge = false;
    CO_TRY(AttachedDisk disk, co_await run_blocking<AttachedDisk>(services_.pool, [&]() -> Result<AttachedDisk> {
               TRY(AttachedDisk found, usable_disk(volume));
               TRY(const bool mounted, mounts_.is_mounted(id_of(volume)));
               if (mounted || may_enlarge_mounted()) return found;
               TRY(found.table->partition, disks_.grow_partition(found, 0));
               TRY(enlarge, is_smaller_than_partition(found));
               if (enlarge) TRY_VOID(mounts_.check_unused(found));
               return found;
           }));
    if (enlarge) CO_TRY_VOID(co_await enlarge_unmounted(disk));
    co_return co_await run_blocking<void>(services_.pool, [&] { return mounts_.mount(disk, path); });
}

/// Also of a disk that is gone.
Task<> LoopVolumes::unmount(std::string volume, std::string path) {
    return in_turn<void>([this, volume, path] { return mounts_.unmount(id_of(volume), path); });
}

Task<> LoopVolumes::format(std::string volume) {
    CO_TRY(const auto permit, co_await turns_.take());
    CO_TRY(AttachedDisk disk, co_await run_blocking<AttachedDisk>(services_.pool, [&]() -> Result<AttachedDisk> {
               TRY(AttachedDisk found, usable_disk(volume));
               TRY(const auto paths, mounts_.access_paths(id_of(volume)));
               if (!paths.empty()) return Error(Reason::Conflict, "the volume is mounted at " + paths.front());
               TRY_VOID(mounts_.check_unused(found));
               return found;
           }));
    co_return co_await format_disk(std::move(disk));
}

/// Programs have a device, whose name is the machine's: image files may have any.
Task<> LoopVolumes::run(std::vector<std::string> arguments, int highest_code) {
    const std::string program = arguments.front();
    Command command{.arguments = std::move(arguments), .limit = LongestProgram};
    command.environment["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    const auto ended = co_await services_.programs.run(std::move(command));
    if (is_not_found(ended))
        co_return Error(Reason::MethodNotAllowed,
                        "this host cannot do that: the machine that emulates it has no " + program + " (package e2fsprogs)");
    CO_TRY_VOID(ended);
    if (ended->exit_code > highest_code)
        co_return Error(Reason::Io, program + " failed: " + std::string(trim(ended->output + ended->errors)).substr(0, LongestComplaint));
    co_return {};
}

Task<> LoopVolumes::format_disk(AttachedDisk disk) {
    const Partition& partition = *disk.table->partition;
    CO_TRY(const LoopDevice loop,
           co_await run_blocking<LoopDevice>(services_.pool, [&] { return LoopDevices().attach(disk.image, partition.start); }));
    CO_TRY_VOID(co_await run({"mkfs.ext4", "-q", "-F", "-m", "0", loop.path(), kibibytes(partition)}, 0));
    co_return co_await run_blocking<void>(services_.pool, [&] { return mounts_.empty_new_file_system(disk); });
}

Task<> LoopVolumes::enlarge_unmounted(AttachedDisk disk) {
    const Partition& partition = *disk.table->partition;
    CO_TRY(const LoopDevice loop,
           co_await run_blocking<LoopDevice>(services_.pool, [&] { return LoopDevices().attach(disk.image, partition.start); }));
    CO_TRY_VOID(co_await run({"e2fsck", "-f", "-p", loop.path()}, Repaired));
    co_return co_await run({"resize2fs", loop.path(), kibibytes(partition)}, 0);
}

Task<> LoopVolumes::resize(std::string volume, std::int64_t bytes) {
    CO_TRY(const auto permit, co_await turns_.take());
    bool enlarge = false;
    CO_TRY(AttachedDisk disk, co_await run_blocking<AttachedDisk>(services_.pool, [&]() -> Result<AttachedDisk> {
               TRY(AttachedDisk found, usable_disk(volume));
               TRY(found.table->partition, disks_.grow_partition(found, static_cast<std::uint64_t>(bytes)));
               TRY(const bool mounted, mounts_.is_mounted(id_of(volume)));
               if (mounted && may_enlarge_mounted()) {
                   TRY_VOID(mounts_.grow(found));
                   return found;
               }
               TRY(enlarge, is_smaller_than_partition(found));
               if (enlarge && mounted)
                   return Error(Reason::Conflict,
                                "a mounted volume cannot be enlarged on this host, whose emulation has no CAP_SYS_RESOURCE; it is when it "
                                "is mounted again");
               if (enlarge) TRY_VOID(mounts_.check_unused(found));
               return found;
           }));
    if (enlarge) CO_TRY_VOID(co_await enlarge_unmounted(std::move(disk)));
    co_return {};
}

Task<csi_proxy::Volumes::Stats> LoopVolumes::stats(std::string volume) {
    return in_turn<Stats>([this, volume] { return mounts_.stats(id_of(volume)); });
}

Task<DiskNumber> LoopVolumes::disk_of(std::string volume) {
    return in_turn<DiskNumber>([this, volume]() -> Result<DiskNumber> {
        TRY(const AttachedDisk disk, disks_.find_partition(id_of(volume)));
        return disk.number;
    });
}

Task<std::string> LoopVolumes::volume_at(std::string path) {
    return in_turn<std::string>([this, path]() -> Result<std::string> {
        TRY(const FileId place, services_.volumes.links.leads_to(path));
        TRY(const auto attached, disks_.list());
        for (const AttachedDisk& disk : attached) {
            if (!disk.table || !disk.table->partition) continue;
            TRY(const bool here, mounts_.is_root(place, disk.table->partition->id));
            if (here) return volume_of(disk.table->partition->id);
        }
        return Error(Reason::NotFound, "no volume is mounted at " + path);
    });
}

Task<> LoopVolumes::flush(std::string volume) {
    return in_turn<void>([this, volume] { return mounts_.flush(id_of(volume)); });
}

}  // namespace porthole::winhost
