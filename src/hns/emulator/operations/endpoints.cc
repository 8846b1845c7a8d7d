#include "hns/emulator/operations/endpoints.h"

#include "hns/emulator/operations/addresses.h"
#include "hns/emulator/operations/host_ports.h"
#include "hns/emulator/operations/namespaces.h"
#include "hns/emulator/operations/network_policies.h"
#include "hns/emulator/operations/policy_checks.h"
#include "hns/policies.h"

namespace porthole::hns::emulator {
namespace {

Result<void> check_identity(const Transaction& transaction, const hcn::HostComputeEndpoint& endpoint) {
    if (find(transaction.model().endpoints, endpoint.id)) return hresult_error(Hresult::ObjectAlreadyExists);
    if (!endpoint.host_compute_namespace.empty()) {
        return hresult_error(Hresult::InvalidEndpoint, "The endpoint is invalid: HostComputeNamespace is set by attaching it.");
    }
    if (endpoint.name.empty()) return {};
    for (const auto& [id, other] : transaction.model().endpoints) {
        if (other->document.host_compute_network == endpoint.host_compute_network && other->document.name == endpoint.name) {
            return hresult_error(Hresult::ObjectAlreadyExists,
                                 "The object already exists: an endpoint is named \"" + endpoint.name + "\".");
        }
    }
    return {};
}

Result<std::vector<hcn::Policy>> check_policies(const Host& host, std::vector<hcn::Policy> policies) {
    for (hcn::Policy& policy : policies) {
        TRY(policy, check_endpoint_policy(host, std::move(policy)));
    }
    return policies;
}

Result<void> check_routes(const hcn::HostComputeEndpoint& endpoint) {
    for (const hcn::Route& route : endpoint.routes) {
        TRY_VOID(parse_address(route.next_hop));
        if (!route.destination_prefix.empty() && !IpPrefix::parse(route.destination_prefix)) return hresult_error(Hresult::InvalidPrefix);
    }
    return {};
}

void take_network_dns(const Network& network, hcn::HostComputeEndpoint& endpoint) {
    if (endpoint.dns == hcn::Dns()) endpoint.dns = network.document.dns;
}

}  // namespace

Result<std::string> create_endpoint(Transaction& transaction, const std::string& network_id, hcn::HostComputeEndpoint document) {
    const Host& host = transaction.host();
    TRY(const Network* network, need_network(transaction.model(), network_id));
    Endpoint endpoint;
    endpoint.document = std::move(document);
    hcn::HostComputeEndpoint& shown = endpoint.document;
    if (!shown.host_compute_network.empty()) {
        TRY(const Network* named, need_network(transaction.model(), shown.host_compute_network));
        if (named != network)
            return hresult_error(Hresult::InvalidEndpoint, "The endpoint is invalid: its document names another network.");
    }
    shown.host_compute_network = network->document.id;
    TRY(shown.id, id_for(shown.id, host.random));
    TRY_VOID(check_identity(transaction, shown));
    TRY_VOID(check_routes(shown));
    TRY(shown.policies, check_policies(host, std::move(shown.policies)));
    TRY_VOID(assign_addresses(transaction, *network, shown));
    TRY_VOID(assign_mac(transaction, *network, shown));
    TRY_VOID(check_host_ports(transaction, shown));
    if (!is_remote(shown)) take_network_dns(*network, shown);
    endpoint.number = transaction.free_number<Endpoint>();
    complete_document(shown, host.profile);
    const std::string id = shown.id;
    transaction.put(std::move(endpoint));
    return id;
}

Result<void> modify_endpoint(Transaction& transaction, const std::string& id, const hcn::ModifySettingRequest& request) {
    TRY(const Endpoint* found, need_endpoint(transaction.model(), id));
    Endpoint endpoint = *found;
    std::vector<hcn::Policy>& policies = endpoint.document.policies;
    if (request.request_type == hcn::ModifyRequestType::Refresh) {
        transaction.touch<Endpoint>(endpoint.document.id);
        return {};
    }
    if (request.resource_type != hcn::ModifyResourceType::Policy) {
        return hresult_error(Hresult::RequestUnsupported,
                             "Endpoints have no settings of type \"" + request.resource_type + "\" that can be changed.");
    }
    TRY(auto settings, from_tree<hcn::PolicyRequest>(request.settings));
    TRY(auto given, check_policies(transaction.host(), std::move(settings.policies)));
    if (request.request_type == hcn::ModifyRequestType::Update) {
        replace_policies(policies, std::move(given));
    } else if (request.request_type == hcn::ModifyRequestType::Add) {
        for (hcn::Policy& policy : given) {
            if (std::ranges::any_of(policies, [&](const hcn::Policy& old) { return same_policy(old, policy); })) {
                return hresult_error(Hresult::PolicyAlreadyExists);
            }
            policies.push_back(std::move(policy));
        }
    } else if (request.request_type == hcn::ModifyRequestType::Remove) {
        for (const hcn::Policy& policy : given) {
            TRY_VOID(remove_policy(policies, policy));
        }
    } else {
        return hresult_error(Hresult::RequestUnsupported);
    }
    TRY_VOID(check_host_ports(transaction, endpoint.document));
    transaction.put(std::move(endpoint));
    return {};
}

Result<void> remove_endpoint(Transaction& transaction, const std::string& id) {
    TRY(const Endpoint* found, need_endpoint(transaction.model(), id));
    const std::string endpoint_id = found->document.id, namespace_id = found->document.host_compute_namespace;
    if (!namespace_id.empty()) {
        TRY_VOID(detach_endpoint(transaction, namespace_id, endpoint_id));
    }
    transaction.erase<Endpoint>(endpoint_id);
    return {};
}

Result<void> attach_to_host(Transaction& transaction, const std::string& id) {
    TRY(const Endpoint* found, need_endpoint(transaction.model(), id));
    if (found->is_attached()) return hresult_error(Hresult::EndpointAlreadyAttached);
    if (is_remote(found->document)) return hresult_error(Hresult::InvalidRemoteEndpointOperation);
    Endpoint endpoint = *found;
    endpoint.on_host = true;
    transaction.notify(NotificationType::EndpointAttached, endpoint.document.id);
    transaction.put(std::move(endpoint));
    return {};
}

Result<void> detach_from_host(Transaction& transaction, const std::string& id) {
    TRY(const Endpoint* found, need_endpoint(transaction.model(), id));
    if (!found->on_host) return hresult_error(Hresult::EndpointNotAttached);
    Endpoint endpoint = *found;
    endpoint.on_host = false;
    transaction.notify(NotificationType::EndpointDetached, endpoint.document.id);
    transaction.put(std::move(endpoint));
    return {};
}

}  // namespace porthole::hns::emulator
