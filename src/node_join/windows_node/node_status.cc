#include "node_join/windows_node/node_status.h"

#include <algorithm>

#include "base/strings.h"
#include "base/values/ip.h"

namespace porthole::node_join {
namespace {

using schema::Value;
using winservice::ServiceState;

constexpr const char* SubnetFile = "C:\\run\\flannel\\subnet.env";
constexpr std::size_t LargestSubnetFile = 64 << 10;

const char* text_of(const std::optional<ServiceState>& state) {
    if (!state) return "not registered";
    switch (*state) {
        case ServiceState::Stopped:
            return "stopped";
        case ServiceState::Starting:
            return "starting";
        case ServiceState::Running:
            return "running";
        case ServiceState::Stopping:
            return "stopping";
    }
    return "";
}

std::string log_of(const NodeStatus::Service& service, const WindowsNode& node) { return node.log_folder + "\\" + service.name + ".log"; }

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size() + 1, width), ' ');
    return text;
}

/// What helps, a line for each thing that is not well.
std::vector<std::string> remedies(const NodeStatus& status, const WindowsNode& node) {
    std::vector<std::string> lines;
    if (std::ranges::any_of(status.services, [](const NodeStatus::Service& one) { return !one.state; }))
        lines.push_back(
            "services run in the background once they are registered: porthole.exe join, or porthole.exe register for a "
            "kubeconfig that is at " +
            node.kubeconfig());
    for (const NodeStatus::Service& one : status.services)
        if (one.state == ServiceState::Stopped)
            lines.push_back("start it: sc.exe start " + one.name + "; it ended because: " + log_of(one, node));
    if (!status.missing_network.empty())
        lines.push_back("flanneld makes the pod network: " + node.log_folder + "\\flanneld.log has the reason if it did not");
    if (!status.stale_files.empty()) lines.push_back("remove files of the earlier set-up: porthole.exe leave, then join again");
    if (status.readiness != "Ready") lines.push_back("its state in the cluster: kubectl describe node " + node.name);
    return lines;
}

/// FLANNEL_SUBNET of a subnet.env; nothing where it has none.
std::optional<IpPrefix> subnet_in(std::string_view text) {
    constexpr std::string_view Name = "FLANNEL_SUBNET=";
    const std::size_t start = text.find(Name);
    if (start == text.npos) return std::nullopt;
    std::string_view value = text.substr(start + Name.size());
    value = value.substr(0, value.find_first_of("\r\n"));
    const auto prefix = IpPrefix::parse(std::string(value));
    return prefix ? std::optional(*prefix) : std::nullopt;
}

}  // namespace

bool is_required_service(std::string_view name) { return name != "csi-proxy"; }

bool NodeStatus::is_well() const {
    return readiness == "Ready" && missing_network.empty() && stale_files.empty() &&
           std::ranges::all_of(services, [](const Service& one) { return one.state == ServiceState::Running; });
}

std::string to_text(const NodeStatus& status, const WindowsNode& node) {
    std::string text = "node      " + node.name + " " + status.readiness + "\nnetwork   " +
                       (status.missing_network.empty() ? node.network_name() + " is there" : "missing: " + status.missing_network) +
                       "\nadapters  " + status.adapters + "\n";
    if (!status.network_trouble.empty()) text += "last failure of the network's set-up:\n  " + status.network_trouble + "\n";
    for (const std::string& file : status.stale_files) text += "stale     " + file + "\n";
    text += "\n" + padded("SERVICE", 12) + padded("STATE", 16) + "LOG\n";
    for (const NodeStatus::Service& one : status.services)
        text += padded(one.name, 12) + padded(text_of(one.state), 16) + log_of(one, node) + "\n";
    const auto lines = remedies(status, node);
    if (!lines.empty()) text += "\n" + join(lines, "\n") + "\n";
    return text;
}

Value to_value(const NodeStatus& status, const WindowsNode& node) {
    Value services = Value::array(), stale = Value::array(), advice = Value::array();
    for (const NodeStatus::Service& one : status.services)
        services.as_array().push_back(Value::object({{"name", one.name}, {"state", text_of(one.state)}, {"log", log_of(one, node)}}));
    for (const std::string& file : status.stale_files) stale.as_array().push_back(file);
    for (const std::string& line : remedies(status, node)) advice.as_array().push_back(line);
    return Value::object({{"node", node.name},
                          {"status", status.readiness},
                          {"well", status.is_well()},
                          {"services", services},
                          {"network", Value::object({{"name", node.network_name()},
                                                     {"missing", status.missing_network},
                                                     {"lastFailure", status.network_trouble},
                                                     {"adapters", status.adapters}})},
                          {"staleFiles", stale},
                          {"remedies", advice}});
}

std::string last_network_trouble(std::string_view log) {
    const std::size_t made = log.rfind("pod network ready");
    if (made != log.npos) log.remove_prefix(made);
    std::size_t at = log.npos;
    for (const std::string_view told : {"Waiting for the Network to be created", "node network setup failed"}) {
        const std::size_t found = log.rfind(told);
        if (found != log.npos && (at == log.npos || found > at)) at = found;
    }
    if (at == log.npos) return "";
    const std::size_t start = log.rfind('\n', at);
    std::string_view line = log.substr(start == log.npos ? 0 : start + 1);
    return std::string(line.substr(0, line.find_first_of("\r\n")));
}

std::vector<std::string> script_files(const WindowsNode& node) {
    return {node.folder + "\\sourceVip.json", node.folder + "\\SourceVipRequest.json"};
}

std::vector<std::string> find_stale_files(FileSystem& files, const WindowsNode& node, const std::string& pod_range) {
    std::vector<std::string> found;
    for (const std::string& path : script_files(node))
        if (files.exists(path)) found.push_back(path);
    const auto range = IpPrefix::parse(pod_range);
    const auto text = files.read(SubnetFile, LargestSubnetFile);
    if (!range || !text) return found;
    const auto subnet = subnet_in(*text);
    if (subnet && !range->contains(subnet->base())) found.emplace_back(SubnetFile);
    return found;
}

}  // namespace porthole::node_join
