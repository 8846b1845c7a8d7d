#include "kubelet/pod/resources.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {
namespace {

constexpr std::string_view HugePages = "hugepages-";

bool is_huge_pages(const core::EmptyDirVolumeSource& source) { return source.medium.starts_with(core::StorageMedium::HugePages); }

std::int64_t memory_of(const ResourceList& resources) { return amount_of(resources, "memory").value(); }

/// The smallest of what the node can give to pods, the pod's limit and the volume's; 0 where none is known.
std::uint64_t memory_size(const VolumeRequest& request) {
    std::int64_t size = memory_of(request.node_allocatable);
    const auto lower = [&size](std::int64_t limit) {
        if (limit > 0 && (size <= 0 || limit < size)) size = limit;
    };
    lower(memory_of(enforced_limits(request.pod->spec)));
    if (const auto& limit = request.volume.empty_dir->size_limit) lower(limit->value());
    return static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0));
}

/// Of the pages that the volume's files are made of: those that the medium names, or that all containers of the pod ask for.
Result<Quantity> page_size(const VolumeRequest& request) {
    const std::string& medium = request.volume.empty_dir->medium;
    std::optional<Quantity> named, found;
    if (medium != core::StorageMedium::HugePages) {
        TRY(named, Quantity::parse(medium.substr(HugePages.size())));
    }
    for (const auto* list : {&request.pod->spec.containers, &request.pod->spec.init_containers}) {
        for (const core::Container& container : *list) {
            for (const auto& [name, amount] : container.resources.requests) {
                if (!name.starts_with(HugePages)) continue;
                TRY(const Quantity size, Quantity::parse(name.substr(HugePages.size())));
                if (named && size != *named) continue;
                if (found && size != *found)
                    return Error(Reason::BadRequest, "medium: " + medium + " can't be used if container requests multiple huge page sizes");
                found = size;
            }
        }
    }
    if (!found)
        return Error(Reason::BadRequest,
                     "medium " + medium + ": hugePages storage requested, but there is no resource request for huge pages");
    return *found;
}

/// A directory that lives as long as its pod: on the node's disk, in memory, or in huge pages.
class EmptyDir final : public VolumePlugin {
public:
    explicit EmptyDir(const VolumeHost& host) : host_(host) {}
    const char* name() const override { return "kubernetes.io/empty-dir"; }
    bool supports(const core::Volume& volume) const override { return volume.empty_dir.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request) override {
        CO_TRY(const bool there, is_there(request));
        // Not again: since then the containers' own changes of its group and mode count.
        if (there && request.is_ready(host_.files)) co_return MountedVolume{.path = request.directory, .relabel = true};
        CO_TRY_VOID(host_.files.create_directories(request.directory, 0777));
        CO_TRY_VOID(mount(request));
        CO_TRY_VOID(co_await apply_fs_group(request.directory, request.pod, host_));
        CO_TRY_VOID(request.set_ready(host_.files));
        co_return MountedVolume{.path = request.directory, .relabel = true};
    }

private:
    static bool is_on_disk(const core::EmptyDirVolumeSource& source) {
        return source.medium != core::StorageMedium::Memory && !is_huge_pages(source);
    }

    /// What is in memory ends with the node's.
    Result<bool> is_there(const VolumeRequest& request) const {
        if (is_on_disk(*request.volume.empty_dir)) return host_.files.exists(request.directory);
        TRY(const auto mounts, host_.mounter.mounts_below(request.directory));
        return !mounts.empty();
    }

    Result<void> mount(const VolumeRequest& request) const {
        const core::EmptyDirVolumeSource& source = *request.volume.empty_dir;
        if (source.medium == core::StorageMedium::Memory) return host_.mounter.mount_memory(request.directory, memory_size(request));
        if (!is_huge_pages(source)) return {};
        TRY(const Quantity size, page_size(request));
        TRY_VOID(host_.mounter.mount_huge_pages(request.directory, static_cast<std::uint64_t>(size.value())));
        return host_.files.change_mode(request.directory, 0777);
    }

    const VolumeHost& host_;
};

}  // namespace

std::unique_ptr<VolumePlugin> make_empty_dir(const VolumeDependencies& given) { return std::make_unique<EmptyDir>(given.host); }

}  // namespace porthole::kubelet
