#include "winhost/host/cni_config.h"

#include "schema/json/json.h"

namespace porthole::winhost {
namespace {

using schema::Array;
using schema::Value;

Value strings(const std::vector<std::string>& texts) {
    Array array;
    for (const std::string& text : texts) array.emplace_back(text);
    return array;
}

Value port_mappings(const api::cri::v1::PodSandboxConfig& config) {
    using api::cri::v1::Protocol;
    Array mappings;
    for (const auto& mapping : config.port_mappings) {
        if (mapping.host_port <= 0) continue;
        const char* protocol = mapping.protocol == Protocol::Udp ? "udp" : mapping.protocol == Protocol::Sctp ? "sctp" : "tcp";
        Value one = Value::object({{"hostPort", mapping.host_port}, {"containerPort", mapping.container_port}, {"protocol", protocol}});
        if (!mapping.host_ip.empty()) one["hostIP"] = mapping.host_ip;
        mappings.push_back(std::move(one));
    }
    return mappings;
}

/// Capabilities by the conventions of CNI; others are not ours to fill.
Value runtime_config(const Value& plugin, const PodAttachment& pod) {
    const auto wants = [&](std::string_view name) {
        const Value* wanted = plugin.at_path({"capabilities", name});
        return wanted && wanted->bool_or(false);
    };
    Value config = Value::object();
    if (wants("portMappings")) {
        if (Value mappings = port_mappings(pod.config); !mappings.as_array().empty()) config["portMappings"] = std::move(mappings);
    }
    if (wants("dns") && pod.config.dns_config) {
        const auto& dns = *pod.config.dns_config;
        config["dns"] =
            Value::object({{"servers", strings(dns.servers)}, {"searches", strings(dns.searches)}, {"options", strings(dns.options)}});
    }
    return config;
}

}  // namespace

Result<CniNetworkConfig> CniNetworkConfig::parse(const std::string& text) {
    TRY(Value tree, schema::parse_json(text));
    CniNetworkConfig network{std::string(tree.string_at({"name"})), std::string(tree.string_at({"cniVersion"})), {}};
    if (network.version.empty()) network.version = "0.1.0";  // as the specification says
    if (const Value* plugins = tree.find("plugins")) {
        if (plugins->is_array()) network.plugins = plugins->as_array();
    } else {
        network.plugins.push_back(std::move(tree));
    }
    if (network.name.empty()) return Error(Reason::BadRequest, "the network configuration has no name");
    if (network.plugins.empty()) return Error(Reason::BadRequest, "the network configuration \"" + network.name + "\" has no plugins");
    for (std::size_t i = 0; i < network.plugins.size(); ++i)
        if (network.type(i).empty())
            return Error(Reason::BadRequest, "a plugin of the network configuration \"" + network.name + "\" has no type");
    return network;
}

std::string CniNetworkConfig::type(std::size_t plugin) const { return std::string(plugins[plugin].string_at({"type"})); }

std::string make_plugin_input(const CniNetworkConfig& network, std::size_t plugin, const PodAttachment& pod, const Value& previous) {
    Value input = network.plugins[plugin];
    Value added = runtime_config(input, pod);
    input.erase("capabilities");
    input["name"] = network.name;
    input["cniVersion"] = network.version;
    if (!added.as_object().empty()) input["runtimeConfig"] = std::move(added);
    if (!previous.is_null()) input["prevResult"] = previous;
    return schema::to_json(input);
}

std::vector<std::string> make_plugin_environment(const std::string& command, const PodAttachment& pod, const std::string& path) {
    std::string arguments = "IgnoreUnknown=1";
    if (pod.config.metadata) {
        const auto& metadata = *pod.config.metadata;
        arguments += ";K8S_POD_NAMESPACE=" + metadata.namespace_ + ";K8S_POD_NAME=" + metadata.name +
                     ";K8S_POD_INFRA_CONTAINER_ID=" + pod.sandbox_id + ";K8S_POD_UID=" + metadata.uid;
    }
    return {"CNI_COMMAND=" + command,
            "CNI_CONTAINERID=" + pod.sandbox_id,
            "CNI_NETNS=" + pod.namespace_id,
            "CNI_IFNAME=eth0",
            "CNI_PATH=" + path,
            "CNI_ARGS=" + arguments};
}

Result<PodAddresses> read_plugin_result(const Value& result) {
    PodAddresses addresses;
    const auto add = [&](std::string_view prefix) {
        if (!prefix.empty()) addresses.addresses.emplace_back(prefix.substr(0, prefix.find('/')));
    };
    if (const Value* ips = result.find("ips"); ips && ips->is_array()) {
        for (const Value& ip : ips->as_array()) add(ip.string_at({"address"}));
    } else {  // up to version 0.2.0
        add(result.string_at({"ip4", "ip"}));
        add(result.string_at({"ip6", "ip"}));
    }
    if (addresses.addresses.empty()) return Error(Reason::Invalid, "the network plugin did not assign an address to the pod");
    const auto take = [&](std::string_view key, std::vector<std::string>& into) {
        const Value* list = result.at_path({"dns", key});
        if (!list || !list->is_array()) return;
        for (const Value& text : list->as_array()) into.emplace_back(text.string_or(""));
    };
    take("nameservers", addresses.dns_servers);
    take("search", addresses.dns_searches);
    return addresses;
}

std::string plugin_failure(const std::string& output, const std::string& errors, int exit_code) {
    if (const auto document = schema::parse_json(output)) {
        std::string text(document->string_at({"msg"}));
        if (const auto details = document->string_at({"details"}); !details.empty()) text += "; " + std::string(details);
        if (!text.empty()) return text;
    }
    std::string text = errors.empty() ? output : errors;
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    return text.empty() ? "exit code " + std::to_string(exit_code) : text;
}

}  // namespace porthole::winhost
