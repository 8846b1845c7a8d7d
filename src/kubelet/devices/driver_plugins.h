#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/dra_v1.h"
#include "base/log.h"
#include "client/client.h"
#include "kubelet/devices/prepared_claims.h"
#include "kubelet/plugins/plugin_registry.h"

namespace porthole::kubelet {

/// A claim as passed to drivers.
struct ClaimName {
    std::string namespace_, name, uid;
};

/// The device drivers on this node, which prepare and release claims. If there are several instances of one driver, as during its
/// replacement, the one that registered last is used. The ResourceSlices of a driver that has been absent for 30 s are deleted; after a
/// start those of all drivers, which publish them again when they return. Lives on `loop`; all references outlive it.
class DriverPlugins final : public PluginHandler {
public:
    static constexpr const char* Type = "DRAPlugin";

    DriverPlugins(EventLoop& loop, client::Client& client, PluginConnector& connector, Logger log, std::string node_name);

    Task<> add_plugin(PluginInfo info) override;
    Task<> remove_plugin(PluginInfo info) override;
    /// Deletes slices, until cancelled.
    Task<> run();

    /// The instance in use of each driver.
    std::map<std::string, std::shared_ptr<PluginConnection>> connections() const;
    /// Error: NotFound, "DRA driver x is not registered".
    Result<void> check_registered(const std::string& driver) const;
    /// The devices of each claim, by uid. Error: why one is not prepared; or NotFound and as PluginConnection::call().
    Task<std::map<std::string, std::vector<PreparedDevice>>> prepare(std::string driver, std::vector<ClaimName> claims);
    Task<> unprepare(std::string driver, std::vector<ClaimName> claims);

private:
    struct Instance {
        PluginInfo info;
        std::string service;  ///< "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
        std::shared_ptr<PluginConnection> connection;
    };
    Result<const Instance*> find(const std::string& driver) const;
    Task<> remove_slices(std::string driver);

    EventLoop& loop_;
    client::Client& client_;
    PluginConnector& connector_;
    Logger log_;
    std::string node_name_;
    std::map<std::string, std::vector<Instance>> drivers_;  ///< the instance in use is last
    std::map<std::string, MonotonicTime> gone_since_;       ///< drivers whose slices will be deleted; "" for all
    Event changed_;
};

}  // namespace porthole::kubelet
