#include "cmd/verify/router_routes.h"

#include <algorithm>
#include <map>

#include "base/values/ip.h"
#include "schema/json/json.h"
#include "schema/yaml/yaml.h"

namespace porthole::cmd::verify {

namespace {

namespace core = api::core::v1;

struct RouterRoute {
    std::string node, range, via;
};

Result<std::vector<RouterRoute>> routes_of(const std::vector<core::Node>& nodes) {
    std::map<std::string, std::vector<RouterRoute>> by_name;
    for (const core::Node& node : nodes) {
        std::string address;
        for (const auto& each : node.status.addresses) {
            const auto parsed = IpAddress::parse(each.address);
            if (address.empty() && each.type == "InternalIP" && parsed && parsed->is_v4()) address = each.address;
        }
        std::vector<std::string> ranges = node.spec.pod_cidrs;
        if (ranges.empty() && !node.spec.pod_cidr.empty()) ranges = {node.spec.pod_cidr};
        if (ranges.empty() || address.empty())
            return Error(Reason::NotFound,
                         "node " + node.metadata.name + " has no " + (address.empty() ? "address" : "pod range") + " yet");
        for (const std::string& range : ranges) {
            const auto prefix = IpPrefix::parse(range);
            if (prefix && prefix->base().is_v4()) by_name[node.metadata.name].push_back({node.metadata.name, range, address});
        }
    }
    std::vector<RouterRoute> all;
    for (auto& [name, routes] : by_name) all.insert(all.end(), routes.begin(), routes.end());
    return all;
}

/// A route is only added where it is not there yet, so that the script can be run again.
std::string powershell_route(const std::string& range, const std::string& via) {
    return "if (-not (Get-NetRoute -DestinationPrefix " + range + " -NextHop " + via +
           " -ErrorAction SilentlyContinue)) { New-NetRoute -DestinationPrefix " + range + " -NextHop " + via +
           " -InterfaceAlias $InterfaceAlias }\n";
}

/// On Windows the control plane is reached by a route of its own, whatever the pod network does to the others: through the gateway that
/// leads to it now. There is none to add where it is on the same link.
std::string powershell_start(const std::string& control_plane) {
    std::string text = "$InterfaceAlias = 'Ethernet'\n";
    if (control_plane.empty()) return text;
    return text + "$way = Find-NetRoute -RemoteIPAddress " + control_plane +
           " | Where-Object NextHop | Select-Object -First 1\nif ($way.NextHop -ne '0.0.0.0' -and -not (Get-NetRoute -DestinationPrefix " +
           control_plane + "/32 -ErrorAction SilentlyContinue)) { New-NetRoute -DestinationPrefix " + control_plane +
           "/32 -NextHop $way.NextHop -InterfaceIndex $way.InterfaceIndex }\n";
}

}  // namespace

Result<std::string> router_routes(const std::vector<core::Node>& nodes, const std::string& format, const std::string& control_plane) {
    if (format != "ip" && format != "powershell" && format != "csv" && format != "json" && format != "yaml")
        return Error(Reason::BadRequest, "--format " + format + ": there are ip, powershell, csv, json and yaml");
    TRY(const auto routes, routes_of(nodes));
    using schema::Value;
    std::string text = format == "csv" ? "node,range,via\n" : format == "powershell" ? powershell_start(control_plane) : "";
    Value list = Value::array();
    for (const RouterRoute& route : routes) {
        if (format == "ip") text += "ip route replace " + route.range + " via " + route.via + "\n";
        if (format == "powershell") text += powershell_route(route.range, route.via);
        if (format == "csv") text += route.node + "," + route.range + "," + route.via + "\n";
        list.as_array().push_back(Value::object({{"node", route.node}, {"range", route.range}, {"via", route.via}}));
    }
    if (format == "yaml") return schema::to_yaml(list);
    return format == "json" ? schema::to_pretty_json(list) + "\n" : text;
}

}  // namespace porthole::cmd::verify
