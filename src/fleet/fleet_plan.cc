#include "fleet/fleet_plan.h"

#include <charconv>

#include "base/result.h"
#include "base/version.h"
#include "kubelet/node/node_health.h"
#include "kubelet/node/node_object.h"
#include "objects/conditions.h"
#include "objects/declared_features.h"

namespace porthole::fleet {
namespace {

constexpr std::size_t LongestPrefix = 50;  // the label's value, and names with their number, have at most 63 characters

kubelet::HostFacts facts_of(bool windows) {
    kubelet::HostFacts facts;
    facts.operating_system = windows ? "windows" : "linux";
    facts.architecture = "amd64";
    facts.os_image = windows ? "Windows Server 2022 Datacenter (simulated)" : "Linux (simulated)";
    facts.kernel_version = windows ? "10.0.20348.2402" : "6.1.0";
    if (windows) facts.windows_build = "10.0.20348";
    return facts;
}

bool is_name_letter(char letter) { return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9'); }

}  // namespace

Result<FleetPlan> FleetPlan::create(FleetPlanOptions options) {
    const std::string& prefix = options.name_prefix;
    bool valid = !prefix.empty() && prefix.size() <= LongestPrefix && is_name_letter(prefix.front());
    for (const char letter : prefix) valid = valid && (is_name_letter(letter) || letter == '-');
    if (!valid)
        return Error(Reason::BadRequest, "\"" + prefix +
                                             "\" cannot begin the names of nodes; use lower-case letters, digits and '-', at most " +
                                             std::to_string(LongestPrefix));
    FleetPlan plan(std::move(options));
    if (plan.size() == 0) return Error(Reason::BadRequest, "a fleet has at least one node");
    const IpPrefix& range = plan.options_.addresses;
    const int free_bits = range.base().bits() - range.length();
    if (free_bits < 63 && plan.size() + 2 > std::size_t{1} << free_bits)
        return Error(Reason::BadRequest, range.to_string() + " has too few addresses for " + std::to_string(plan.size()) + " nodes");
    return plan;
}

std::optional<std::size_t> FleetPlan::find(std::string_view name) const {
    if (!name.starts_with(options_.name_prefix)) return std::nullopt;
    name.remove_prefix(options_.name_prefix.size());
    if (name.empty() || (name.size() > 1 && name.front() == '0')) return std::nullopt;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size() || number >= size()) return std::nullopt;
    return number;
}

std::string FleetPlan::address(std::size_t node) const { return options_.addresses.base().plus(node + 1).to_string(); }

std::string FleetPlan::label_value() const {
    std::string value = options_.name_prefix;
    while (value.ends_with('-')) value.pop_back();
    return value;
}

core::Node FleetPlan::object(std::size_t node, SystemTime now) const {
    const kubelet::HostFacts facts = facts_of(node >= options_.linux_nodes);
    kubelet::NodeIdentity identity;
    identity.name = name(node);
    identity.addresses = {address(node)};
    identity.labels = options_.labels;
    identity.labels[Label] = label_value();
    identity.taints = options_.taints;
    core::Node made = kubelet::new_node(identity, facts);
    core::NodeStatus& status = made.status;
    status.capacity = status.allocatable = options_.capacity;
    status.declared_features = objects::features_of_node(facts.operating_system);
    status.addresses = kubelet::node_addresses(identity);
    status.node_info.operating_system = facts.operating_system;
    status.node_info.architecture = facts.architecture;
    status.node_info.os_image = facts.os_image;
    status.node_info.kernel_version = facts.kernel_version;
    status.node_info.kubelet_version = KubernetesVersion;
    status.node_info.container_runtime_version = std::string("porthole-fleet://") + PortholeVersion;
    for (kubelet::HealthCondition& one : kubelet::health_conditions({})) {
        objects::set_condition(status.conditions, std::move(one.condition), Timestamp(now));
        status.conditions.back().last_heartbeat_time = Timestamp(now);
    }
    return made;
}

}  // namespace porthole::fleet
