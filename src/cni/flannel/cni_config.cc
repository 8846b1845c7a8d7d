#include "cni/flannel/cni_config.h"

#include "schema/json/json.h"

namespace porthole::cni::flannel {

namespace {

using schema::Value;

Value endpoint_policy(const char* type, Value settings) {
    return Value::object({{"name", "EndpointPolicy"}, {"value", Value::object({{"Type", type}, {"Settings", std::move(settings)}})}});
}

Value encapsulated(const std::string& prefix) {
    return endpoint_policy("SDNRoute", Value::object({{"DestinationPrefix", prefix}, {"NeedEncap", true}}));
}

void add_exceptions(const Value& plugin, std::vector<std::string>& found) {
    const Value* policies = plugin.find("policies");
    if (!policies) policies = plugin.find("AdditionalArgs");
    if (!policies || !policies->is_array()) return;
    for (const Value& policy : policies->as_array()) {
        const Value* value = policy.find("value");
        if (!value) value = policy.find("Value");
        if (!value || value->string_at({"Type"}) != "OutBoundNAT") continue;
        const Value* list = value->at_path({"Settings", "Exceptions"});
        if (!list) list = value->find("ExceptionList");
        if (!list || !list->is_array()) continue;
        for (const Value& one : list->as_array())
            if (one.is_string()) found.push_back(one.as_string());
    }
}

}  // namespace

std::vector<std::string> nat_exceptions_of(std::string_view configuration) {
    std::vector<std::string> found;
    const auto read = schema::parse_json(configuration);
    if (!read || !read->is_object()) return found;
    add_exceptions(*read, found);
    if (const Value* plugins = read->find("plugins"); plugins && plugins->is_array())
        for (const Value& plugin : plugins->as_array()) add_exceptions(plugin, found);
    return found;
}

std::string windows_cni_configuration(const WindowsCniOptions& options) {
    const bool overlay = options.network.backend == Backend::Vxlan;
    Value exceptions = Value::array(), policies = Value::array();
    exceptions.as_array().push_back(options.network.network.to_string());
    for (const IpPrefix& prefix : options.service_prefixes) exceptions.as_array().push_back(prefix.to_string());
    if (!overlay) exceptions.as_array().push_back(options.management_network.to_string());
    policies.as_array().push_back(endpoint_policy("OutBoundNAT", Value::object({{"Exceptions", std::move(exceptions)}})));
    for (const IpPrefix& prefix : options.service_prefixes) policies.as_array().push_back(encapsulated(prefix.to_string()));
    if (!overlay) policies.as_array().push_back(encapsulated(options.management_address.to_string() + "/32"));

    const Value dns =
        Value::object({{"nameservers", Value::array({options.cluster_dns})}, {"search", Value::array({"svc." + options.cluster_domain})}});
    const Value ipam = Value::object({{"type", "host-local"}, {"subnet", options.subnet.to_string()}});
    return schema::to_pretty_json(Value::object({{"cniVersion", "1.0.0"},
                                                 {"name", options.network.name},
                                                 {"type", overlay ? "win-overlay" : "win-bridge"},
                                                 {"apiVersion", 2},
                                                 // A pod that a service leads back to itself.
                                                 {"loopbackDSR", true},
                                                 {"dns", dns},
                                                 {"policies", std::move(policies)},
                                                 {"capabilities", Value::object({{"portMappings", true}, {"dns", true}})},
                                                 {"ipam", ipam}})) +
           "\n";
}

}  // namespace porthole::cni::flannel
