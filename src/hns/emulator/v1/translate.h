#pragma once
#include "api/hcn_v1.h"
#include "hns/emulator/model/model.h"

namespace porthole::hns::emulator::v1 {

namespace hcn1 = api::hcn::v1;

/// Conversion between the older documents and the newer ones. Policies without an older form keep their settings next to `Type`. Errors:
/// Hresult::InvalidJson, InvalidPolicy.

hcn1::Network from_network(const Network& network);
Result<hcn::HostComputeNetwork> to_network(const hcn1::Network& document);
hcn1::Endpoint from_endpoint(const Model& model, const Endpoint& endpoint);
Result<hcn::HostComputeEndpoint> to_endpoint(const hcn1::Endpoint& document);
hcn1::PolicyList from_load_balancer(const LoadBalancer& balancer);
hcn1::PolicyList from_route(const SdnRoute& route);
hcn1::Namespace from_namespace(const Namespace& space);

/// Whether a policy list is a load balancer, by the type of its policy.
bool is_load_balancer(const hcn1::PolicyList& list);
Result<hcn::HostComputeLoadBalancer> to_load_balancer(const hcn1::PolicyList& list);
Result<hcn::HostComputeRoute> to_route(const hcn1::PolicyList& list);

/// One policy, flat.
schema::Value from_policy(const hcn::Policy& policy);
Result<hcn::Policy> to_policy(const schema::Value& flat);

}  // namespace porthole::hns::emulator::v1
