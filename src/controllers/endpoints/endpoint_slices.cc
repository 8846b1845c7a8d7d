#include "controllers/endpoints/endpoint_slices.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/result.h"
#include "controllers/endpoints/port_key.h"
#include "controllers/framework/pod_control.h"
#include "objects/owners.h"
#include "objects/pods.h"

namespace porthole::controllers {

using client::NamespacedName;
using client::Requeue;
using namespace endpoints;

namespace {

constexpr std::size_t MostEndpoints = 100;
constexpr Duration BatchTime = std::chrono::seconds(1);
constexpr const char* SliceController = "endpointslice-controller.k8s.io";
constexpr const char* ZoneLabel = "topology.kubernetes.io/zone";

std::vector<EndpointPort> ports_of(const Service& service, const Pod& pod) {
    std::vector<EndpointPort> ports;
    PodPorts pod_ports(pod);
    for (const auto& port : service.spec.ports) {
        const auto number = pod_ports.find(port);
        if (!number) continue;
        EndpointPort& result = ports.emplace_back();
        result.name = port.name;
        result.protocol = port.protocol.empty() ? "TCP" : port.protocol;
        result.port = *number;
        result.app_protocol = port.app_protocol;
    }
    return ports;
}

/// Where clients should prefer to find this endpoint from (KEP-3015).
schema::Box<api::discovery::v1::EndpointHints> hints(const Service& service, const Endpoint& endpoint) {
    const std::string& wish = service.spec.traffic_distribution.value_or("");
    if (!endpoint.conditions.ready.value_or(false)) return std::nullopt;
    if (wish != "PreferClose" && wish != "PreferSameZone" && wish != "PreferSameNode") return std::nullopt;
    api::discovery::v1::EndpointHints hints;
    if (endpoint.zone) hints.for_zones.emplace_back().name = *endpoint.zone;
    if (wish == "PreferSameNode" && endpoint.node_name) hints.for_nodes.emplace_back().name = *endpoint.node_name;
    if (hints.for_zones.empty() && hints.for_nodes.empty()) return std::nullopt;
    return hints;
}

Endpoint make_endpoint(const Service& service, const Pod& pod, const api::core::v1::Node* node, std::string address) {
    Endpoint endpoint;
    endpoint.addresses.push_back(std::move(address));
    const bool serving = objects::is_ready(pod), terminating = objects::is_terminating(pod);
    endpoint.conditions.serving = serving;
    endpoint.conditions.terminating = terminating;
    endpoint.conditions.ready = service.spec.publish_not_ready_addresses || (serving && !terminating);
    endpoint.target_ref = target_reference(pod);
    if (!pod.spec.node_name.empty()) endpoint.node_name = pod.spec.node_name;
    if (!pod.spec.hostname.empty() && pod.spec.subdomain == service.metadata.name) endpoint.hostname = pod.spec.hostname;
    if (node) {
        const auto zone = node->metadata.labels.find(ZoneLabel);
        if (zone != node->metadata.labels.end()) endpoint.zone = zone->second;
    }
    endpoint.hints = hints(service, endpoint);
    return endpoint;
}

}  // namespace

EndpointSliceController::EndpointSliceController(Context& context)
    : Controller(context.loop, context.log, {.name = "endpointslice-controller", .workers = 5, .max_retries = 15},
                 {.first = std::chrono::seconds(1)}),
      events_(context.events.get("endpoint-slice-controller")),
      service_pods_(context),
      nodes_(context.informers.get<Node>()),
      slices_(context, SliceController, [this](const NamespacedName& service) { queue().add_after(service, BatchTime); }),
      pace_(context.loop, TimePerPod) {
    reconcile_each(service_pods_.services());
    depends_on(service_pods_.pods());
    depends_on(slices_.informer());
    depends_on(nodes_);
    service_pods_.follow_pods([this](const NamespacedName& key) { queue().add(key); });
}

Task<Requeue> EndpointSliceController::reconcile(NamespacedName key) {
    const auto service = service_pods_.services().find(key);
    if (!service) {
        trigger_times_.forget(key);  // the slices are the garbage collector's
        pace_.forget(key);
        co_return Requeue::never();
    }
    if (service->spec.selector.empty() || service->spec.type == "ExternalName") co_return Requeue::never();
    if (!slices_.up_to_date(key)) co_return Requeue::in(BatchTime);
    if (const Duration wait = pace_.wait(key); wait > Duration::zero()) co_return Requeue::in(wait);

    const MonotonicTime began = loop().now();
    const auto pods = service_pods_.pods_of(*service);
    std::vector<EndpointSlice> existing = slices_.slices_of(key);
    SliceChanges changes;
    // Of an earlier service of this name: the garbage collector may not have deleted them yet.
    const auto is_foreign = [&](const EndpointSlice& slice) {
        return std::ranges::none_of(slice.metadata.owner_references, [&](const auto& owner) { return owner.uid == service->metadata.uid; });
    };
    std::ranges::copy_if(existing, std::back_inserter(changes.remove), is_foreign);
    std::erase_if(existing, is_foreign);
    std::string lost_node;
    for (const std::string& family : ip_families(*service)) {
        std::vector<EndpointSlice> of_family;
        std::erase_if(existing, [&](const EndpointSlice& slice) {
            if (slice.address_type != family) return false;
            of_family.push_back(slice);
            return true;
        });
        SliceChanges part = pack_slices(group_by_ports(*service, pods, family == "IPv6", lost_node), std::move(of_family),
                                        fresh_slice(*service, family), MostEndpoints);
        std::ranges::move(part.create, std::back_inserter(changes.create));
        std::ranges::move(part.update, std::back_inserter(changes.update));
        std::ranges::move(part.remove, std::back_inserter(changes.remove));
    }
    std::ranges::move(existing, std::back_inserter(changes.remove));
    if (service->metadata.deletion_timestamp) changes.create.clear();
    const Timestamp trigger = trigger_times_.next(*service, pods);
    for (auto* slices : {&changes.create, &changes.update})
        for (EndpointSlice& slice : *slices) {
            slice.metadata.annotations.erase(TriggerTimeAnnotation);
            if (!trigger.is_zero()) slice.metadata.annotations[TriggerTimeAnnotation] = trigger.to_string();
        }
    pace_.looked(key, pods.size(), began);
    Result<void> applied = co_await slices_.apply(key, std::move(changes));
    if (!applied) {
        const Error& error = applied.error();
        if (is_namespace_terminating(error)) co_return Requeue::never();
        if (!is_cancelled(error) && error.reason != Reason::Conflict)
            events_.warning(*service, "FailedToUpdateEndpointSlices",
                            fmt::format("Error updating Endpoint Slices for Service {}: {}", key.text(), error.message));
        co_return std::move(applied).error();
    }
    if (!lost_node.empty()) co_return Error(Reason::NotFound, "node " + lost_node + " of a pod does not exist");
    co_return Requeue::never();
}

std::vector<PortGroup> EndpointSliceController::group_by_ports(const Service& service, const std::vector<PodPointer>& pods, bool ipv6,
                                                               std::string& lost_node) const {
    std::vector<PortGroup> groups;
    std::map<std::string, std::size_t> places;
    for (const PodPointer& pod : pods) {
        if (!can_be_endpoint(*pod)) continue;
        std::string address = address_of(*pod, ipv6);
        if (address.empty()) continue;
        const auto node = nodes_.find({"", pod->spec.node_name});
        if (!node && !service.spec.publish_not_ready_addresses) {
            lost_node = pod->spec.node_name;
            continue;
        }
        std::vector<EndpointPort> ports = ports_of(service, *pod);
        const auto [place, is_new] = places.try_emplace(port_key(ports), groups.size());
        if (is_new) groups.push_back({std::move(ports), {}});
        groups[place->second].endpoints.push_back(make_endpoint(service, *pod, node.get(), std::move(address)));
    }
    return groups;
}

EndpointSlice EndpointSliceController::fresh_slice(const Service& service, const std::string& address_type) const {
    EndpointSlice slice;
    slice.metadata.namespace_ = service.metadata.namespace_;
    slice.metadata.generate_name = service.metadata.name + "-";
    slice.metadata.owner_references = {objects::controller_reference(service)};
    slice.metadata.labels = service.metadata.labels;
    slice.metadata.labels.erase(HeadlessLabel);
    if (is_headless(service)) slice.metadata.labels[HeadlessLabel] = "";
    slice.metadata.labels[ServiceNameLabel] = service.metadata.name;
    slice.metadata.labels[ManagedByLabel] = SliceController;
    slice.address_type = address_type;
    return slice;
}

Result<ControllerPtr> make_endpoint_slice(Context& context) { return make_controller<EndpointSliceController>(context); }

}  // namespace porthole::controllers
