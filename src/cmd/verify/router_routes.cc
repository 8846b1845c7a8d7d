#include "cmd/verify/router_routes.h"

#include <algorithm>
#include <map>

#include "base/values/ip.h"
#include "schema/json/json.h"

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

}  // namespace

Result<std::string> router_routes(const std::vector<core::Node>& nodes, const std::string& format) {
    if (format != "ip" && format != "powershell" && format != "csv" && format != "json")
        return Error(Reason::BadRequest, "--format " + format + ": there are ip, powershell, csv and json");
    TRY(const auto routes, routes_of(nodes));
    using schema::Value;
    std::string text = format == "csv" ? "node,range,via\n" : "";
    Value list = Value::array();
    for (const RouterRoute& route : routes) {
        if (format == "ip") text += "ip route replace " + route.range + " via " + route.via + "\n";
        if (format == "powershell")
            text += "New-NetRoute -DestinationPrefix " + route.range + " -NextHop " + route.via + " -InterfaceAlias Ethernet\n";
        if (format == "csv") text += route.node + "," + route.range + "," + route.via + "\n";
        list.as_array().push_back(Value::object({{"node", route.node}, {"range", route.range}, {"via", route.via}}));
    }
    return format == "json" ? schema::to_pretty_json(list) + "\n" : text;
}

}  // namespace porthole::cmd::verify
