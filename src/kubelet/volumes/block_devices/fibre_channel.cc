#include "kubelet/volumes/block_devices/fibre_channel.h"

#include <algorithm>

#include "base/strings.h"
#include "kubelet/volumes/block_devices/scsi_devices.h"

namespace porthole::kubelet {
namespace {

class FibreChannel final : public DeviceKind {
public:
    FibreChannel(EventLoop& loop, FileSystem& files, ProcessRunner& programs) : loop_(loop), files_(files), programs_(programs) {}
    const char* name() const override { return "fc"; }

    /// The names become parts of paths.
    Result<void> check(DeviceDetails details) override {
        for (const char* part : {"wwns", "wwids", "lun"})
            if (details[part].contains('/'))
                return Error(Reason::BadRequest, "\"" + details[part] + "\" is not valid as " + part + " of an fc volume");
        return {};
    }

    std::vector<std::string> find(DeviceDetails details) override { return find_devices(links_of(details), files_); }

    Task<std::string> attach(DeviceDetails details, std::map<std::string, std::string>) override {
        if (const std::string there = find_device(links_of(details), files_); !there.empty()) co_return there;
        look_for_new();
        for (int attempt = 0; attempt < 10 && links_of(details).empty(); ++attempt)
            CO_TRY_VOID(co_await loop_.sleep(std::chrono::seconds(1)));
        co_return co_await wait_for_device(links_of(details), "fc disk " + details["wwns"] + details["wwids"], loop_, files_);
    }

    Task<> detach(DeviceDetails details, std::vector<DeviceDetails>) override {
        co_return co_await remove_devices(links_of(details), files_, programs_);
    }

private:
    /// Paths of the unit by all adapters: the names that udev gives them end with target and unit, or are the disk's own.
    std::vector<std::string> links_of(DeviceDetails& details) {
        std::vector<std::string> links;
        const auto add = [&](const std::string& folder, auto is_meant) {
            for (const std::string& name : files_.list(folder).value_or(std::vector<std::string>()))
                if (is_meant(name)) links.push_back(folder + "/" + name);
        };
        for (const std::string& wwn : split_nonempty(details["wwns"], ',')) {
            const std::string end = "-fc-0x" + wwn + "-lun-" + details["lun"];
            add("/dev/disk/by-path", [&](const std::string& name) { return name.ends_with(end); });
        }
        for (std::string wwid : split_nonempty(details["wwids"], ',')) {
            std::ranges::replace(wwid, ' ', '_');  // as udev writes it
            add("/dev/disk/by-id", [&](const std::string& name) { return name == "scsi-" + wwid; });
        }
        return links;
    }

    /// Every adapter looks at all of its targets again. Some of them may not be for disks at all.
    void look_for_new() {
        for (const std::string& host : files_.list("/sys/class/scsi_host").value_or(std::vector<std::string>()))
            (void)files_.write("/sys/class/scsi_host/" + host + "/scan", "- - -", 0200);
    }

    EventLoop& loop_;
    FileSystem& files_;
    ProcessRunner& programs_;
};

}  // namespace

std::unique_ptr<DeviceKind> make_fibre_channel_devices(EventLoop& loop, FileSystem& files, ProcessRunner& programs) {
    return std::make_unique<FibreChannel>(loop, files, programs);
}

}  // namespace porthole::kubelet
