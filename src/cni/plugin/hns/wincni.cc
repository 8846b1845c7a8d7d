#include "cni/plugin/hns/wincni.h"

#include <algorithm>

#include "base/strings.h"
#include "cni/plugin/errors.h"
#include "cni/plugin/request.h"
#include "hns/hresult.h"

namespace porthole::cni {

using schema::Value;

namespace {

constexpr const char* Modes[] = {hcn::NetworkMode::L2Bridge, hcn::NetworkMode::L2Tunnel, hcn::NetworkMode::Nat,
                                 hcn::NetworkMode::Transparent, hcn::NetworkMode::Overlay};

Result<IpAddress> gateway_of(const Value& ipam, const IpPrefix& subnet) {
    const Value& routes = member(ipam, "routes");
    if (!routes.is_array() || routes.as_array().empty()) return subnet.base().plus(1);
    const std::string_view text = member(routes.as_array().front(), "GW").string_or("");
    if (text.empty()) return subnet.base().plus(1);
    auto gateway = IpAddress::parse(text);
    if (!gateway) return cni_error(CniCode::InvalidConfig, "ipam.routes: " + gateway.error().message);
    return *gateway;
}

}  // namespace

Result<hcn::HostComputeNetwork> plan_wincni_network(const CniRequest& request) {
    const auto mode = std::ranges::find_if(Modes, [&](const char* name) { return equal_ignoring_case(name, request.network); });
    if (mode == std::end(Modes)) {
        return cni_error(CniCode::InvalidConfig, "the name \"" + request.network +
                                                     "\" must be a type of HNS networks: l2bridge, l2tunnel, nat, transparent or overlay");
    }
    const Value& ipam = member(request.config, "ipam");
    auto subnet = IpPrefix::parse(member(ipam, "subnet").string_or(""));
    if (!subnet) return cni_error(CniCode::InvalidConfig, "ipam.subnet: " + subnet.error().message);
    TRY(const IpAddress gateway, gateway_of(ipam, *subnet));

    hcn::HostComputeNetwork network;
    network.name = request.network;
    network.type = *mode;
    network.owner = "porthole-cni";
    if (const std::string adapter(member(request.config, "master").string_or("")); !adapter.empty())
        network.policies.push_back(
            porthole::hns::make_policy("NetAdapterName", hcn::NetAdapterNameSettings{.network_adapter_name = adapter}));
    hcn::Subnet listed;
    listed.ip_address_prefix = subnet->to_string();
    listed.routes.push_back({.next_hop = gateway.to_string(), .destination_prefix = "0.0.0.0/0"});
    network.ipams.push_back({.type = hcn::IpamType::Static, .subnets = {std::move(listed)}});
    return network;
}

Task<hcn::HostComputeNetwork> WinCni::network(CniRequest request) {
    CO_TRY(std::optional<hcn::HostComputeNetwork> present, co_await client_.find<hcn::HostComputeNetwork>(request.network));
    if (present) co_return *std::move(present);
    if (request.command != "ADD") co_return cni_error(CniCode::TryAgainLater, "failed to find HNS network \"" + request.network + "\"");
    CO_TRY(hcn::HostComputeNetwork wanted, plan_wincni_network(request));
    auto created = co_await client_.create(std::move(wanted));
    if (!created && porthole::hns::is_hresult(created.error(), porthole::hns::Hresult::NetworkAlreadyExists)) {
        // Another pod's ADD was faster.
        CO_TRY(present, co_await client_.find<hcn::HostComputeNetwork>(request.network));
        if (present) co_return *std::move(present);
    }
    co_return created;
}

Result<WindowsNetConf> WinCni::configuration(const CniRequest& request) const {
    TRY(WindowsNetConf conf, read_windows_net_conf(request));
    conf.ipam_type.clear();
    const auto name = request.arguments.find("K8S_POD_NAMESPACE");
    if (name != request.arguments.end() && !conf.dns.search.empty()) {
        std::string suffix = name->second + ".";
        for (std::size_t i = 0; i < conf.dns.search.size(); ++i) suffix += (i ? "," : "") + conf.dns.search[i];
        conf.dns.domain = suffix;
        conf.dns.search = {suffix};
    }
    return conf;
}

}  // namespace porthole::cni
