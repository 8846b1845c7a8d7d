#include "csi_proxy/groups.h"

namespace porthole::csi_proxy {
namespace {

using namespace api::csiproxy::v1;

class VolumeGroup {
public:
    VolumeGroup(GroupContext context, net::GrpcHandler& grpc) : context_(context), volumes_(context.host.volumes) {
        Methods methods(grpc, {"v1beta3"});
        methods.add(Volume::ListVolumesOnDisk, [this](auto request) { return list(std::move(request)); });
        methods.add(Volume::MountVolume, [this](auto request) { return mount(std::move(request)); });
        methods.add(Volume::UnmountVolume, [this](auto request) { return unmount(std::move(request)); });
        methods.add(Volume::IsVolumeFormatted, [this](auto request) { return is_formatted(std::move(request)); });
        methods.add(Volume::FormatVolume, [this](auto request) { return format(std::move(request)); });
        methods.add(Volume::ResizeVolume, [this](auto request) { return resize(std::move(request)); });
        methods.add(Volume::GetVolumeStats, [this](auto request) { return stats(std::move(request)); });
        methods.add(Volume::GetDiskNumberFromVolumeID, [this](auto request) { return disk_of(std::move(request)); });
        methods.add(Volume::GetVolumeIDFromTargetPath, [this](auto request) { return volume_at(std::move(request)); });
        methods.add(Volume::WriteVolumeCache, [this](auto request) { return flush(std::move(request)); });
    }

private:
    Result<void> check() const { return volumes_ ? Result<void>() : Result<void>(not_on_this_host("volumes")); }
    Result<void> check(const std::string& volume) const {
        TRY_VOID(check());
        return check_volume(volume);
    }
    /// Before a volume is changed or shown to pods.
    Task<> check_change(const std::string& volume, bool may_be_mounted) {
        CO_TRY_VOID(check(volume));
        CO_TRY(const HostUse use, co_await volumes_->use_of(volume));
        CO_TRY_VOID(check_use(use, context_.paths, "volume " + volume));
        if (!may_be_mounted && !use.paths.empty())
            co_return Error(Reason::Forbidden, "volume " + volume + " is mounted at " + use.paths.front());
        co_return {};
    }

    Task<ListVolumesOnDiskResponse> list(ListVolumesOnDiskRequest request) {
        CO_TRY_VOID(check());
        ListVolumesOnDiskResponse response;
        CO_TRY(response.volume_ids, co_await volumes_->list(request.disk_number, request.partition_number));
        co_return response;
    }
    /// The directory must be there and empty: Windows mounts nothing on others.
    Task<MountVolumeResponse> mount(MountVolumeRequest request) {
        CO_TRY_VOID(co_await check_change(request.volume_id, true));
        CO_TRY(const std::string path, context_.paths.check(request.target_path));
        CO_TRY(const bool there, co_await run_blocking<bool>(context_.pool, [&] { return context_.host.files.exists(path); }));
        if (!there) co_return Error(Reason::NotFound, "the directory to mount the volume at does not exist: " + path);
        CO_TRY_VOID(co_await volumes_->mount(request.volume_id, path));
        co_return MountVolumeResponse();
    }
    Task<UnmountVolumeResponse> unmount(UnmountVolumeRequest request) {
        CO_TRY_VOID(check(request.volume_id));
        CO_TRY(const std::string path, context_.paths.check(request.target_path));
        CO_TRY_VOID(co_await volumes_->unmount(request.volume_id, path));
        co_return UnmountVolumeResponse();
    }
    Task<IsVolumeFormattedResponse> is_formatted(IsVolumeFormattedRequest request) {
        CO_TRY_VOID(check(request.volume_id));
        IsVolumeFormattedResponse response;
        CO_TRY(response.formatted, co_await volumes_->is_formatted(request.volume_id));
        co_return response;
    }
    Task<FormatVolumeResponse> format(FormatVolumeRequest request) {
        CO_TRY_VOID(co_await check_change(request.volume_id, false));
        CO_TRY_VOID(co_await volumes_->format(request.volume_id));
        co_return FormatVolumeResponse();
    }
    Task<ResizeVolumeResponse> resize(ResizeVolumeRequest request) {
        CO_TRY_VOID(co_await check_change(request.volume_id, true));
        if (request.size_bytes < 0) co_return Error(Reason::BadRequest, "the size of a volume cannot be negative");
        CO_TRY_VOID(co_await volumes_->resize(request.volume_id, request.size_bytes));
        co_return ResizeVolumeResponse();
    }
    Task<GetVolumeStatsResponse> stats(GetVolumeStatsRequest request) {
        CO_TRY_VOID(check(request.volume_id));
        CO_TRY(const Volumes::Stats found, co_await volumes_->stats(request.volume_id));
        GetVolumeStatsResponse response;
        response.total_bytes = found.total;
        response.used_bytes = found.used;
        co_return response;
    }
    Task<GetDiskNumberFromVolumeIDResponse> disk_of(GetDiskNumberFromVolumeIDRequest request) {
        CO_TRY_VOID(check(request.volume_id));
        GetDiskNumberFromVolumeIDResponse response;
        CO_TRY(response.disk_number, co_await volumes_->disk_of(request.volume_id));
        co_return response;
    }
    Task<GetVolumeIDFromTargetPathResponse> volume_at(GetVolumeIDFromTargetPathRequest request) {
        CO_TRY_VOID(check());
        CO_TRY(const std::string path, context_.paths.check(request.target_path));
        GetVolumeIDFromTargetPathResponse response;
        CO_TRY(response.volume_id, co_await volumes_->volume_at(path));
        co_return response;
    }
    Task<WriteVolumeCacheResponse> flush(WriteVolumeCacheRequest request) {
        CO_TRY_VOID(check(request.volume_id));
        CO_TRY_VOID(co_await volumes_->flush(request.volume_id));
        co_return WriteVolumeCacheResponse();
    }

    GroupContext context_;
    Volumes* volumes_;
};

}  // namespace

Group make_volume_group(GroupContext context, net::GrpcHandler& grpc) { return std::make_shared<VolumeGroup>(context, grpc); }

}  // namespace porthole::csi_proxy
