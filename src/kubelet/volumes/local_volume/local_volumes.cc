#include "kubelet/volumes/local_volume/local_volumes.h"

#include <algorithm>

#include "objects/local_volume.h"

namespace porthole::kubelet {
namespace {

using api::core::v1::PersistentVolume;
using namespace std::chrono_literals;
namespace local_volume = objects::local_volume;

constexpr std::size_t LongestHandle = 128;
constexpr Duration DeviceEnds = 3s;  // after the last pod has ended

std::uint64_t size_of(const PersistentVolume& volume) {
    const auto found = volume.spec.capacity.find("storage");
    return found == volume.spec.capacity.end() ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(found->second.value(), 0));
}

std::string enforcement(const PersistentVolume& volume) {
    const auto found = volume.spec.csi->volume_attributes.find(local_volume::SizeEnforcement);
    return found == volume.spec.csi->volume_attributes.end() ? "" : found->second;
}

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

std::string image_in(const std::string& folder) { return folder + "/image"; }
std::string data_in(const std::string& folder) { return folder + "/data"; }

}  // namespace

Result<std::string> LocalVolumes::folder_of(const PersistentVolume& volume) const {
    const std::string& handle = volume.spec.csi->volume_handle;
    const bool sound = !handle.empty() && handle.size() <= LongestHandle && is_letter_or_digit(handle[0]) &&
                       std::ranges::all_of(handle, [](char c) { return is_letter_or_digit(c) || c == '-'; });
    if (!sound) return Error(Reason::BadRequest, "volumeHandle \"" + handle + "\" must consist of lower case letters, digits and '-'");
    return root_ + "/" + handle;
}

Result<void> LocalVolumes::check_room(std::uint64_t bytes) {
    TRY(const FileSystemUsage disk, files_.usage(root_));
    if (disk.available >= bytes) return {};
    return Error(Reason::Io, "not enough space on the node's disk: " + std::to_string(bytes) + " bytes are requested, " +
                                 std::to_string(disk.available) + " are free");
}

Task<std::string> LocalVolumes::set_up(std::shared_ptr<const PersistentVolume> volume, std::string directory) {
    CO_TRY(const std::string folder, folder_of(*volume));
    while (busy_.contains(folder)) CO_TRY_VOID(co_await loop_.sleep(200ms));
    if (!files_.exists(image_in(folder)) && !files_.exists(data_in(folder))) {
        busy_.insert(folder);
        const auto made = co_await make(volume, folder);
        busy_.erase(folder);
        if (!made) co_return made.error();
    }
    if (files_.exists(data_in(folder))) co_return data_in(folder);
    if (!disks_) co_return Error(Reason::BadRequest, "this node cannot mount the volume's image");
    CO_TRY_VOID(files_.create_directories(directory, 0750));
    CO_TRY_VOID(disks_->mount(image_in(folder), directory));
    co_return directory;
}

Task<> LocalVolumes::make(std::shared_ptr<const PersistentVolume> volume, std::string folder) {
    CO_TRY_VOID(files_.create_directories(root_, 0700));
    CO_TRY_VOID(check_room(size_of(*volume)));
    const std::string wanted = enforcement(*volume);
    Result<void> enforced = Error(Reason::BadRequest, "this node's operating system has no means for that");
    if (disks_) {
        enforced = co_await make_image(volume, folder);
        if (enforced || is_cancelled(enforced)) co_return enforced;
    }
    const bool required = disks_ ? wanted != local_volume::BestEffort : wanted == local_volume::Required;
    if (required)
        co_return Error(enforced.error().reason, "the size of the volume cannot be enforced: " + enforced.error().message +
                                                     ". A StorageClass with the parameter sizeEnforcement: BestEffort does without");
    // Made under another name: a directory that not everyone can write to yet is not the volume.
    const std::string fresh = data_in(folder) + ".new";
    CO_TRY_VOID(files_.create_directories(folder, 0700));
    CO_TRY_VOID(files_.create_directories(fresh, 0777));
    CO_TRY_VOID(files_.change_mode(fresh, 0777));
    co_return files_.rename(fresh, data_in(folder));
}

Task<> LocalVolumes::make_image(std::shared_ptr<const PersistentVolume> volume, std::string folder) {
    CO_TRY_VOID(files_.create_directories(folder, 0700));
    co_return co_await disks_->make(image_in(folder), size_of(*volume));
}

Task<bool> LocalVolumes::grow_unmounted(std::shared_ptr<const PersistentVolume> volume, std::string directory) {
    CO_TRY(const std::string folder, folder_of(*volume));
    if (!disks_ || disks_->grows_mounted() || files_.exists(directory) || !files_.exists(image_in(folder))) co_return false;
    for (Duration waited{}; waited < DeviceEnds; waited += 200ms) {
        CO_TRY(const bool in_use, disks_->in_use(image_in(folder)));
        if (!in_use) {
            CO_TRY_VOID(check_growth(*volume, folder));
            CO_TRY_VOID(co_await disks_->grow_unmounted(image_in(folder), size_of(*volume)));
            co_return true;
        }
        CO_TRY_VOID(co_await loop_.sleep(200ms));
    }
    co_return false;
}

Result<void> LocalVolumes::check_growth(const PersistentVolume& volume, const std::string& folder) {
    TRY(const FileStatus image, files_.link_status(image_in(folder)));
    return size_of(volume) > image.size ? check_room(size_of(volume) - image.size) : Result<void>();
}

Result<void> LocalVolumes::grow(const PersistentVolume& volume, const std::string& directory) {
    TRY(const std::string folder, folder_of(volume));
    if (!disks_) return Error(Reason::MethodNotAllowed, "volumes cannot grow while they are mounted on this node's operating system");
    if (!files_.exists(image_in(folder))) return {};  // a plain directory has no size
    if (!disks_->grows_mounted())
        return Error(Reason::MethodNotAllowed,
                     "this node's agent lacks CAP_SYS_RESOURCE; the volume grows when its pods are started again");
    TRY_VOID(check_growth(volume, folder));
    return disks_->grow(image_in(folder), directory, size_of(volume));
}

Task<> LocalVolumes::remove(std::shared_ptr<const PersistentVolume> volume) {
    CO_TRY(const std::string folder, folder_of(*volume));
    if (busy_.contains(folder)) co_return Error(Reason::Conflict, "the volume is being created or removed");
    if (disks_) {
        CO_TRY_VOID(disks_->end_unfinished(image_in(folder)));
        CO_TRY(const bool in_use, disks_->in_use(image_in(folder)));
        if (in_use) co_return Error(Reason::Conflict, "the volume is still mounted");
    }
    busy_.insert(folder);
    const auto removed = co_await run_blocking<void>(workers_, [&files = files_, folder] { return files.remove_all(folder); });
    busy_.erase(folder);
    co_return removed;
}

}  // namespace porthole::kubelet
