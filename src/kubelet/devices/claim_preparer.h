#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "api/resource_v1.h"
#include "base/log.h"
#include "client/client.h"
#include "kubelet/devices/driver_plugins.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

class DeviceHealth;

/// Calls drivers to prepare the claims of pods before their containers are created, and to release them when the last pod that uses them
/// has ended.
///
/// Claims are recorded in a file before a driver is called, so that they are released even if the agent or the machine restarts in between.
/// After a start drivers are called again for claims that they had prepared, because a reboot may have undone this. Steps of one claim
/// never overlap; those of different claims do. Lives on the kubelet's loop; all references outlive it.
class ClaimPreparer {
public:
    /// Reads `checkpoint`, if it exists; an unreadable one is kept as `checkpoint`.unreadable.
    ClaimPreparer(client::Client& client, FileSystem& files, DriverPlugins& drivers, Logger log, std::string checkpoint);

    /// Prepares all claims of the pod that are not prepared yet. Error: with upstream's message; to be retried.
    Task<> prepare(std::shared_ptr<const api::core::v1::Pod> pod);
    /// Called when the pod has ended. Error: a driver did not release something: to be retried.
    Task<> unprepare(std::string pod_uid);
    /// Pods that ended while no kubelet was there to see it.
    Task<> unprepare_stale(std::function<bool(const std::string& pod_uid)> is_known);

    /// CDI ids of the devices of each container that has any, by its name; in the order of its claims.
    std::map<std::string, std::vector<std::string>> cdi_ids(const api::core::v1::Pod& pod) const;
    const PreparedClaims& claims() const { return claims_; }
    /// What is known of the health of the devices; null: nothing.
    void set_health(const DeviceHealth* health) { health_ = health; }
    /// Adds it to the containers' statuses.
    void add_health(const api::core::v1::Pod& pod, api::core::v1::PodStatus& status) const;

private:
    using Claim = api::resource::v1::ResourceClaim;
    using Pod = std::shared_ptr<const api::core::v1::Pod>;

    bool is_prepared_for(const api::core::v1::Pod& pod) const;
    Task<std::vector<Claim>> read_claims(Pod pod);
    Result<void> begin(const api::core::v1::Pod& pod, const std::vector<Claim>& claims);
    Task<> ask_drivers(std::vector<std::string> claim_uids);
    Task<> release(std::string claim_uid, std::string pod_uid);
    Result<void> save();
    std::shared_ptr<Semaphore> lock_of(const std::string& claim_uid);

    client::Client& client_;
    FileSystem& files_;
    DriverPlugins& drivers_;
    Logger log_;
    std::string checkpoint_;
    const DeviceHealth* health_ = nullptr;
    PreparedClaims claims_;
    std::map<std::string, std::weak_ptr<Semaphore>> locks_;  ///< by the claim's uid
};

}  // namespace porthole::kubelet
