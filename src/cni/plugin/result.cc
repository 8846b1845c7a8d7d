#include "cni/plugin/result.h"

#include "cni/plugin/request.h"

namespace porthole::cni {

using schema::Value;

namespace {

std::vector<std::string> strings(const Value& list) {
    std::vector<std::string> result;
    if (!list.is_array()) return result;
    for (const Value& item : list.as_array()) {
        if (item.is_string()) result.push_back(item.as_string());
    }
    return result;
}

Value array_of(const std::vector<std::string>& strings) {
    Value list = Value::array();
    for (const std::string& text : strings) list.as_array().push_back(text);
    return list;
}

std::string with_length(const CniResult::Ip& ip) { return ip.address.to_string() + "/" + std::to_string(ip.prefix_length); }

bool is_old(std::string_view version) { return version.empty() || version == "0.1.0" || version == "0.2.0"; }

Value route_value(const CniResult::Route& route) {
    Value value = Value::object({{"dst", route.destination.to_string()}});
    if (route.gateway) value["gw"] = route.gateway->to_string();
    return value;
}

Value old_form(const CniResult& result) {
    Value value = Value::object();
    for (const CniResult::Ip& ip : result.ips) {
        Value& family = value[ip.address.is_v4() ? "ip4" : "ip6"];
        if (!family.is_null()) continue;
        family["ip"] = with_length(ip);
        if (ip.gateway) family["gateway"] = ip.gateway->to_string();
        Value routes = Value::array();
        for (const CniResult::Route& route : result.routes) {
            if (route.destination.base().is_v4() == ip.address.is_v4()) routes.as_array().push_back(route_value(route));
        }
        if (!routes.as_array().empty()) family["routes"] = std::move(routes);
    }
    return value;
}

Value new_form(const CniResult& result, bool with_family) {
    Value value = Value::object();
    for (const CniResult::Interface& interface : result.interfaces) {
        Value& list = value["interfaces"];
        if (list.is_null()) list = Value::array();
        Value item = Value::object({{"name", interface.name}});
        if (!interface.mac.empty()) item["mac"] = interface.mac;
        if (!interface.sandbox.empty()) item["sandbox"] = interface.sandbox;
        list.as_array().push_back(std::move(item));
    }
    for (const CniResult::Ip& ip : result.ips) {
        Value& list = value["ips"];
        if (list.is_null()) list = Value::array();
        Value item = Value::object();
        if (with_family) item["version"] = ip.address.is_v4() ? "4" : "6";
        if (ip.interface) item["interface"] = *ip.interface;
        item["address"] = with_length(ip);
        if (ip.gateway) item["gateway"] = ip.gateway->to_string();
        list.as_array().push_back(std::move(item));
    }
    for (const CniResult::Route& route : result.routes) {
        Value& list = value["routes"];
        if (list.is_null()) list = Value::array();
        list.as_array().push_back(route_value(route));
    }
    return value;
}

Result<CniResult::Ip> read_ip(const Value& value, std::string_view address_name) {
    const std::string_view text = schema::at(value, address_name).string_or("");
    const std::size_t slash = text.find('/');
    CniResult::Ip ip;
    TRY(ip.address, IpAddress::parse(text.substr(0, slash)));
    TRY(const IpPrefix prefix, IpPrefix::parse(text));
    ip.prefix_length = prefix.length();
    if (const Value* gateway = value.find("gateway"); gateway && gateway->is_string() && !gateway->as_string().empty()) {
        TRY(ip.gateway, IpAddress::parse(gateway->as_string()));
    }
    if (const Value* interface = value.find("interface"); interface && interface->is_int() && interface->as_int() >= 0) {
        ip.interface = static_cast<std::size_t>(interface->as_int());
    }
    return ip;
}

Result<void> read_routes(const Value& list, std::vector<CniResult::Route>& into) {
    if (!list.is_array()) return {};
    for (const Value& item : list.as_array()) {
        CniResult::Route route;
        TRY(route.destination, IpPrefix::parse(item.string_at({"dst"})));
        if (const auto gateway = item.string_at({"gw"}); !gateway.empty()) {
            TRY(route.gateway, IpAddress::parse(gateway));
        }
        into.push_back(route);
    }
    return {};
}

}  // namespace

Dns read_dns(const Value& value) {
    return {.nameservers = strings(member(value, "nameservers")),
            .search = strings(member(value, "search")),
            .options = strings(member(value, "options")),
            .domain = std::string(member(value, "domain").string_or(""))};
}

Value to_value(const Dns& dns) {
    Value value = Value::object();
    if (!dns.nameservers.empty()) value["nameservers"] = array_of(dns.nameservers);
    if (!dns.domain.empty()) value["domain"] = dns.domain;
    if (!dns.search.empty()) value["search"] = array_of(dns.search);
    if (!dns.options.empty()) value["options"] = array_of(dns.options);
    return value;
}

Value to_value(const CniResult& result, std::string_view version) {
    Value value = is_old(version) ? old_form(result) : new_form(result, version.starts_with("0."));
    Value whole = Value::object({{"cniVersion", version.empty() ? std::string_view("0.1.0") : version}});
    for (auto& [key, member] : value.as_object()) whole[key] = std::move(member);
    whole["dns"] = to_value(result.dns);
    return whole;
}

Result<CniResult> read_result(const Value& value) {
    if (!value.is_object()) return Error(Reason::BadRequest, "a CNI result must be an object");
    CniResult result;
    for (const char* family : {"ip4", "ip6"}) {
        const Value* old = value.find(family);
        if (!old) continue;
        TRY(auto ip, read_ip(*old, "ip"));
        result.ips.push_back(ip);
        TRY_VOID(read_routes(schema::at(*old, "routes"), result.routes));
    }
    if (const Value* ips = value.find("ips"); ips && ips->is_array()) {
        for (const Value& item : ips->as_array()) {
            TRY(auto ip, read_ip(item, "address"));
            result.ips.push_back(ip);
        }
    }
    if (const Value* interfaces = value.find("interfaces"); interfaces && interfaces->is_array()) {
        for (const Value& item : interfaces->as_array()) {
            result.interfaces.push_back(
                {std::string(item.string_at({"name"})), std::string(item.string_at({"mac"})), std::string(item.string_at({"sandbox"}))});
        }
    }
    TRY_VOID(read_routes(schema::at(value, "routes"), result.routes));
    result.dns = read_dns(schema::at(value, "dns"));
    return result;
}

}  // namespace porthole::cni
