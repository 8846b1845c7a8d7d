#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "kubelet/device_plugins/device_plugins.h"
#include "kubelet/devices/claim_preparer.h"
#include "kubelet/plugins/plugin_connection.h"

namespace porthole::kubelet {

/// Tells monitors on the node, such as exporters of metrics of GPUs, which containers have which devices. Root alone may
/// open the socket. Lives on the kubelet's loop; all references outlive it.
class PodResourcesServer {
public:
    struct Services {
        FileSystem& files;
        PluginConnector& connector;
        Logger log;
        const DevicePlugins& plugins;
        const ClaimPreparer& claims;
        std::function<std::vector<std::shared_ptr<const api::core::v1::Pod>>()> pods;  ///< that are active
    };
    PodResourcesServer(Services services, std::string directory) : services_(std::move(services)), directory_(std::move(directory)) {}

    /// Serves `directory`/kubelet.sock until cancelled. Where there can be no socket it only waits.
    Task<> run();

private:
    std::map<std::string, PluginMethod> methods();

    Services services_;
    std::string directory_;
};

}  // namespace porthole::kubelet
