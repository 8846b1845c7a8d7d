#pragma once
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hns/documents.h"
#include "hns/features.h"
#include "hns/hns.h"

namespace porthole::hns {

/// A document type that the service stores.
template <class T>
concept Kind =
    std::same_as<T, hcn::HostComputeNetwork> || std::same_as<T, hcn::HostComputeEndpoint> || std::same_as<T, hcn::HostComputeNamespace> ||
    std::same_as<T, hcn::HostComputeLoadBalancer> || std::same_as<T, hcn::HostComputeRoute>;

/// Typed access to HNS: `client.find<hcn::HostComputeNetwork>("cbr0")`.
///
/// Errors are the service's own (hns/hresult.h), prefixed with the attempted operation and the request's JSON. Ids in any case. Holds no
/// state; `hns` must outlive it and its tasks, and calls are made on its loop.
class Client {
public:
    explicit Client(Hns& hns) : hns_(hns) {}

    /// All objects of a kind, in the service's order. Objects removed during the call are left out.
    template <Kind T>
    Task<std::vector<T>> list();
    /// The endpoints of one network.
    Task<std::vector<hcn::HostComputeEndpoint>> list_endpoints_of(std::string network_id);
    template <Kind T>
    Task<T> get(std::string id);
    /// By exact name; nullopt if there is none.
    template <Kind T>
        requires(!std::same_as<T, hcn::HostComputeNamespace>)
    Task<std::optional<T>> find(std::string name);
    /// The object as completed by the service: id, MAC, addresses. Schema 2.0 is filled in. Endpoints must name their network.
    template <Kind T>
    Task<T> create(T document);
    /// Error: is_object_missing() if there is none.
    template <Kind T>
    Task<> remove(std::string id);

    /// Adds, removes (all settings must match), or replaces (all policies of the given types) policies.
    Task<> modify_network_policies(std::string id, std::string request_type, std::vector<hcn::Policy> policies);
    Task<> modify_endpoint_policies(std::string id, std::string request_type, std::vector<hcn::Policy> policies);
    /// Replaces a load balancer's whole document. Error: Hresult::NotImplemented below HNS 15.4.
    Task<> modify_load_balancer(std::string id, hcn::HostComputeLoadBalancer document);
    Task<> attach_endpoint(std::string namespace_id, std::string endpoint_id);
    Task<> detach_endpoint(std::string namespace_id, std::string endpoint_id);
    Task<> attach_container(std::string namespace_id, std::string container_id);

    /// The service's features. A service that does not answer has version 0.0 and no feature; only a disconnected one is an error.
    Task<Features> features();

    Hns& raw() { return hns_; }

private:
    template <Kind T>
    Task<std::vector<T>> list_by(std::string query);
    Task<> modify(ObjectKind kind, std::string id, std::string resource_type, std::string request_type, schema::Value settings);

    Hns& hns_;
};

}  // namespace porthole::hns
