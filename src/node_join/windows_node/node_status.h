#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node_join/windows_node/node_plan.h"
#include "runtime/files/file_system.h"
#include "schema/value.h"
#include "winservice/service_manager.h"

namespace porthole::node_join {

/// The state of a Windows node on its machine, and in the cluster.
struct NodeStatus {
    struct Service {
        std::string name;
        std::optional<winservice::ServiceState> state;  ///< nullopt: not registered
    };
    std::vector<Service> services;
    std::string readiness;                 ///< "Ready", or its state instead
    std::string missing_network;           ///< "" if the pod network exists
    std::string adapters;                  ///< of the machine
    std::string network_trouble;           ///< the last failure to create the pod network, from its log; "" once it was created
    std::vector<std::string> stale_files;  ///< of an earlier set-up

    bool is_well() const;
};

/// Whether a node lacks something that does not have the service `name`; a CSI proxy may be another's, or none.
bool is_required_service(std::string_view name);

/// For people, with remedies. `node` has the directory of the logs.
std::string to_text(const NodeStatus& status, const WindowsNode& node);
schema::Value to_value(const NodeStatus& status, const WindowsNode& node);

/// The last line of flanneld's log about a pod network that could not be created; "" if one was created after it.
std::string last_network_trouble(std::string_view log);

/// Files of earlier set-ups that disturb a node that joins again: the source addresses of scripts for overlay networks, and a subnet.env
/// for another range than `pod_range` ("" if unknown; then subnet.env is not checked).
std::vector<std::string> find_stale_files(FileSystem& files, const WindowsNode& node, const std::string& pod_range);
/// Files of such scripts, which Porthole never writes; leaving removes them with the rest.
std::vector<std::string> script_files(const WindowsNode& node);

}  // namespace porthole::node_join
