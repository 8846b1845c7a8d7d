#include "controllers/endpoints/endpoints.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/result.h"
#include "controllers/endpoints/port_key.h"
#include "controllers/framework/pod_control.h"
#include "objects/pods.h"

namespace porthole::controllers {

using api::core::v1::EndpointAddress;
using api::core::v1::EndpointSubset;
using client::NamespacedName;
using client::Requeue;

namespace endpoints {
namespace {

constexpr std::size_t AddressLimit = 1000;
constexpr Duration CatchUpTime = std::chrono::milliseconds(100);
constexpr const char* OverCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";
constexpr const char* EndpointsManagedByLabel = "endpoints.kubernetes.io/managed-by";

bool port_less(const api::core::v1::EndpointPort& a, const api::core::v1::EndpointPort& b) {
    return std::tie(a.name, a.port, a.protocol) < std::tie(b.name, b.port, b.protocol);
}

std::vector<api::core::v1::EndpointPort> ports_of(const Service& service, const Pod& pod) {
    std::vector<api::core::v1::EndpointPort> ports;
    PodPorts pod_ports(pod);
    for (const auto& port : service.spec.ports) {
        const auto number = pod_ports.find(port);
        if (!number) continue;
        api::core::v1::EndpointPort& result = ports.emplace_back();
        result.name = port.name;
        result.port = *number;
        result.protocol = port.protocol;
        result.app_protocol = port.app_protocol;
    }
    std::ranges::sort(ports, port_less);
    return ports;
}

EndpointAddress address(const Service& service, const Pod& pod, std::string ip) {
    EndpointAddress result;
    result.ip = std::move(ip);
    if (!pod.spec.node_name.empty()) result.node_name = pod.spec.node_name;
    if (!pod.spec.hostname.empty() && pod.spec.subdomain == service.metadata.name) result.hostname = pod.spec.hostname;
    result.target_ref = target_reference(pod);
    return result;
}

}  // namespace

std::vector<EndpointSubset> make_subsets(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods) {
    const bool publish = service.spec.publish_not_ready_addresses;
    const bool ipv6 = ip_families(service).front() == "IPv6";
    std::vector<EndpointSubset> subsets;
    std::map<std::string, std::size_t> places;
    for (const auto& pod : pods) {
        if (!can_be_endpoint(*pod) || (objects::is_terminating(*pod) && !publish)) continue;
        std::string ip = address_of(*pod, ipv6);
        if (ip.empty()) continue;
        std::vector<api::core::v1::EndpointPort> ports = ports_of(service, *pod);
        if (ports.empty() && !(is_headless(service) && service.spec.ports.empty())) continue;
        const auto [place, is_new] = places.try_emplace(port_key(ports), subsets.size());
        if (is_new) subsets.emplace_back().ports = std::move(ports);
        EndpointSubset& subset = subsets[place->second];
        auto& addresses = publish || objects::is_ready(*pod) ? subset.addresses : subset.not_ready_addresses;
        addresses.push_back(address(service, *pod, std::move(ip)));
    }
    const auto by_ip = [](const EndpointAddress& a, const EndpointAddress& b) {
        return std::tie(a.ip, a.target_ref->uid) < std::tie(b.ip, b.target_ref->uid);
    };
    for (EndpointSubset& subset : subsets) {
        std::ranges::sort(subset.addresses, by_ip);
        std::ranges::sort(subset.not_ready_addresses, by_ip);
    }
    std::ranges::sort(subsets, [](const EndpointSubset& a, const EndpointSubset& b) {
        return std::ranges::lexicographical_compare(a.ports, b.ports, port_less);
    });
    return subsets;
}

bool truncate(std::vector<EndpointSubset>& subsets, std::size_t limit) {
    std::size_t left = limit, dropped = 0;
    for (const auto member : {&EndpointSubset::addresses, &EndpointSubset::not_ready_addresses}) {
        std::size_t total = 0;
        for (const EndpointSubset& subset : subsets) total += (subset.*member).size();
        const std::size_t room = std::min(left, total);
        for (EndpointSubset& subset : subsets) {
            auto& addresses = subset.*member;
            if (addresses.empty()) continue;
            const std::size_t share = (addresses.size() * room + total - 1) / total;
            const std::size_t kept = std::min(left, share);
            dropped += addresses.size() - kept;
            addresses.resize(kept);
            left -= kept;
        }
    }
    std::erase_if(subsets, [](const EndpointSubset& subset) { return subset.addresses.empty() && subset.not_ready_addresses.empty(); });
    return dropped > 0;
}

}  // namespace endpoints

using namespace endpoints;

EndpointsController::EndpointsController(Context& context)
    : Controller(context.loop, context.log, {.name = "endpoints-controller", .workers = 5, .max_retries = 15}),
      context_(context),
      events_(context.events.get("endpoint-controller")),
      service_pods_(context),
      endpoints_(context.informers.get<Endpoints>()),
      pace_(context.loop, TimePerPod) {
    reconcile_each(service_pods_.services());
    depends_on(service_pods_.pods());
    service_pods_.follow_pods([this](const NamespacedName& key) { queue().add(key); });
    // Only what somebody has deleted is missed; what we write ourselves is of no interest.
    depends_on(endpoints_).subscribe({.added = {}, .updated = {}, .deleted = [this](const auto& gone) {
                                          if (service_pods_.services().find(client::key_of(*gone))) queue().add(client::key_of(*gone));
                                      }});
}

/// Services may have gone while no controller ran.
Task<> EndpointsController::background() {
    for (const auto& endpoints : endpoints_.list())
        if (!endpoints->metadata.annotations.contains(LeaderAnnotation)) queue().add(client::key_of(*endpoints));
    co_return {};
}

Task<Requeue> EndpointsController::reconcile(NamespacedName key) {
    const auto service = service_pods_.services().find(key);
    const auto current = endpoints_.find(key);
    if (!service) {
        trigger_times_.forget(key);
        writes_.forget(key);
        pace_.forget(key);
        if (!current) co_return Requeue::never();
        CO_TRY_VOID(ignore_not_found(co_await context_.client.remove<Endpoints>(key, {.uid = current->metadata.uid})));
        co_return Requeue::never();
    }
    if (service->spec.selector.empty() || service->spec.type == "ExternalName") co_return Requeue::never();
    // An update of an older version would be refused. Meanwhile, more pods may change.
    if (current && writes_.is_stale(*current)) co_return Requeue::in(CatchUpTime);
    if (const Duration wait = pace_.wait(key); wait > Duration::zero()) co_return Requeue::in(wait);
    const MonotonicTime began = context_.loop.now();
    const auto pods = service_pods_.pods_of(*service);
    Endpoints wanted = desired(*service, pods, current.get());
    const Timestamp trigger = trigger_times_.next(*service, pods);
    pace_.looked(key, pods.size(), began);
    const bool same = current && current->subsets == wanted.subsets && current->metadata.labels == wanted.metadata.labels &&
                      current->metadata.annotations == wanted.metadata.annotations;
    if (same) co_return Requeue::never();
    if (trigger.is_zero())
        wanted.metadata.annotations.erase(TriggerTimeAnnotation);
    else
        wanted.metadata.annotations[TriggerTimeAnnotation] = trigger.to_string();
    CO_TRY_VOID(co_await write(*service, std::move(wanted), current != nullptr));
    co_return Requeue::never();
}

EndpointsController::Endpoints EndpointsController::desired(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods,
                                                            const Endpoints* current) {
    Endpoints wanted;
    if (current) wanted = *current;
    wanted.metadata.namespace_ = service.metadata.namespace_;
    wanted.metadata.name = service.metadata.name;
    wanted.metadata.labels = service.metadata.labels;
    wanted.metadata.labels.erase(HeadlessLabel);
    if (is_headless(service)) wanted.metadata.labels[HeadlessLabel] = "";
    wanted.metadata.labels[EndpointsManagedByLabel] = "endpoint-controller";
    wanted.subsets = make_subsets(service, pods);
    if (truncate(wanted.subsets, AddressLimit))
        wanted.metadata.annotations[OverCapacityAnnotation] = "truncated";
    else
        wanted.metadata.annotations.erase(OverCapacityAnnotation);
    return wanted;
}

Task<> EndpointsController::write(const Service& service, Endpoints wanted, bool exists) {
    Task<Endpoints> writing = exists ? context_.client.update(std::move(wanted)) : context_.client.create(std::move(wanted));
    const Result<Endpoints> written = co_await std::move(writing);
    if (written) {
        writes_.note(*written);
        co_return {};
    }
    const Error& error = written.error();
    const bool ordinary = is_cancelled(error) || error.reason == Reason::Conflict || error.reason == Reason::AlreadyExists ||
                          error.reason == Reason::NotFound;
    if (is_namespace_terminating(error)) co_return {};
    if (!ordinary)
        events_.warning(service, exists ? "FailedToUpdateEndpoint" : "FailedToCreateEndpoint",
                        fmt::format("Failed to {} endpoint for service {}: {}", exists ? "update" : "create",
                                    client::key_of(service).text(), error.message));
    co_return error;
}

Result<ControllerPtr> make_endpoints(Context& context) { return make_controller<EndpointsController>(context); }

}  // namespace porthole::controllers
