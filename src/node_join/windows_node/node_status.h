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

/// What there is of a Windows node on its machine, and what the cluster says of it.
struct NodeStatus {
    struct Service {
        std::string name;
        std::optional<winservice::ServiceState> state;  ///< nothing: it is not registered
    };
    std::vector<Service> services;
    std::string readiness;                 ///< "Ready", or what it is instead
    std::string missing_network;           ///< "" when the pod network is there
    std::string adapters;                  ///< of the machine
    std::string network_trouble;           ///< the last failure to make the pod network, as its log has it; "" once it was made
    std::vector<std::string> stale_files;  ///< of an earlier set-up

    bool is_well() const;
};

/// Whether a node lacks something that does not have the service `name`; a CSI proxy may be another's, or none.
bool is_required_service(std::string_view name);

/// For a person, with what to do about what is not well. `node` says where the logs are.
std::string to_text(const NodeStatus& status, const WindowsNode& node);
schema::Value to_value(const NodeStatus& status, const WindowsNode& node);

/// The last line of flanneld's log about a pod network that could not be made; "" when one was made after it.
std::string last_network_trouble(std::string_view log);

/// Files of earlier set-ups, with which a node that joins again has trouble: the source addresses of scripts for overlay networks, and a
/// subnet.env for another range than `pod_range` ("" where it is not known, and then subnet.env is not looked at).
std::vector<std::string> find_stale_files(FileSystem& files, const WindowsNode& node, const std::string& pod_range);
/// Those of scripts, which nothing of ours ever writes; leaving removes them with the rest.
std::vector<std::string> script_files(const WindowsNode& node);

}  // namespace porthole::node_join
