#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schema/value.h"
#include "winhost/runtime/pod_network.h"

namespace porthole::winhost {

/// A CNI network configuration: one plugin (*.conf) or a chain of plugins (*.conflist).
struct CniNetworkConfig {
    std::string name, version;
    std::vector<schema::Value> plugins;  ///< each with its `type`; at least one

    /// Error: BadRequest with what is missing.
    static Result<CniNetworkConfig> parse(const std::string& text);
    std::string type(std::size_t plugin) const;
};

/// The standard input of one plugin of the chain: the network's name and version, the pod's values for the capabilities that the plugin
/// declares, and the result of the previous plugins (null for the first).
std::string make_plugin_input(const CniNetworkConfig& network, std::size_t plugin, const PodAttachment& pod, const schema::Value& previous);

/// The environment of a call: CNI_COMMAND, CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME, CNI_PATH, CNI_ARGS.
std::vector<std::string> make_plugin_environment(const std::string& command, const PodAttachment& pod, const std::string& path);

/// The addresses and name servers of a result of any version. Error: Invalid.
Result<PodAddresses> read_plugin_result(const schema::Value& result);

/// The failure that a plugin has printed, with its own message.
std::string plugin_failure(const std::string& output, const std::string& errors, int exit_code);

}  // namespace porthole::winhost
