#pragma once
#include <string>
#include <vector>

#include "api/hcn_v1.h"
#include "hns/hns.h"

namespace porthole::hns {

namespace hcn1 = api::hcn::v1;

/// Typed access by HNSCall, version 1, for older scripts and configurations. The objects are the same as version 2's. Errors as Client's;
/// without a code, they are derived from the service's text. `hns` must outlive it and its tasks.
class ClientV1 {
public:
    explicit ClientV1(Hns& hns) : hns_(hns) {}

    Task<hcn1::Version> version();
    Task<std::vector<hcn1::Network>> networks();
    Task<hcn1::Network> network(std::string id);
    Task<hcn1::Network> create_network(hcn1::Network network);
    Task<> remove_network(std::string id);
    Task<std::vector<hcn1::Endpoint>> endpoints();
    Task<hcn1::Endpoint> endpoint(std::string id);
    Task<hcn1::Endpoint> create_endpoint(hcn1::Endpoint endpoint);
    Task<> remove_endpoint(std::string id);
    /// To a running container's compartment, or to the host's (SystemType "Host", CompartmentId 1).
    Task<> attach_endpoint(std::string id, hcn1::EndpointAttachRequest request);
    Task<> detach_endpoint(std::string id, hcn1::EndpointAttachRequest request);
    Task<hcn1::EndpointStats> endpoint_stats(std::string id);
    Task<std::vector<hcn1::PolicyList>> policy_lists();
    Task<hcn1::PolicyList> create_policy_list(hcn1::PolicyList list);
    Task<> remove_policy_list(std::string id);

private:
    Task<schema::Value> call(std::string method, std::string path, std::string body = "");
    template <class T>
    Task<T> one(std::string method, std::string path, std::string body = "");
    template <class T>
    Task<std::vector<T>> all(std::string path);

    Hns& hns_;
};

}  // namespace porthole::hns
