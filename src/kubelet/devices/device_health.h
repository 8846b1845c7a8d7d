#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/core_v1.h"
#include "base/log.h"
#include "kubelet/devices/driver_plugins.h"

namespace porthole::kubelet {

/// What drivers say of the health of their devices, for the status of the pods that have them. https://kep.k8s.io/4680
///
/// Each driver that serves DRAResourceHealth is followed as long as it is registered. What it says holds for a time; then, or once the
/// driver is gone, the health is Unknown. Nothing is kept over a restart of the kubelet: drivers tell it again. Lives on `loop`.
class DeviceHealth {
public:
    /// `changed` is called with a driver's name.
    DeviceHealth(EventLoop& loop, const DriverPlugins& drivers, Logger log, std::function<void(const std::string& driver)> changed);

    /// Follows the drivers, until cancelled.
    Task<> run();
    /// Adds the health of its devices to each container that has a claim, up to 256 KiB for the pod.
    void add_to(const api::core::v1::Pod& pod, const PreparedClaims& claims, api::core::v1::PodStatus& status) const;

private:
    using Connection = std::shared_ptr<PluginConnection>;
    struct State {
        std::string health, message;
        Duration holds;
        MonotonicTime until;
    };
    using Devices = std::map<std::string, State>;  ///< by "pool/device"

    Task<> follow(std::string driver, Connection connection);
    void heard(const std::string& driver, const std::string& message);
    void forget(const std::string& driver);
    api::core::v1::ResourceHealth health_of(const std::string& driver, const PreparedDevice& device) const;
    /// Of the claim's devices for the request; ends early where no byte is `left`.
    std::vector<api::core::v1::ResourceHealth> healths_of(const PreparedClaim& claim, const std::string& request, std::size_t& left) const;

    EventLoop& loop_;
    const DriverPlugins& drivers_;
    Logger log_;
    std::function<void(const std::string& driver)> changed_;
    std::map<std::string, Connection> followed_;
    std::map<std::string, Devices> devices_;  ///< by driver
};

}  // namespace porthole::kubelet
