#include "kubelet/volumes/csi/csi_stats.h"

#include "base/result.h"

namespace porthole::kubelet {
namespace {

namespace csi = api::csi::v1;

std::uint64_t positive(std::int64_t value) { return value < 0 ? 0 : static_cast<std::uint64_t>(value); }

}  // namespace

Task<CsiStats> ask_csi_stats(CsiDrivers& drivers, std::string driver, std::string handle, std::string path, Duration limit) {
    CO_TRY(const CsiCapabilities capabilities,
           co_await with_timeout(drivers.capabilities(driver), limit, "asking for the driver's capabilities"));
    if (!capabilities.stats) co_return Error(Reason::MethodNotAllowed, "the driver does not report statistics");
    csi::NodeGetVolumeStatsRequest request;
    request.volume_id = std::move(handle);
    request.volume_path = std::move(path);
    CO_TRY(const csi::NodeGetVolumeStatsResponse answer,
           co_await drivers.call(driver, csi::Node::NodeGetVolumeStats, std::move(request), limit));
    CsiStats stats;
    if (capabilities.condition) stats.condition = answer.volume_condition.value_or(csi::VolumeCondition());
    for (const csi::VolumeUsage& usage : answer.usage) {
        if (usage.unit == csi::VolumeUsageUnit::Bytes) {
            stats.file_system.capacity = positive(usage.total);
            stats.file_system.available = positive(usage.available);
            stats.used.bytes = positive(usage.used);
        } else if (usage.unit == csi::VolumeUsageUnit::Inodes) {
            stats.file_system.inodes = positive(usage.total);
            stats.file_system.inodes_free = positive(usage.available);
            stats.used.inodes = positive(usage.used);
        }
    }
    co_return stats;
}

}  // namespace porthole::kubelet
