#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"
#include "base/values/ip.h"
#include "objects/pod_resources.h"
#include "runtime/event_loop.h"

namespace porthole::fleet {

namespace core = api::core::v1;

/// Which nodes a fleet has.
struct FleetPlanOptions {
    std::size_t linux_nodes = 0, windows_nodes = 0;
    std::string name_prefix = "fleet-";
    IpPrefix addresses;  ///< of the nodes: the first node has the first address after the base
    objects::ResourceList capacity;
    std::map<std::string, std::string> labels;  ///< in addition to those that a kubelet sets
    std::vector<core::Taint> taints;
};

/// The nodes of a fleet, by number from 0: "<prefix>0", "<prefix>1", …; Windows nodes come last. Keeps no data per node.
class FleetPlan {
public:
    /// Label of every node of a fleet; its value is the prefix of their names.
    static constexpr const char* Label = "porthole.dev/fleet";

    /// Error: BadRequest for a prefix that cannot begin a node's name, too few addresses, or no node.
    static Result<FleetPlan> create(FleetPlanOptions options);

    std::size_t size() const { return options_.linux_nodes + options_.windows_nodes; }
    std::string name(std::size_t node) const { return options_.name_prefix + std::to_string(node); }
    /// nullopt for nodes of other fleets.
    std::optional<std::size_t> find(std::string_view name) const;
    std::string address(std::size_t node) const;
    /// The node as it registers, with the status of a ready node. `now` is the time of its conditions.
    core::Node object(std::size_t node, SystemTime now) const;
    /// "porthole.dev/fleet=<prefix>": selects the nodes of this fleet.
    std::string selector() const { return std::string(Label) + "=" + label_value(); }
    std::string label_value() const;

private:
    explicit FleetPlan(FleetPlanOptions options) : options_(std::move(options)) {}

    FleetPlanOptions options_;
};

}  // namespace porthole::fleet
