#include "cni/plugin/flannel/delegated_config.h"

#include "cni/plugin/errors.h"

namespace porthole::cni {

using schema::Value;

namespace {

Result<Value> read_delegate(const CniRequest& request) {
    const Value* given = request.config.find("delegate");
    if (!given || given->is_null()) return Value::object();
    if (!given->is_object()) return cni_error(CniCode::InvalidConfig, "'delegate' must be an object");
    if (const Value* type = given->find("type"); type && !type->is_string())
        return cni_error(CniCode::InvalidConfig, "'delegate' dictionary, if present, must have (string) 'type' field");
    if (given->string_at({"type"}) == "flannel")
        return cni_error(CniCode::InvalidConfig, "'delegate' has the type flannel: it would call itself forever");
    for (const char* name : {"name", "ipam"}) {
        if (given->find(name))
            return cni_error(CniCode::InvalidConfig, std::string("'delegate' must not have '") + name + "': flannel sets it");
    }
    return *given;
}

void set_default(Value& config, const char* name, Value value) {
    if (!config.find(name)) config[name] = std::move(value);
}

Value range_of(const IpPrefix& subnet) { return Value::array({Value::object({{"subnet", subnet.to_string()}})}); }

Value linux_ipam(Value ipam, const flannel::SubnetFile& subnet) {
    Value ranges = Value::array({range_of(subnet.subnet)});
    Value routes = schema::at(ipam, "routes").is_array() ? schema::at(ipam, "routes") : Value::array();
    routes.as_array().push_back(Value::object({{"dst", subnet.network.to_string()}}));
    if (subnet.subnet_v6 && subnet.network_v6) {
        ranges.as_array().push_back(range_of(*subnet.subnet_v6));
        routes.as_array().push_back(Value::object({{"dst", subnet.network_v6->to_string()}}));
    }
    ipam["ranges"] = std::move(ranges);
    ipam["routes"] = std::move(routes);
    return ipam;
}

void complete_for_linux(Value& config, const flannel::SubnetFile& subnet) {
    set_default(config, "type", "bridge");
    if (config.string_at({"type"}) == "bridge") set_default(config, "isGateway", true);
    set_default(config, "ipMasq", !subnet.ip_masq);  // not twice
    set_default(config, "mtu", subnet.mtu);
    config["ipam"] = linux_ipam(std::move(config["ipam"]), subnet);
}

/// There the daemon cannot translate addresses: the endpoint's policies do, and need to know what is exempt.
void complete_for_windows(Value& config, const flannel::SubnetFile& subnet) {
    set_default(config, "type", "win-bridge");
    set_default(config, "ipMasq", subnet.ip_masq);
    set_default(config, "ipMasqNetwork", subnet.network.to_string());
    config["ipam"]["subnet"] = subnet.subnet.to_string();
}

}  // namespace

Result<Value> delegated_config(const CniRequest& request, const flannel::SubnetFile& subnet, DelegateStyle style) {
    TRY(Value config, read_delegate(request));
    config["name"] = request.network;
    config["cniVersion"] = request.version;
    Value ipam = schema::at(request.config, "ipam").is_object() ? schema::at(request.config, "ipam") : Value::object();
    if (!ipam.find("type")) ipam["type"] = "host-local";
    config["ipam"] = std::move(ipam);
    for (const char* name : {"runtimeConfig", "args", "prevResult", "cni.dev/valid-attachments"}) {
        if (const Value* passed = request.config.find(name)) config[name] = *passed;
    }
    style == DelegateStyle::Windows ? complete_for_windows(config, subnet) : complete_for_linux(config, subnet);
    return config;
}

}  // namespace porthole::cni
