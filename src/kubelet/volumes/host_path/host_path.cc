#include "kubelet/volumes/host_path/host_path.h"

#include "runtime/worker_pool.h"

namespace porthole::kubelet {
namespace {

using Type = core::HostPathType;

struct Expectation {
    const char* type;
    FileType file;
    const char* text;
};
constexpr Expectation Expectations[] = {
    {Type::Directory, FileType::Directory, "a directory"},
    {Type::DirectoryOrCreate, FileType::Directory, "a directory"},
    {Type::File, FileType::Regular, "a file"},
    {Type::FileOrCreate, FileType::Regular, "a file"},
    {Type::Socket, FileType::Socket, "a socket file"},
    {Type::CharDevice, FileType::CharacterDevice, "a character device"},
    {Type::BlockDevice, FileType::BlockDevice, "a block device"},
};

class HostPath final : public VolumePlugin {
public:
    explicit HostPath(const VolumeHost& host) : host_(host) {}
    const char* name() const override { return "kubernetes.io/host-path"; }
    bool supports(const core::Volume& volume) const override { return volume.host_path.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request) override {
        CO_TRY_VOID(co_await check_host_path(*request.volume.host_path, host_));
        co_return MountedVolume{request.volume.host_path->path};
    }

private:
    const VolumeHost& host_;
};

}  // namespace

Result<void> check_host_path(FileSystem& files, const std::string& path, const std::string& type) {
    if (type.empty()) return {};
    auto status = files.status(path);
    if (!status && type == Type::DirectoryOrCreate) {
        TRY_VOID(files.create_directories(path, 0755));
        status = files.status(path);
    } else if (!status && type == Type::FileOrCreate) {
        TRY_VOID(files.write(path, "", 0644));
        status = files.status(path);
    }
    for (const Expectation& expected : Expectations) {
        if (expected.type != type) continue;
        if (status && status->type == expected.file) return {};
        return Error(Reason::BadRequest, "hostPath type check failed: " + path + " is not " + expected.text);
    }
    return Error(Reason::BadRequest, type + " is an invalid volume type");
}

Task<> check_host_path(core::HostPathVolumeSource source, const VolumeHost& host) {
    const std::string type = source.type.value_or("");
    if (type.empty()) co_return {};
    co_return co_await run_blocking<void>(host.workers, [&] { return check_host_path(host.files, source.path, type); });
}

std::unique_ptr<VolumePlugin> make_host_path(const VolumeDependencies& given) { return std::make_unique<HostPath>(given.host); }

}  // namespace porthole::kubelet
