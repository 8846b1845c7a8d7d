#include <optional>

#include "base/strings.h"
#include "csi_proxy/groups.h"

namespace porthole::csi_proxy {
namespace {

using namespace api::csiproxy::v1;

/// "Integrated : Adapter 1 : Port 0 : Target 2 : LUN 3"; nullopt for what names no place on an adapter.
std::optional<DiskLocation> parse_location(std::string_view text) {
    DiskLocation location;
    for (const std::string_view part : split_views(text, ':')) {
        const std::string_view item = trim(part);
        const std::size_t blank = item.find(' ');
        if (blank == item.npos) continue;
        const std::string_view name = item.substr(0, blank), value = item.substr(blank + 1);
        if (name == "Adapter") location.adapter = value;
        if (name == "Target") location.target = value;
        if (name == "LUN") location.lun_id = value;
    }
    return location.lun_id.empty() ? std::nullopt : std::optional(location);
}

class DiskGroup {
public:
    DiskGroup(GroupContext context, net::GrpcHandler& grpc) : paths_(context.paths), disks_(context.host.disks) {
        Methods methods(grpc, {"v1beta3"});
        methods.add(Disk::ListDiskLocations, [this](auto) { return locations(); });
        methods.add(Disk::ListDiskIDs, [this](auto) { return ids(); });
        methods.add(Disk::PartitionDisk, [this](auto request) { return partition(std::move(request)); });
        methods.add(Disk::Rescan, [this](auto) { return rescan(); });
        methods.add(Disk::GetDiskStats, [this](auto request) { return size(std::move(request)); });
        methods.add(Disk::SetDiskState, [this](auto request) { return set_online(std::move(request)); });
        methods.add(Disk::GetDiskState, [this](auto request) { return is_online(std::move(request)); });
    }

private:
    Result<void> check() const { return disks_ ? Result<void>() : Result<void>(not_on_this_host("disks")); }
    Task<> check_change(DiskNumber disk) {
        CO_TRY_VOID(check());
        CO_TRY(const HostUse use, co_await disks_->use_of(disk));
        co_return check_use(use, paths_, "disk " + std::to_string(disk));
    }

    Task<ListDiskLocationsResponse> locations() {
        CO_TRY_VOID(check());
        CO_TRY(const auto disks, co_await disks_->list());
        ListDiskLocationsResponse response;
        for (const Disks::Disk& disk : disks) {
            auto location = parse_location(disk.location);
            if (!location) continue;
            auto& entry = response.disk_locations.emplace_back();
            entry.key = disk.number;
            entry.value = *std::move(location);
        }
        co_return response;
    }
    Task<ListDiskIDsResponse> ids() {
        CO_TRY_VOID(check());
        CO_TRY(const auto disks, co_await disks_->list());
        ListDiskIDsResponse response;
        for (const Disks::Disk& disk : disks) {
            auto& entry = response.disk_ids.emplace_back();
            entry.key = disk.number;
            entry.value.page83 = disk.unique_id;
            entry.value.serial_number = disk.serial_number;
        }
        co_return response;
    }
    Task<PartitionDiskResponse> partition(PartitionDiskRequest request) {
        CO_TRY_VOID(co_await check_change(request.disk_number));
        CO_TRY_VOID(co_await disks_->partition(request.disk_number));
        co_return PartitionDiskResponse();
    }
    Task<RescanResponse> rescan() {
        CO_TRY_VOID(check());
        CO_TRY_VOID(co_await disks_->rescan());
        co_return RescanResponse();
    }
    Task<GetDiskStatsResponse> size(GetDiskStatsRequest request) {
        CO_TRY_VOID(check());
        GetDiskStatsResponse response;
        CO_TRY(response.total_bytes, co_await disks_->size(request.disk_number));
        co_return response;
    }
    Task<SetDiskStateResponse> set_online(SetDiskStateRequest request) {
        CO_TRY_VOID(co_await check_change(request.disk_number));
        CO_TRY_VOID(co_await disks_->set_online(request.disk_number, request.is_online));
        co_return SetDiskStateResponse();
    }
    Task<GetDiskStateResponse> is_online(GetDiskStateRequest request) {
        CO_TRY_VOID(check());
        GetDiskStateResponse response;
        CO_TRY(response.is_online, co_await disks_->is_online(request.disk_number));
        co_return response;
    }

    const PathRules& paths_;
    Disks* disks_;
};

}  // namespace

Group make_disk_group(GroupContext context, net::GrpcHandler& grpc) { return std::make_shared<DiskGroup>(context, grpc); }

}  // namespace porthole::csi_proxy
