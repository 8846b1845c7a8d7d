#include "controllers/dns_endpoints/dns_endpoints.h"

#include <algorithm>

namespace porthole::controllers {

using namespace api::core::v1;
using api::discovery::v1::EndpointSlice;

namespace {

const client::NamespacedName SliceKey{"kube-system", "kube-dns"};

bool serves_dns(const Node& node) {
    const auto os = node.metadata.labels.find("kubernetes.io/os");
    if (os == node.metadata.labels.end() || os->second != "linux") return false;
    return std::ranges::any_of(node.status.conditions, [](const NodeCondition& condition) {
        return condition.type == NodeConditionType::Ready && condition.status == ConditionStatus::True;
    });
}

std::string internal_address(const Node& node) {
    const auto found =
        std::ranges::find_if(node.status.addresses, [](const NodeAddress& one) { return one.type == NodeAddressType::InternalIP; });
    return found == node.status.addresses.end() ? "" : found->address;
}

}  // namespace

DnsEndpointsController::DnsEndpointsController(Context& context)
    : Controller(context.loop, context.log, {.name = "dns-endpoints"}),
      client_(context.client),
      nodes_(context.informers.get<Node>()),
      slices_(context.informers.get<EndpointSlice>()) {
    depends_on(nodes_).on_change([this](const Node&) { queue().add(SliceKey); });
    depends_on(slices_).on_change([this](const EndpointSlice& slice) {
        if (client::key_of(slice) == SliceKey) queue().add(SliceKey);
    });
}

EndpointSlice DnsEndpointsController::wanted() const {
    EndpointSlice slice;
    slice.metadata.namespace_ = SliceKey.namespace_;
    slice.metadata.name = SliceKey.name;
    slice.metadata.labels = {{"kubernetes.io/service-name", "kube-dns"},
                             {"endpointslice.kubernetes.io/managed-by", "dns-endpoints.porthole.io"}};
    slice.address_type = "IPv4";
    for (const auto& node : nodes_.list()) {
        const std::string address = internal_address(*node);
        if (!serves_dns(*node) || address.empty() || address.find(':') != address.npos) continue;
        auto& endpoint = slice.endpoints.emplace_back();
        endpoint.addresses = {address};
        endpoint.conditions.ready = true;
        endpoint.node_name = node->metadata.name;
    }
    std::ranges::sort(slice.endpoints, {}, [](const auto& endpoint) { return endpoint.addresses.front(); });
    slice.ports = {{.name = "dns", .protocol = "UDP", .port = DnsNodePort}, {.name = "dns-tcp", .protocol = "TCP", .port = DnsNodePort}};
    return slice;
}

Task<client::Requeue> DnsEndpointsController::reconcile(client::NamespacedName) {
    const auto stored = slices_.find(SliceKey);
    EndpointSlice slice = wanted();
    if (stored && stored->endpoints == slice.endpoints && stored->ports == slice.ports && stored->metadata.labels == slice.metadata.labels)
        co_return client::Requeue::never();
    if (stored) slice.metadata.resource_version = stored->metadata.resource_version;
    Task<EndpointSlice> write = stored ? client_.update(std::move(slice)) : client_.create(std::move(slice));
    auto written = co_await std::move(write);
    // Before the first bootstrap is over the namespace may be missing; a failure is tried again.
    if (!written) co_return std::move(written).error();
    co_return client::Requeue::never();
}

}  // namespace porthole::controllers
