#include "controllers/endpoints/slice_mirroring.h"

#include <algorithm>
#include <map>

#include "controllers/endpoints/port_key.h"
#include "controllers/endpoints/service_pods.h"
#include "controllers/framework/pod_control.h"
#include "objects/owners.h"

namespace porthole::controllers {

using client::NamespacedName;
using client::Requeue;
using namespace endpoints;

namespace {

constexpr const char* MirroringController = "endpointslicemirroring-controller.k8s.io";
constexpr std::size_t MostMirrored = 1000, MostInSubset = 1000;
constexpr std::size_t MostCopied = 16 << 20;  ///< bytes of labels and annotations, in all slices of one Endpoints

bool is_address(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF:.") == text.npos && text.find_first_of(":.") != text.npos;
}

std::vector<EndpointPort> mirror_ports(const std::vector<api::core::v1::EndpointPort>& ports) {
    std::vector<EndpointPort> mirrored;
    for (const auto& port : ports) {
        EndpointPort& result = mirrored.emplace_back();
        result.name = port.name;
        result.protocol = port.protocol.empty() ? "TCP" : port.protocol;
        result.port = port.port;
        result.app_protocol = port.app_protocol;
    }
    return mirrored;
}

Endpoint mirror_address(const api::core::v1::EndpointAddress& address, bool ready) {
    Endpoint endpoint;
    endpoint.addresses = {address.ip};
    endpoint.conditions.ready = ready;
    endpoint.node_name = address.node_name;
    endpoint.target_ref = address.target_ref;
    if (!address.hostname.empty()) endpoint.hostname = address.hostname;
    return endpoint;
}

/// Subsets of different ports get a slice each, with the labels and annotations of the Endpoints: a quarter of a megabyte, for each of
/// tens of thousands of subsets.
std::size_t most_groups(const api::core::v1::Endpoints& endpoints) {
    std::size_t copied = 1;
    for (const auto* texts : {&endpoints.metadata.labels, &endpoints.metadata.annotations})
        for (const auto& [key, value] : *texts) copied += key.size() + value.size();
    return std::max<std::size_t>(MostCopied / copied, 1);
}

EndpointSlice fresh_slice(const api::core::v1::Endpoints& endpoints, bool ipv6) {
    EndpointSlice slice;
    slice.metadata.namespace_ = endpoints.metadata.namespace_;
    slice.metadata.generate_name = endpoints.metadata.name + "-";
    slice.metadata.owner_references = {objects::controller_reference(endpoints)};
    slice.metadata.labels = endpoints.metadata.labels;
    slice.metadata.labels[ServiceNameLabel] = endpoints.metadata.name;
    slice.metadata.labels[ManagedByLabel] = MirroringController;
    slice.metadata.annotations = endpoints.metadata.annotations;
    for (const char* own : {"kubectl.kubernetes.io/last-applied-configuration", TriggerTimeAnnotation})
        slice.metadata.annotations.erase(own);
    slice.address_type = ipv6 ? "IPv6" : "IPv4";
    return slice;
}

}  // namespace

SliceMirroringController::SliceMirroringController(Context& context)
    : Controller(context.loop, context.log, {.name = "endpointslice-mirroring-controller", .workers = 5, .max_retries = 15},
                 {.first = std::chrono::seconds(1), .longest = std::chrono::seconds(100)}),
      events_(context.events.get("endpoint-slice-mirroring-controller")),
      services_(context.informers.get<Service>()),
      endpoints_(context.informers.get<Endpoints>()),
      slices_(context, MirroringController,
              [this](const NamespacedName& service) { queue().add_after(service, std::chrono::seconds(1)); }) {
    reconcile_each(services_);
    reconcile_each(endpoints_);
    depends_on(slices_.informer());
}

bool SliceMirroringController::should_mirror(const Endpoints* endpoints, const Service* service) const {
    if (!endpoints || !service || !service->spec.selector.empty()) return false;
    const auto& labels = endpoints->metadata.labels;
    const auto skip = labels.find("endpointslice.kubernetes.io/skip-mirror");
    if (skip != labels.end() && skip->second == "true") return false;
    return !endpoints->metadata.annotations.contains(LeaderAnnotation);
}

Task<Requeue> SliceMirroringController::reconcile(NamespacedName key) {
    const auto mirrored = endpoints_.find(key);
    const auto service = services_.find(key);
    std::vector<EndpointSlice> existing = slices_.slices_of(key);
    const bool wanted = should_mirror(mirrored.get(), service.get());
    if (!wanted && existing.empty()) co_return Requeue::never();
    if (!slices_.up_to_date(key)) co_return Requeue::in(std::chrono::seconds(1));
    SliceChanges changes;
    for (const bool ipv6 : {false, true}) {
        std::vector<PortGroup> groups;
        if (wanted) groups = group_by_ports(*mirrored, ipv6);
        if (groups.empty()) continue;
        std::vector<EndpointSlice> of_family;
        std::erase_if(existing, [&](const EndpointSlice& slice) {
            if ((slice.address_type == "IPv6") != ipv6) return false;
            of_family.push_back(slice);
            return true;
        });
        SliceChanges part =
            pack_slices(std::move(groups), std::move(of_family), fresh_slice(*mirrored, ipv6), MostMirrored, Renew::Metadata);
        std::ranges::move(part.create, std::back_inserter(changes.create));
        std::ranges::move(part.update, std::back_inserter(changes.update));
        std::ranges::move(part.remove, std::back_inserter(changes.remove));
    }
    std::ranges::move(existing, std::back_inserter(changes.remove));
    if (mirrored && mirrored->metadata.deletion_timestamp) changes.create.clear();
    Result<void> applied = co_await slices_.apply(key, std::move(changes));
    if (!applied && !is_namespace_terminating(applied.error())) co_return std::move(applied).error();
    co_return Requeue::never();
}

std::vector<PortGroup> SliceMirroringController::group_by_ports(const Endpoints& endpoints, bool ipv6) {
    std::vector<PortGroup> groups;
    std::map<std::string, std::size_t> places;
    const std::size_t most = most_groups(endpoints);
    bool too_many = false;
    for (const auto& subset : endpoints.subsets) {
        std::vector<EndpointPort> ports = mirror_ports(subset.ports);
        std::vector<Endpoint> made;
        const auto add = [&](const std::vector<api::core::v1::EndpointAddress>& addresses, bool ready) {
            for (const auto& address : addresses) {
                if (!is_address(address.ip))
                    events_.warning(endpoints, "InvalidIPAddress", "Skipped invalid IP address: " + address.ip);
                else if (is_ipv6(address.ip) == ipv6 && made.size() < MostInSubset)
                    made.push_back(mirror_address(address, ready));
            }
        };
        add(subset.addresses, true);
        add(subset.not_ready_addresses, false);
        if (subset.addresses.size() + subset.not_ready_addresses.size() > MostInSubset)
            events_.warning(endpoints, "TooManyAddressesToMirror",
                            "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset.");
        if (made.empty()) continue;
        const std::string key = port_key(ports);
        too_many |= groups.size() == most && !places.contains(key);
        if (too_many) continue;
        const auto [place, is_new] = places.try_emplace(key, groups.size());
        if (is_new)
            groups.push_back({std::move(ports), std::move(made)});
        else
            std::ranges::move(made, std::back_inserter(groups[place->second].endpoints));
    }
    // Differs from Kubernetes, which has no bound.
    if (too_many)
        events_.warning(endpoints, "TooManySubsetsToMirror",
                        "A max of " + std::to_string(most) + " subsets of different ports can be mirrored with these annotations.");
    return groups;
}

Result<ControllerPtr> make_endpoint_slice_mirroring(Context& context) { return make_controller<SliceMirroringController>(context); }

}  // namespace porthole::controllers
