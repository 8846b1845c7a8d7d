#pragma once
#include "api/storage_v1.h"
#include "client/informers/informer.h"
#include "kubelet/volumes/csi/csi_drivers.h"

namespace porthole::kubelet {

/// How many volumes of a driver a node can have may change while it runs, as other devices take places of the same machine. Asks the
/// drivers whose CSIDriver has `nodeAllocatableUpdatePeriodSeconds` that often, and publishes what they say (KEP-4876). Lives on the
/// kubelet's loop; all references outlive it.
class CsiLimits {
public:
    using DriverObjects = client::Informer<api::storage::v1::CSIDriver>;
    CsiLimits(EventLoop& loop, CsiDrivers& drivers, DriverObjects& driver_objects, Logger log)
        : loop_(loop), drivers_(drivers), driver_objects_(driver_objects), log_(std::move(log)) {}

    /// Until cancelled.
    Task<> run();

private:
    /// nullopt where the driver is not asked.
    std::optional<Duration> period_of(const std::string& driver) const;
    /// Asks those whose time has come; returns when to look again.
    Task<Duration> refresh_due();

    EventLoop& loop_;
    CsiDrivers& drivers_;
    DriverObjects& driver_objects_;
    Logger log_;
    std::map<std::string, MonotonicTime> asked_;  ///< or first seen
};

}  // namespace porthole::kubelet
