#include "controllers/dns_endpoints/dns_endpoints.h"

#include "objects/conditions.h"

#include <algorithm>

namespace porthole::controllers {

using namespace api::core::v1;
using api::discovery::v1::EndpointSlice;

namespace {

const client::NamespacedName SliceKey{"kube-system", "kube-dns"};  // and the service's
/// Enough for the nodes that ask others. Kubernetes takes at most 1,000, and every node reads all of them after a change of one.
constexpr std::size_t MostEndpoints = 100;

bool serves_dns(const Node& node) {
    const auto os = node.metadata.labels.find("kubernetes.io/os");
    if (os == node.metadata.labels.end() || os->second != "linux") return false;
    return objects::is_ready(node);
}

std::string internal_address(const Node& node) {
    const auto found =
        std::ranges::find_if(node.status.addresses, [](const NodeAddress& one) { return one.type == NodeAddressType::InternalIP; });
    return found == node.status.addresses.end() ? "" : found->address;
}

/// Where the node answers DNS over IPv4; "" while it does not.
std::string dns_address(const Node& node) {
    if (!serves_dns(node)) return "";
    const std::string address = internal_address(node);
    return address.find(':') == address.npos ? address : "";
}

}  // namespace

DnsEndpointsController::DnsEndpointsController(Context& context)
    : Controller(context.loop, context.log, {.name = "dns-endpoints"}),
      client_(context.client),
      nodes_(context.informers.get<Node>()),
      services_(context.informers.get<Service>()),
      slices_(context.informers.get<EndpointSlice>()) {
    using NodePtr = client::Informer<Node>::Object;
    depends_on(nodes_).subscribe(
        {.added = [this](const NodePtr& now) { changed(now->metadata.name, "", dns_address(*now)); },
         .updated = [this](const NodePtr& old, const NodePtr& now) { changed(now->metadata.name, dns_address(*old), dns_address(*now)); },
         .deleted = [this](const NodePtr& last) { changed(last->metadata.name, dns_address(*last), ""); }});
    depends_on(services_).on_change([this](const Service& service) {
        if (client::key_of(service) == SliceKey) queue().add(SliceKey);
    });
    depends_on(slices_).on_change([this](const EndpointSlice& slice) {
        if (client::key_of(slice) == SliceKey) queue().add(SliceKey);
    });
}

void DnsEndpointsController::changed(const std::string& node, const std::string& old, const std::string& now) {
    if (old == now) return;
    servers_.erase({old, node});
    if (!now.empty()) servers_.emplace(now, node);
    queue().add(SliceKey);
}

EndpointSlice DnsEndpointsController::wanted() const {
    EndpointSlice slice;
    slice.metadata.namespace_ = SliceKey.namespace_;
    slice.metadata.name = SliceKey.name;
    slice.metadata.labels = {{"kubernetes.io/service-name", "kube-dns"},
                             {"endpointslice.kubernetes.io/managed-by", "dns-endpoints.porthole.io"}};
    slice.address_type = "IPv4";
    for (const auto& [address, node] : servers_) {
        if (slice.endpoints.size() == MostEndpoints) break;
        auto& endpoint = slice.endpoints.emplace_back();
        endpoint.addresses = {address};
        endpoint.conditions.ready = true;
        endpoint.node_name = node;
    }
    slice.ports = {{.name = "dns", .protocol = "UDP", .port = DnsNodePort}, {.name = "dns-tcp", .protocol = "TCP", .port = DnsNodePort}};
    return slice;
}

Task<client::Requeue> DnsEndpointsController::reconcile(client::NamespacedName) {
    const auto stored = slices_.find(SliceKey);
    if (const auto service = services_.find(SliceKey); service && !service->spec.selector.empty()) {
        if (!stored || stored->metadata.labels != wanted().metadata.labels) co_return client::Requeue::never();
        const auto removed = co_await client_.remove<EndpointSlice>(SliceKey);
        if (!removed && !is_not_found(removed)) co_return removed.error();
        co_return client::Requeue::never();
    }
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

Result<ControllerPtr> make_dns_endpoints(Context& context) { return make_controller<DnsEndpointsController>(context); }

}  // namespace porthole::controllers
