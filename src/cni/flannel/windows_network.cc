#include "cni/flannel/windows_network.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/result.h"
#include "base/strings.h"
#include "hns/hresult.h"
#include "hns/updates.h"

namespace porthole::cni::flannel {

namespace hcn1 = porthole::hns::hcn1;
using namespace std::chrono_literals;
using porthole::hns::find_settings;
using porthole::hns::Hresult;
using porthole::hns::make_policy;

namespace {

/// Making the first network on an adapter takes the host off its network for seconds.
constexpr Duration SwitchTime = 50s;
constexpr Duration LookAgain = 500ms;

/// "00:15:5d:…" as Flannel publishes it.
std::string with_colons(std::string mac) {
    std::ranges::replace(mac, '-', ':');
    return to_lower(mac);
}

hcn::RemoteSubnetRouteSettings remote_subnet(const Lease& lease) {
    hcn::RemoteSubnetRouteSettings settings;
    settings.destination_prefix = lease.subnet.to_string();
    settings.isolation_id = lease.vni;
    settings.provider_address = lease.public_ip.to_string();
    settings.distributed_router_mac_address = porthole::hns::canonical_mac(lease.vtep_mac);
    return settings;
}

}  // namespace

WindowsNetwork::WindowsNetwork(WindowsNetworkContext context, WindowsNetworkOptions options)
    : context_(std::move(context)), options_(std::move(options)), client_(context_.hns), client_v1_(context_.hns) {}

hcn::HostComputeNetwork WindowsNetwork::wanted() const {
    hcn::HostComputeNetwork network;
    network.name = options_.config.name;
    network.type = is_overlay() ? hcn::NetworkMode::Overlay : hcn::NetworkMode::L2Bridge;
    if (!options_.adapter.empty())
        network.policies.push_back(make_policy("NetAdapterName", hcn::NetAdapterNameSettings{.network_adapter_name = options_.adapter}));
    hcn::Subnet subnet;
    subnet.ip_address_prefix = options_.subnet.to_string();
    subnet.routes.push_back({.next_hop = options_.subnet.base().plus(1).to_string(), .destination_prefix = "0.0.0.0/0"});
    if (is_overlay()) {
        subnet.policies.push_back(make_policy("VSID", hcn::IsolationSettings{.isolation_id = options_.config.vni}));
        // An overlay is made anew from leases after each boot.
        network.flags = porthole::hns::NetworkFlags::EnableNonPersistent;
    }
    hcn::Ipam ipam;
    ipam.type = hcn::IpamType::Static;
    ipam.subnets.push_back(std::move(subnet));
    network.ipams.push_back(std::move(ipam));
    return network;
}

bool WindowsNetwork::is_wanted(const hcn::HostComputeNetwork& network) const {
    if (porthole::hns::type_of(network) != (is_overlay() ? hcn::NetworkMode::Overlay : hcn::NetworkMode::L2Bridge)) return false;
    for (const auto& ipam : network.ipams) {
        for (const auto& subnet : ipam.subnets) {
            const bool gateway = !subnet.routes.empty() && subnet.routes[0].next_hop == options_.subnet.base().plus(1).to_string();
            if (subnet.ip_address_prefix == options_.subnet.to_string() && gateway) return true;
        }
    }
    return false;
}

Task<hcn::HostComputeNetwork> WindowsNetwork::find_or_make() {
    CO_TRY(auto found, co_await client_.find<hcn::HostComputeNetwork>(options_.config.name));
    if (found && is_wanted(*found)) co_return *std::move(found);
    if (found) {
        context_.log.warn("replacing an HNS network of another kind", {{"network", found->name}, {"type", found->type}});
        CO_TRY_VOID(co_await client_.remove<hcn::HostComputeNetwork>(found->id));
    }
    CO_TRY(auto made, co_await client_.create(wanted()));
    // Routes go with the interface that the switch has replaced; some places show them all the same.
    CO_TRY(const auto routes, co_await context_.routes.own());
    for (const HostRoute& route : routes) CO_TRY_VOID(co_await context_.routes.remove(route));
    context_.log.info("HNS network made", {{"network", made.name}, {"type", made.type}, {"range", options_.subnet.to_string()}});
    co_return made;
}

Task<> WindowsNetwork::ensure() {
    if (is_overlay()) {
        CO_TRY(const auto features, co_await client_.features());
        if (!features.remote_subnet)
            co_return Error(Reason::BadRequest, "overlay networks need HNS 9.2 or later, here it is " + features.version.to_string() +
                                                    porthole::hns::missing_update(features.version));
    }
    CO_TRY(const auto network, co_await find_or_make());
    network_id_ = network.id;
    if (is_overlay()) co_return co_await wait_for_overlay();
    CO_TRY_VOID(co_await wait_for_bridge());
    co_return co_await ensure_host_endpoint();
}

Task<> WindowsNetwork::wait_for_bridge() {
    for (const MonotonicTime end = context_.loop.now() + SwitchTime;;) {
        CO_TRY(const hcn1::Network network, co_await client_v1_.network(network_id_));
        if (!network.management_ip.empty()) co_return {};
        if (context_.loop.now() >= end)
            co_return Error(Reason::Timeout, "the HNS network " + network.name + " has no management address yet");
        CO_TRY_VOID(co_await context_.loop.sleep(LookAgain));
    }
}

Task<> WindowsNetwork::wait_for_overlay() {
    for (const MonotonicTime end = context_.loop.now() + SwitchTime;;) {
        CO_TRY(const auto network, co_await client_.get<hcn::HostComputeNetwork>(network_id_));
        const auto router = find_settings<hcn::DrMacAddressSettings>(network.policies, "DrMacAddress");
        if (router && find_settings<hcn::ProviderAddressSettings>(network.policies, "ProviderAddress")) {
            router_mac_ = with_colons(router->address);
            const bool reachable =
                std::ranges::any_of(network.policies, [](const auto& policy) { return porthole::hns::is_policy(policy, "HostRoute"); });
            if (reachable) co_return {};
            // Without it the host does not reach its own pods; older services do not know it.
            const auto added =
                co_await client_.modify_network_policies(network_id_, hcn::ModifyRequestType::Add, {make_policy("HostRoute")});
            if (!added) context_.log.warn("the host will not reach its own pods", {{"error", added.error().message}});
            co_return {};
        }
        if (context_.loop.now() >= end)
            co_return Error(Reason::Timeout, "the HNS network " + network.name + " has no provider address yet");
        CO_TRY_VOID(co_await context_.loop.sleep(LookAgain));
    }
}

Task<> WindowsNetwork::ensure_host_endpoint() {
    const std::string name = options_.config.name + "_ep", address = options_.subnet.base().plus(2).to_string();
    CO_TRY(auto found, co_await client_.find<hcn::HostComputeEndpoint>(name));
    const bool right = found && !found->ip_configurations.empty() && found->ip_configurations[0].ip_address == address;
    if (found && !right) {
        CO_TRY_VOID(co_await client_.remove<hcn::HostComputeEndpoint>(found->id));
        found.reset();
    }
    if (!found) {
        hcn1::Endpoint leg;
        leg.name = name;
        leg.virtual_network = network_id_;
        leg.ip_address = address;
        leg.gateway_address = "0.0.0.0";
        CO_TRY(const auto made, co_await client_v1_.create_endpoint(leg));
        CO_TRY(found, co_await client_.find<hcn::HostComputeEndpoint>(made.name));
        if (!found) co_return Error(Reason::NotFound, "the endpoint " + name + " has been removed again");
    }
    CO_TRY_VOID(co_await attach_to_host(found->id));
    const std::vector<IpAddress> forwarders{options_.management_address, options_.subnet.base().plus(2)};
    co_return co_await context_.routes.enable_forwarding(forwarders);
}

Task<> WindowsNetwork::attach_to_host(std::string endpoint_id) {
    hcn1::EndpointAttachRequest attach;
    attach.system_type = "Host";
    attach.compartment_id = 1;
    constexpr int Attempts = 10;
    for (int attempt = 1;; ++attempt) {
        const auto attached = co_await client_v1_.attach_endpoint(endpoint_id, attach);
        if (attached || porthole::hns::is_hresult(attached.error(), Hresult::EndpointAlreadyAttached)) co_return {};
        if (attempt == Attempts || is_cancelled(attached)) co_return attached.error();
        CO_TRY_VOID(co_await context_.loop.sleep(LookAgain));
    }
}

Task<> WindowsNetwork::follow(std::vector<Lease> others) {
    if (is_overlay()) return follow_by_policies(std::move(others));
    if (options_.config.backend == Backend::Alloc) others.clear();  // the router's task; routes of an earlier choice go
    return follow_by_routes(std::move(others));
}

Task<> WindowsNetwork::follow_by_routes(std::vector<Lease> others) {
    std::set<HostRoute> wanted;
    for (const Lease& lease : others) wanted.insert({lease.subnet, lease.public_ip});
    CO_TRY(const auto own, co_await context_.routes.own());
    for (const HostRoute& route : own) {
        if (wanted.erase(route) > 0) continue;
        CO_TRY_VOID(co_await context_.routes.remove(route));
        context_.log.info("route removed", {{"range", route.destination.to_string()}});
    }
    for (const HostRoute& route : wanted) {
        const auto added = co_await context_.routes.add(route);
        CO_TRY_VOID(tell_added(route.destination.to_string(), route.next_hop.to_string(), added));
    }
    co_return {};
}

/// A node says itself where it is. One that says what this host refuses must not keep the others from being reached. Error: Cancelled only.
Result<void> WindowsNetwork::tell_added(const std::string& range, const std::string& via, const Result<void>& added) {
    if (is_cancelled(added)) return added;
    if (added) {
        refused_.erase(range);
        context_.log.info("pods of another node reachable", {{"range", range}, {"via", via}});
    } else if (refused_.insert(range).second) {
        context_.log.warn("no route to the pods of a node", {{"range", range}, {"via", via}, {"error", added.error().message}});
    }
    return {};
}

Task<> WindowsNetwork::follow_by_policies(std::vector<Lease> others) {
    std::map<std::string, hcn::RemoteSubnetRouteSettings> wanted;  // by range
    for (const Lease& lease : others) {
        if (lease.vni == options_.config.vni && !lease.vtep_mac.empty())
            wanted.insert_or_assign(lease.subnet.to_string(), remote_subnet(lease));
    }
    CO_TRY(const auto network, co_await client_.get<hcn::HostComputeNetwork>(network_id_));
    const auto present = porthole::hns::all_settings<hcn::RemoteSubnetRouteSettings>(network.policies, "RemoteSubnetRoute");
    // Those of a range go before another of it comes: of two, the last one counts.
    for (const auto& route : present) {
        const auto same = wanted.find(route.destination_prefix);
        if (same != wanted.end() && same->second == route) {
            wanted.erase(same);
            continue;
        }
        CO_TRY_VOID(co_await client_.modify_network_policies(network_id_, hcn::ModifyRequestType::Remove,
                                                             {make_policy("RemoteSubnetRoute", route)}));
    }
    for (const auto& [range, route] : wanted) {
        const auto added =
            co_await client_.modify_network_policies(network_id_, hcn::ModifyRequestType::Add, {make_policy("RemoteSubnetRoute", route)});
        CO_TRY_VOID(tell_added(range, route.provider_address, added));
    }
    co_return {};
}

}  // namespace porthole::cni::flannel
