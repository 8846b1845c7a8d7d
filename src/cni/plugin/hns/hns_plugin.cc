#include "cni/plugin/hns/hns_plugin.h"

#include <algorithm>

#include "cni/plugin/errors.h"
#include "cni/plugin/request.h"
#include "hns/client_v1.h"
#include "hns/guid.h"
#include "hns/hresult.h"

namespace porthole::cni {

using namespace std::chrono_literals;
using porthole::hns::Hresult;
using porthole::hns::hresult_of;
using porthole::hns::is_disconnected;
using porthole::hns::is_object_missing;
using porthole::hns::same_guid;

namespace {

constexpr int Attempts = 8;
constexpr Duration Pause = 500ms;

/// Passes by itself: a switch port that is coming or going, or the service restarting.
bool passes(const Error& error) { return hresult_of(error) == Hresult::PortNotFound || is_disconnected(error); }

bool is_docker(const std::string& netns) { return netns == "none" || netns.starts_with("container:"); }

Result<void> success_if_not_found(Result<void> result) {
    if (!result && is_object_missing(result.error())) return {};
    return result;
}

bool same_addresses(const hcn::HostComputeEndpoint& left, const hcn::HostComputeEndpoint& right) {
    return std::ranges::any_of(left.ip_configurations, [&](const auto& one) {
        return std::ranges::any_of(right.ip_configurations, [&](const auto& other) { return one.ip_address == other.ip_address; });
    });
}

}  // namespace

std::string endpoint_name(const CniRequest& request) {
    const std::string shared = "container:";
    const std::string sandbox = request.netns.starts_with(shared) ? request.netns.substr(shared.size()) : request.container_id;
    return sandbox + "_" + request.network;
}

Task<CniResult> HnsPlugin::add(CniRequest request) {
    CO_TRY(const WindowsNetConf conf, configuration(request));
    if (!is_docker(request.netns) && !porthole::hns::is_guid(request.netns)) {
        co_return cni_error(CniCode::InvalidEnvironment, "CNI_NETNS \"" + request.netns + "\" is not a valid HCN namespace ID");
    }
    CO_TRY(const hcn::HostComputeNetwork network, co_await this->network(request));
    CO_TRY_VOID(check_network(style_, network));
    CO_TRY(std::optional<hcn::HostComputeEndpoint> present, co_await client_.find<hcn::HostComputeEndpoint>(endpoint_name(request)));
    if (present && !same_guid(present->host_compute_network, network.id)) {
        CO_TRY_VOID(success_if_not_found(co_await client_.remove<hcn::HostComputeEndpoint>(present->id)));
        present.reset();
    }
    if (!present && request.netns.starts_with("container:")) {
        co_return cni_error(CniCode::UnknownContainer, "failed to find HNSEndpoint " + endpoint_name(request));
    }
    if (present) {
        CO_TRY_VOID(co_await attach(request, *present));
        co_return endpoint_result(*present, network, conf.dns);
    }
    const auto made = co_await make_attached_endpoint(request, conf, network);
    if (!made) {
        // Also what was made although the service answered with an error. What cannot be undone now is left to the runtime's DEL.
        (void)co_await undo(request, conf);
        co_return made.error();
    }
    co_return endpoint_result(*made, network, conf.dns);
}

Task<hcn::HostComputeEndpoint> HnsPlugin::make_attached_endpoint(CniRequest request, WindowsNetConf conf, hcn::HostComputeNetwork network) {
    CO_TRY(hcn::HostComputeEndpoint endpoint, co_await make_endpoint(request, std::move(conf), std::move(network)));
    CO_TRY_VOID(co_await attach(std::move(request), endpoint));
    co_return endpoint;
}

Task<hcn::HostComputeNetwork> HnsPlugin::network(CniRequest request) {
    auto found = co_await client_.find<hcn::HostComputeNetwork>(request.network);
    for (int attempt = 1; !found && is_disconnected(found.error()) && attempt < Attempts; ++attempt) {
        CO_TRY_VOID(co_await context_.loop.sleep(Pause));
        found = co_await client_.find<hcn::HostComputeNetwork>(request.network);
    }
    if (!found) co_return found.error();
    if (!*found)
        co_return cni_error(CniCode::TryAgainLater, "failed to find HNS network \"" + request.network + "\"; is flanneld running?");
    co_return **std::move(found);
}

/// Leases addresses and creates the endpoint.
Task<hcn::HostComputeEndpoint> HnsPlugin::make_endpoint(CniRequest request, WindowsNetConf conf, hcn::HostComputeNetwork network) {
    CO_TRY(const auto features, co_await client_.features());
    std::vector<CniResult::Ip> ips;
    if (!conf.ipam_type.empty()) {
        CO_TRY(CniResult leased, co_await context_.delegates.add_by(conf.ipam_type, request, ipam_configuration(request)));
        if (leased.ips.empty()) co_return cni_error(CniCode::Internal, "IPAM plugin " + conf.ipam_type + " returned missing IP config");
        ips = std::move(leased.ips);
    }
    CO_TRY(hcn::HostComputeEndpoint endpoint, plan_endpoint(style_, endpoint_name(request), conf, network, ips, features));
    co_return co_await create_endpoint(std::move(endpoint));
}

Task<hcn::HostComputeEndpoint> HnsPlugin::create_endpoint(hcn::HostComputeEndpoint endpoint) {
    for (int attempt = 1;; ++attempt) {
        auto created = co_await client_.create(endpoint);
        if (created || attempt == Attempts) co_return created;
        if (hresult_of(created.error()) == Hresult::ObjectAlreadyExists && attempt == 1) {
            CO_TRY_VOID(co_await remove_stale_holder(endpoint));
        } else if (passes(created.error())) {
            CO_TRY_VOID(co_await context_.loop.sleep(Pause));
        } else {
            co_return created;
        }
    }
}

/// The address is leased to us, so whoever still holds it in HNS is a leftover: what stood for a pod of another node that has gone,
/// or the endpoint of a sandbox that was never deleted. One that is attached somewhere is alive and stays.
Task<> HnsPlugin::remove_stale_holder(hcn::HostComputeEndpoint wanted) {
    CO_TRY(const auto endpoints, co_await client_.list_endpoints_of(wanted.host_compute_network));
    for (const hcn::HostComputeEndpoint& other : endpoints) {
        if (!same_addresses(wanted, other)) continue;
        const bool leftover = other.owner == wanted.owner || other.name.ends_with(wanted.name.substr(wanted.name.find('_')));
        if (!porthole::hns::is_remote(other) && (!leftover || !other.host_compute_namespace.empty())) continue;
        CO_TRY_VOID(success_if_not_found(co_await client_.remove<hcn::HostComputeEndpoint>(other.id)));
    }
    co_return {};
}

Task<> HnsPlugin::attach(CniRequest request, hcn::HostComputeEndpoint endpoint) {
    if (is_docker(request.netns)) {
        porthole::hns::ClientV1 old(context_.hns);
        const auto attached = co_await old.attach_endpoint(endpoint.id, {.system_type = "Container", .container_id = request.container_id});
        // Docker's pause container may have ended, which its other containers outlive.
        if (!attached && attached.error().message.find("does not exist") == std::string::npos) co_return attached.error();
        co_return {};
    }
    co_return co_await attach_to_namespace(porthole::hns::canonical_guid(request.netns), std::move(endpoint));
}

Task<> HnsPlugin::attach_to_namespace(std::string namespace_id, hcn::HostComputeEndpoint endpoint) {
    if (same_guid(endpoint.host_compute_namespace, namespace_id)) co_return {};
    if (!endpoint.host_compute_namespace.empty()) CO_TRY_VOID(co_await detach(endpoint));
    for (int attempt = 1;; ++attempt) {
        const auto attached = co_await client_.attach_endpoint(namespace_id, endpoint.id);
        if (attached) co_return {};
        const Hresult code = hresult_of(attached.error());
        if (code == Hresult::EndpointAlreadyAttached || code == Hresult::EndpointNamespaceAlreadyExists) {
            CO_TRY(const auto now, co_await client_.get<hcn::HostComputeEndpoint>(endpoint.id));
            if (same_guid(now.host_compute_namespace, namespace_id)) co_return {};
        }
        if (!passes(attached.error()) || attempt == Attempts) co_return attached.error();
        CO_TRY_VOID(co_await context_.loop.sleep(Pause));
    }
}

Task<> HnsPlugin::detach(const hcn::HostComputeEndpoint& endpoint) {
    if (endpoint.host_compute_namespace.empty()) co_return {};
    co_return success_if_not_found(co_await client_.detach_endpoint(endpoint.host_compute_namespace, endpoint.id));
}

Task<> HnsPlugin::remove(CniRequest request) {
    CO_TRY(const WindowsNetConf conf, configuration(request));
    if (request.netns.starts_with("container:")) co_return {};  // the sandbox's own DEL takes it
    co_return co_await undo(std::move(request), conf);
}

/// The endpoint goes before its address may be somebody else's.
Task<> HnsPlugin::undo(CniRequest request, WindowsNetConf conf) {
    CO_TRY_VOID(co_await remove_endpoint(endpoint_name(request)));
    co_return co_await release(std::move(request), std::move(conf));
}

Task<> HnsPlugin::remove_endpoint(std::string name) {
    CO_TRY(const auto endpoint, co_await client_.find<hcn::HostComputeEndpoint>(name));
    if (!endpoint) co_return {};
    CO_TRY_VOID(co_await detach(*endpoint));
    for (int attempt = 1;; ++attempt) {
        const auto removed = success_if_not_found(co_await client_.remove<hcn::HostComputeEndpoint>(endpoint->id));
        if (removed || !passes(removed.error()) || attempt == Attempts) co_return removed;
        CO_TRY_VOID(co_await context_.loop.sleep(Pause));
    }
}

Task<> HnsPlugin::release(CniRequest request, WindowsNetConf conf) {
    if (conf.ipam_type.empty()) co_return {};
    co_return co_await context_.delegates.call(conf.ipam_type, "DEL", request, ipam_configuration(request));
}

/// The first two addresses of a bridge network's subnet are taken, which host-local does not know.
schema::Value HnsPlugin::ipam_configuration(const CniRequest& request) const {
    if (style_ == NetworkStyle::Bridge) return with_reserved_gateways(request.config);
    return request.config;
}

Task<> HnsPlugin::check(CniRequest request) {
    CO_TRY(const WindowsNetConf conf, configuration(request));
    CO_TRY(const hcn::HostComputeNetwork network, co_await this->network(request));
    const std::string name = endpoint_name(request);
    CO_TRY(const auto endpoint, co_await client_.find<hcn::HostComputeEndpoint>(name));
    if (!endpoint) co_return cni_error(CniCode::UnknownContainer, "HNS has no endpoint " + name);
    if (!same_guid(endpoint->host_compute_network, network.id))
        co_return cni_error(CniCode::Internal, "endpoint " + name + " belongs to another network than " + network.name);
    if (!is_docker(request.netns) && !same_guid(endpoint->host_compute_namespace, request.netns))
        co_return cni_error(CniCode::Internal, "endpoint " + name + " is not attached to namespace " + request.netns);
    if (const schema::Value* previous = request.config.find("prevResult")) {
        CO_TRY(const CniResult told, read_result(*previous));
        for (const CniResult::Ip& ip : told.ips) {
            const bool there = std::ranges::any_of(
                endpoint->ip_configurations, [&](const auto& configuration) { return configuration.ip_address == ip.address.to_string(); });
            if (!there) co_return cni_error(CniCode::Internal, "endpoint " + name + " has lost its address " + ip.address.to_string());
        }
    }
    if (!conf.ipam_type.empty())
        CO_TRY_VOID(co_await context_.delegates.call(conf.ipam_type, "CHECK", request, ipam_configuration(request)));
    co_return {};
}

Task<> HnsPlugin::status(CniRequest request) {
    CO_TRY(const WindowsNetConf conf, configuration(request));
    const auto found = co_await network(request);
    if (!found) co_return cni_error(CniCode::NotAvailable, found.error().message);
    CO_TRY_VOID(check_network(style_, *found));
    if (!conf.ipam_type.empty())
        CO_TRY_VOID(co_await context_.delegates.call(conf.ipam_type, "STATUS", request, ipam_configuration(request)));
    co_return {};
}

Task<> HnsPlugin::collect(CniRequest request) {
    CO_TRY(const WindowsNetConf conf, configuration(request));
    CO_TRY(const hcn::HostComputeNetwork network, co_await this->network(request));
    CO_TRY(const auto endpoints, co_await client_.list_endpoints_of(network.id));
    const auto valid = valid_attachments(request);
    const std::string suffix = "_" + request.network;
    for (const hcn::HostComputeEndpoint& endpoint : endpoints) {
        if (porthole::hns::is_remote(endpoint) || !endpoint.name.ends_with(suffix)) continue;
        const std::string id = endpoint.name.substr(0, endpoint.name.size() - suffix.size());
        if (std::ranges::any_of(valid, [&](const auto& pair) { return pair.first == id; })) continue;
        CO_TRY_VOID(co_await detach(endpoint));
        CO_TRY_VOID(success_if_not_found(co_await client_.remove<hcn::HostComputeEndpoint>(endpoint.id)));
    }
    if (!conf.ipam_type.empty()) CO_TRY_VOID(co_await context_.delegates.call(conf.ipam_type, "GC", request, ipam_configuration(request)));
    co_return {};
}

}  // namespace porthole::cni
