#include "kubelet/volumes/nfs/nfs.h"

#include "base/strings.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/framework/programs.h"
#include "runtime/worker_pool.h"

namespace porthole::kubelet {
namespace {

class Nfs final : public VolumePlugin {
public:
    explicit Nfs(const VolumeHost& host) : host_(host) {}
    const char* name() const override { return "kubernetes.io/nfs"; }
    bool supports(const core::Volume& volume) const override { return volume.nfs.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request) override {
        co_return co_await set_up_nfs(*request.volume.nfs, {}, request.directory, host_);
    }

private:
    const VolumeHost& host_;
};

}  // namespace

Task<MountedVolume> set_up_nfs(core::NFSVolumeSource source, std::vector<std::string> mount_options, std::string directory,
                               const VolumeHost& host) {
    if (!host.programs) co_return Error(Reason::BadRequest, "NFS volumes are not supported on this node");
    MountedVolume mounted{.path = directory, .read_only = source.read_only, .is_remote = true};
    // Nothing else is asked of what is mounted: the answer may take as long as its server is away.
    CO_TRY(const auto mounts, host.mounter.mounts_below(directory));
    if (!mounts.empty()) co_return mounted;
    CO_TRY_VOID(host.files.create_directories(directory, 0750));
    if (source.read_only) mount_options.push_back("ro");
    std::vector<std::string> words = {"-t", "nfs"};
    if (!mount_options.empty()) words.insert(words.end(), {"-o", join(mount_options, ",")});
    // What follows "--" is no option, whatever it begins with.
    words.insert(words.end(), {"--", source.server + ":" + source.path, directory});
    const auto result = co_await run_mount(std::move(words), *host.programs);
    if (!result) {
        // What a mount that was cut off has done meanwhile is undone, which takes as long as its server is away; an empty directory that
        // stays is found by the next attempt.
        CO_TRY_VOID(co_await run_blocking<void>(host.workers, [&] { return host.mounter.unmount(directory); }));
        co_return result.error();
    }
    co_return mounted;
}

std::unique_ptr<VolumePlugin> make_nfs(const VolumeDependencies& given) { return std::make_unique<Nfs>(given.host); }

}  // namespace porthole::kubelet
