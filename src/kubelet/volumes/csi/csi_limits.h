#pragma once
#include "api/storage_v1.h"
#include "client/informers/informer.h"
#include "kubelet/volumes/csi/csi_drivers.h"

namespace porthole::kubelet {

/// The maximum number of a driver's volumes on a node may change at run time, because other devices use the same slots of the machine. Asks
/// the drivers whose CSIDriver has `nodeAllocatableUpdatePeriodSeconds` at that interval, and publishes the answers (KEP-4876). Lives on
/// the kubelet's loop; all references outlive it.
class CsiLimits {
public:
    using DriverObjects = client::Informer<api::storage::v1::CSIDriver>;
    CsiLimits(EventLoop& loop, CsiDrivers& drivers, DriverObjects& driver_objects, Logger log)
        : loop_(loop), drivers_(drivers), driver_objects_(driver_objects), log_(std::move(log)) {}

    /// Until cancelled.
    Task<> run();

private:
    /// nullopt if the driver is not asked.
    std::optional<Duration> period_of(const std::string& driver) const;
    /// Asks the drivers that are due; returns when to call it again.
    Task<Duration> refresh_due();

    EventLoop& loop_;
    CsiDrivers& drivers_;
    DriverObjects& driver_objects_;
    Logger log_;
    std::map<std::string, MonotonicTime> asked_;  ///< time of the last request, or when first seen
};

}  // namespace porthole::kubelet
