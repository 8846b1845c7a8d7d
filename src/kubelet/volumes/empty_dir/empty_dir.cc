#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {
namespace {

/// A directory that lives as long as its pod; with medium Memory a tmpfs of at most sizeLimit (or the pod's memory limit).
class EmptyDir final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/empty-dir"; }
    bool supports(const core::Volume& volume) const override { return volume.empty_dir.has_value(); }

    Task<std::string> set_up(VolumeRequest request, VolumeServices& services) override {
        const core::EmptyDirVolumeSource& source = *request.volume.empty_dir;
        if (source.medium.starts_with("HugePages"))
            co_return Error(Reason::BadRequest, "emptyDir on huge pages is not supported by this kubelet");
        if (services.files.exists(request.directory + "/") && is_ready(request, services)) co_return request.directory;
        CO_TRY_VOID(services.files.create_directories(request.directory, 0777));
        if (source.medium == core::StorageMedium::Memory) {
            CO_TRY_VOID(services.mounter.mount_memory(request.directory, memory_size(request)));
            CO_TRY_VOID(services.files.change_mode(request.directory, 0777));
        }
        if (const auto group = request.fs_group()) CO_TRY_VOID(apply_fs_group(services.files, request.directory, *group, true));
        co_return request.directory;
    }

private:
    static bool is_ready(const VolumeRequest& request, VolumeServices& services) {
        if (request.volume.empty_dir->medium != core::StorageMedium::Memory) return true;
        const auto mounts = services.mounter.mounts_below(request.directory);
        return mounts && !mounts->empty();
    }

    static std::uint64_t memory_size(const VolumeRequest& request) {
        std::int64_t size = 0;
        if (request.volume.empty_dir->size_limit) size = request.volume.empty_dir->size_limit->value();
        const std::int64_t pod_limit = amount_of(objects::pod_limits(request.pod->spec), "memory").value();
        if (pod_limit > 0 && (size == 0 || pod_limit < size)) size = pod_limit;
        return static_cast<std::uint64_t>(size);
    }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_empty_dir() { return std::make_unique<EmptyDir>(); }

}  // namespace porthole::kubelet
