#include "kubelet/volumes/block_devices/scsi_devices.h"

#include "base/strings.h"
#include "kubelet/volumes/framework/programs.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

/// The multipath device that `device`, "sdb", is part of: "dm-0". "" for none.
std::string multipath_of(const std::string& device, FileSystem& files) {
    for (const std::string& name : files.list("/sys/block").value_or(std::vector<std::string>()))
        if (name.starts_with("dm-") && files.exists("/sys/block/" + name + "/slaves/" + device)) return name;
    return "";
}

}  // namespace

std::string find_device(const std::vector<std::string>& links, FileSystem& files) {
    for (const std::string& link : links) {
        const auto path = files.real_path(link);
        if (!path) continue;
        const std::string multipath = multipath_of(base_name(*path), files);
        return multipath.empty() ? *path : "/dev/" + multipath;
    }
    return "";
}

std::vector<std::string> find_devices(const std::vector<std::string>& links, FileSystem& files) {
    std::vector<std::string> devices;
    for (const std::string& link : links) {
        const auto path = files.real_path(link);
        if (!path) continue;
        devices.push_back(*path);
        if (const std::string multipath = multipath_of(base_name(*path), files); !multipath.empty()) devices.push_back("/dev/" + multipath);
    }
    return devices;
}

Task<std::string> wait_for_device(std::vector<std::string> links, std::string what, EventLoop& loop, FileSystem& files) {
    for (int attempt = 0; attempt < 10; ++attempt) {
        std::string device = find_device(links, files);
        if (!device.empty()) co_return device;
        CO_TRY_VOID(co_await loop.sleep(1s));
    }
    co_return Error(Reason::Timeout, "failed to get any path for " + what + ": none of " + join(links, ", ") + " is there after 10 s");
}

Task<> remove_devices(std::vector<std::string> links, FileSystem& files, ProcessRunner& programs) {
    std::vector<std::string> devices;
    for (const std::string& link : links)
        if (const auto path = files.real_path(link)) devices.push_back(base_name(*path));
    if (devices.empty()) co_return {};
    if (const std::string multipath = multipath_of(devices.front(), files); !multipath.empty())
        CO_TRY_VOID(co_await run_program({"multipath", "-f", "/dev/" + multipath}, {}, programs));
    for (const std::string& device : devices) {
        const auto removed = files.write("/sys/block/" + device + "/device/delete", "1", 0200);
        if (!removed && !is_not_found(removed)) co_return removed;
    }
    co_return {};
}

}  // namespace porthole::kubelet
