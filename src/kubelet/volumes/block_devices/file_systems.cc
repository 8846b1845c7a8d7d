#include "kubelet/volumes/block_devices/file_systems.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"

namespace porthole::kubelet {
namespace {

constexpr int NoContent = 2;    // blkid
constexpr int NotRepaired = 4;  // a bit of what fsck answers

Task<CommandOutput> identify(const std::string& device, ProcessRunner& programs) {
    return run_program({"blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", device}, {NoContent}, programs);
}

/// What is on a device: a file system's name, "" for nothing, or an error for partitions.
Task<std::string> content_of(std::string device, ProcessRunner& programs) {
    CO_TRY(CommandOutput found, co_await identify(device, programs));
    if (found.exit_code == NoContent) {
        // blkid says the same of a device that it could not read: only of one that can be read now it is believed, and asked again.
        CO_TRY_VOID(
            co_await run_program({"dd", "if=" + device, "of=/dev/null", "bs=1M", "count=1", "iflag=direct", "status=none"}, {}, programs));
        CO_TRY(found, co_await identify(device, programs));
    }
    if (found.exit_code == NoContent) co_return std::string();
    std::string type;
    bool has_partitions = false;
    for (const std::string_view line : split_views(found.output, '\n')) {
        if (line.starts_with("TYPE=")) type = line.substr(5);
        has_partitions |= line.starts_with("PTTYPE=");
    }
    if (type.empty() && has_partitions)
        co_return Error(Reason::BadRequest, "device " + device + " has a partition table, not a file system");
    co_return type;
}

/// A program that is absent, or that cannot check this file system, is no reason not to mount it.
Task<> check_and_repair(const std::string& device, ProcessRunner& programs) {
    const auto checked = co_await programs.run({.arguments = {"fsck", "-a", device}, .limit = std::chrono::minutes(10)});
    if (is_not_found(checked)) co_return {};
    if (!checked) co_return checked.error();
    if (checked->exit_code & NotRepaired)
        co_return Error(Reason::Io, "'fsck' found errors on device " + device + " but could not correct them: " + checked->output);
    co_return {};
}

std::vector<std::string> making(const DeviceMount& mount) {
    std::vector<std::string> words = {"mkfs." + mount.fs_type};
    if (mount.fs_type == "ext4" || mount.fs_type == "ext3") words.insert(words.end(), {"-F", "-m0"});
    words.push_back(mount.device);
    return words;
}

}  // namespace

bool is_file_system_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
    });
}

Task<> format_and_mount(DeviceMount mount, ProcessRunner& programs) {
    CO_TRY(const std::string content, co_await content_of(mount.device, programs));
    if (content.empty()) {
        if (mount.read_only)
            co_return Error(Reason::BadRequest,
                            "cannot mount unformatted disk " + mount.device + " as we are manipulating it in read-only mode");
        CO_TRY_VOID(co_await run_program(making(mount), {}, programs));
    } else if (content != mount.fs_type) {
        co_return Error(Reason::BadRequest, "failed to mount the volume as \"" + mount.fs_type + "\", it already contains " + content);
    } else if (!mount.read_only) {
        CO_TRY_VOID(co_await check_and_repair(mount.device, programs));
    }
    mount.options.push_back(mount.read_only ? "ro" : "rw");
    mount.options.push_back("defaults");
    co_return co_await run_mount({"-t", mount.fs_type, "-o", join(mount.options, ","), "--", mount.device, mount.target}, programs);
}

Task<> grow_to_device(DeviceMount mount, ProcessRunner& programs) {
    std::vector<std::string> words;
    if (mount.fs_type == "ext4" || mount.fs_type == "ext3" || mount.fs_type == "ext2") words = {"resize2fs", mount.device};
    if (mount.fs_type == "xfs") words = {"xfs_growfs", "-d", mount.target};
    if (mount.fs_type == "btrfs") words = {"btrfs", "filesystem", "resize", "max", mount.target};
    if (words.empty())
        co_return Error(Reason::MethodNotAllowed, "resize of format " + mount.fs_type + " is not supported for device " + mount.device +
                                                      " mounted at " + mount.target);
    CO_TRY_VOID(co_await run_program(std::move(words), {}, programs));
    co_return {};
}

}  // namespace porthole::kubelet
