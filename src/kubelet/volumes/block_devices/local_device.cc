#include "kubelet/volumes/block_devices/local_device.h"

namespace porthole::kubelet {
namespace {

class LocalDevice final : public DeviceKind {
public:
    explicit LocalDevice(FileSystem& files) : files_(files) {}
    const char* name() const override { return "local-volume"; }

    std::vector<std::string> find(DeviceDetails details) override { return {details["path"]}; }

    Task<std::string> attach(DeviceDetails details, std::map<std::string, std::string>) override {
        CO_TRY(const FileStatus status, files_.status(details["path"]));
        if (status.type != FileType::BlockDevice) co_return Error(Reason::BadRequest, details["path"] + " is not a block device");
        co_return files_.real_path(details["path"]);
    }

    Task<> detach(DeviceDetails, std::vector<DeviceDetails>) override { co_return {}; }

private:
    FileSystem& files_;
};

}  // namespace

std::unique_ptr<DeviceKind> make_local_devices(FileSystem& files) { return std::make_unique<LocalDevice>(files); }

}  // namespace porthole::kubelet
