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
    DiskGroup(GroupContext context, net::GrpcHandler& grpc) : disks_(context.host.disks) {
        Methods methods(grpc, {"v1beta3"});
        methods.add(Disk::ListDiskLocations, [this](auto) { return locations(); });
        methods.add(Disk::ListDiskIDs, [this](auto) { return ids(); });
        methods.add(Disk::PartitionDisk, [this](auto request) { return partition(std::move(request)); });
        methods.add(Disk::Rescan, [this](auto) { return rescan(); });
        methods.add(Disk::DiskStats, [this](auto request) { return size(std::move(request)); });
        methods.add(Disk::SetAttachState, [this](auto request) { return set_online(std::move(request)); });
        methods.add(Disk::GetAttachState, [this](auto request) { return is_online(std::move(request)); });
    }

private:
    Result<void> check() const { return disks_ ? Result<void>() : Result<void>(not_on_this_host("disks")); }
    Result<DiskNumber> checked(const std::string& id) const {
        TRY_VOID(check());
        return parse_disk(id);
    }

    Task<ListDiskLocationsResponse> locations() {
        CO_TRY_VOID(check());
        CO_TRY(const auto disks, co_await disks_->list());
        ListDiskLocationsResponse response;
        for (const Disks::Disk& disk : disks)
            if (auto location = parse_location(disk.location)) response.disk_locations[std::to_string(disk.number)] = *std::move(location);
        co_return response;
    }
    Task<ListDiskIDsResponse> ids() {
        CO_TRY_VOID(check());
        CO_TRY(const auto disks, co_await disks_->list());
        ListDiskIDsResponse response;
        for (const Disks::Disk& disk : disks) {
            auto& identifiers = response.disk_ids[std::to_string(disk.number)].identifiers;
            if (!disk.unique_id.empty()) identifiers["page83"] = disk.unique_id;
            if (!disk.serial_number.empty()) identifiers["serialNumber"] = disk.serial_number;
        }
        co_return response;
    }
    Task<PartitionDiskResponse> partition(PartitionDiskRequest request) {
        CO_TRY(const DiskNumber disk, checked(request.disk_id));
        CO_TRY_VOID(co_await disks_->partition(disk));
        co_return PartitionDiskResponse();
    }
    Task<RescanResponse> rescan() {
        CO_TRY_VOID(check());
        CO_TRY_VOID(co_await disks_->rescan());
        co_return RescanResponse();
    }
    Task<DiskStatsResponse> size(DiskStatsRequest request) {
        CO_TRY(const DiskNumber disk, checked(request.disk_id));
        DiskStatsResponse response;
        CO_TRY(response.disk_size, co_await disks_->size(disk));
        co_return response;
    }
    Task<SetAttachStateResponse> set_online(SetAttachStateRequest request) {
        CO_TRY(const DiskNumber disk, checked(request.disk_id));
        CO_TRY_VOID(co_await disks_->set_online(disk, request.is_online));
        co_return SetAttachStateResponse();
    }
    Task<GetAttachStateResponse> is_online(GetAttachStateRequest request) {
        CO_TRY(const DiskNumber disk, checked(request.disk_id));
        GetAttachStateResponse response;
        CO_TRY(response.is_online, co_await disks_->is_online(disk));
        co_return response;
    }

    Disks* disks_;
};

}  // namespace

Group make_disk_group(GroupContext context, net::GrpcHandler& grpc) { return std::make_shared<DiskGroup>(context, grpc); }

}  // namespace porthole::csi_proxy
