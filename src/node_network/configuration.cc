#include "node_network/configuration.h"

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::cni {

namespace {

std::string listed(const std::vector<IpPrefix>& prefixes) {
    return join(prefixes, ", ", [](const IpPrefix& prefix) { return prefix.to_string(); });
}

}  // namespace

std::string cni_configuration(const NodeNetworkOptions& options, const std::vector<IpPrefix>& pod_prefixes, int mtu) {
    using schema::Value;
    Value ranges = Value::array();
    for (const IpPrefix& prefix : pod_prefixes) {
        ranges.as_array().push_back(Value::array({Value::object({{"subnet", prefix.to_string()}})}));
    }
    const Value ipam = Value::object({{"type", "host-local"},
                                      {"dataDir", options.ipam_dir},
                                      {"ranges", std::move(ranges)},
                                      {"routes", Value::array({Value::object({{"dst", "0.0.0.0/0"}})})}});
    const Value bridge = Value::object({{"type", "bridge"},
                                        {"bridge", options.bridge},
                                        {"isGateway", true},
                                        {"ipMasq", false},
                                        {"hairpinMode", true},
                                        {"mtu", mtu},
                                        {"ipam", ipam}});
    const Value portmap = Value::object({{"type", "portmap"}, {"capabilities", Value::object({{"portMappings", true}})}, {"snat", true}});
    return schema::to_pretty_json(
               Value::object({{"cniVersion", "0.4.0"}, {"name", "porthole"}, {"plugins", Value::array({bridge, portmap})}})) +
           "\n";
}

std::string masquerade_rules(const NodeNetworkOptions& options, const std::vector<IpPrefix>& pod_prefixes) {
    const std::string& table = options.nft_table;
    std::string text = "table ip " + table + "\ndelete table ip " + table + "\n";
    if (!options.masquerade || pod_prefixes.empty()) return text;
    std::vector<IpPrefix> inside = options.cluster_prefixes;
    inside.insert(inside.end(), options.service_prefixes.begin(), options.service_prefixes.end());
    return text + "table ip " + table + " {\n\tset pods {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\telements = { " +
           listed(pod_prefixes) + " }\n\t}\n\tset inside {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\tauto-merge\n\t\telements = { " +
           listed(inside) +
           " }\n\t}\n\tchain postrouting {\n\t\ttype nat hook postrouting priority 100; policy accept;\n"
           "\t\tip saddr @pods ip daddr != @inside fib daddr type != multicast masquerade fully-random\n\t}\n}\n";
}

}  // namespace porthole::cni
