#include "cmd/doctor/node/disk_encryption.h"

#include <sstream>

#include "base/result.h"
#include "cmd/doctor/node/node_evidence.h"

namespace porthole::cmd::doctor {
namespace {

constexpr int Deepest = 8;  // a partition on an array of partitions of encrypted disks has four

std::optional<bool> is_encrypted(FileSystem& files, const std::string& number, int depth) {
    const std::string folder = "/sys/dev/block/" + number;
    if (number.empty() || depth == Deepest || !files.status(folder)) return std::nullopt;
    const auto uuid = files.read(folder + "/dm/uuid");
    if (uuid && uuid->starts_with("CRYPT-")) return true;
    const auto parts = files.list(folder + "/slaves");
    if (!parts || parts->empty()) return false;
    for (const std::string& part : *parts) {
        auto device = files.read(folder + "/slaves/" + part + "/dev");
        if (!device) return std::nullopt;
        while (device->ends_with('\n')) device->pop_back();
        const auto found = is_encrypted(files, *device, depth + 1);
        if (!found || !*found) return found;
    }
    return true;
}

/// The number of the device whose file system has `path`: of the longest mount point above it, the last of several there.
std::string device_of(const std::string& mountinfo, const std::string& path) {
    std::string device;
    std::size_t longest = 0;
    std::istringstream lines(mountinfo);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string id, parent, number, root, point;
        if (!(fields >> id >> parent >> number >> root >> point) || point.size() < longest) continue;
        if (point != "/" && path != point && !path.starts_with(point + "/")) continue;
        longest = point.size();
        device = number;
    }
    return device;
}

}  // namespace

void look_at_encryption(FileSystem& files, const std::string& path, NodeEvidence& evidence) {
    evidence.volume = path;
    const auto mounts = files.read("/proc/self/mountinfo");
    if (mounts) evidence.volume_encrypted = is_encrypted_device(files, device_of(*mounts, path));
    evidence.encryption_unknown = mounts ? path + " is not on a block device" : mounts.error().message;
}

std::optional<bool> is_encrypted_device(FileSystem& files, const std::string& number) { return is_encrypted(files, number, 0); }

Task<> ask_bitlocker(ProcessRunner& processes, std::string volume, NodeEvidence& evidence) {
    evidence.volume = volume;
    // By its exit code, as its text is in the language of the host.
    const auto told = co_await processes.run(
        {.arguments = {"manage-bde.exe", "-status", volume, "-protectionaserrorlevel"}, .limit = std::chrono::seconds(20)});
    if (is_cancelled(told)) co_return told.error();
    if (!told) {
        evidence.encryption_unknown = "manage-bde.exe, which is part of BitLocker, cannot be asked: " + told.error().message;
    } else if (told->exit_code == 0 || told->exit_code == 1) {
        evidence.volume_encrypted = told->exit_code == 0;
    } else {
        evidence.encryption_unknown = "manage-bde.exe ended with " + std::to_string(told->exit_code) + ": it needs an administrator";
    }
    co_return {};
}

}  // namespace porthole::cmd::doctor
