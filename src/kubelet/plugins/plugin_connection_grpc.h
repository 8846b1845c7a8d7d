#pragma once
#include "kubelet/plugins/plugin_connection.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::kubelet {

/// Real sockets; on `loop`, which outlives the connector and its connections.
std::unique_ptr<PluginConnector> make_plugin_connector(AsioLoop& loop);

}  // namespace porthole::kubelet
