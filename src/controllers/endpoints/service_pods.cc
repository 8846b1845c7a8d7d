#include "controllers/endpoints/service_pods.h"

#include <algorithm>
#include <set>

#include "objects/conditions.h"
#include "objects/pod_resources.h"
#include "objects/pods.h"
#include "objects/selectors.h"

namespace porthole::controllers::endpoints {
namespace {

using client::NamespacedName;

/// One pair of the selector is enough to find the service by; the rest is compared.
std::vector<std::string> selector_key(const Service& service) {
    if (service.spec.selector.empty()) return {};
    const auto& [key, value] = *service.spec.selector.begin();
    return {label_key(service.metadata.namespace_, key, value)};
}

/// Whether any endpoint would look different.
bool differs(const Pod& old, const Pod& now) {
    return old.metadata.labels != now.metadata.labels || objects::is_terminating(old) != objects::is_terminating(now) ||
           objects::is_ready(old) != objects::is_ready(now) || can_be_endpoint(old) != can_be_endpoint(now) ||
           !(old.status.pod_ips == now.status.pod_ips) || old.status.pod_ip != now.status.pod_ip ||
           old.spec.node_name != now.spec.node_name || old.spec.hostname != now.spec.hostname || old.spec.subdomain != now.spec.subdomain ||
           old.metadata.uid != now.metadata.uid;
}

std::string_view protocol_of(const auto& port) { return port.protocol.empty() ? std::string_view("TCP") : port.protocol; }

}  // namespace

ServicePods::ServicePods(Context& context)
    : services_(context.informers.get<Service>()),
      pods_(context.informers.get<Pod>()),
      services_by_label_(services_.add_index(selector_key)),
      pods_by_label_(context.pods_by_label()) {}

std::vector<std::shared_ptr<const Pod>> ServicePods::pods_of(const Service& service) const {
    auto pods = pods_by_label_.find(selector_key(service).at(0));
    std::erase_if(pods, [&](const auto& pod) { return !objects::contains_all(pod->metadata.labels, service.spec.selector); });
    return pods;
}

void ServicePods::visit_services(const Pod& pod, const std::function<void(const NamespacedName&)>& affected) const {
    for (const std::string& key : label_keys(pod.metadata))
        for (const auto& service : services_by_label_.find(key))
            if (objects::contains_all(pod.metadata.labels, service->spec.selector)) affected(client::key_of(*service));
}

void ServicePods::follow_pods(std::function<void(const NamespacedName&)> affected) {
    pods_.subscribe({.added = [this, affected](const auto& pod) { visit_services(*pod, affected); },
                     .updated =
                         [this, affected](const auto& old, const auto& now) {
                             if (!differs(*old, *now)) return;
                             if (old->metadata.labels != now->metadata.labels) visit_services(*old, affected);
                             visit_services(*now, affected);
                         },
                     .deleted = [this, affected](const auto& pod) { visit_services(*pod, affected); }});
}

std::optional<std::int32_t> PodPorts::find(const ServicePort& port) {
    if (port.target_port.is_int()) return port.target_port.is_zero() ? port.port : port.target_port.as_int();
    if (!named_) {
        named_.emplace();
        const auto add = [&](const api::core::v1::Container& container) {
            for (const auto& one : container.ports)
                named_->emplace(std::pair(std::string_view(one.name), protocol_of(one)), one.container_port);
        };
        for (const auto& container : pod_.spec.containers) add(container);
        for (const auto& container : pod_.spec.init_containers)
            if (objects::is_sidecar(container)) add(container);  // the others have ended when the pod serves
    }
    const auto found = named_->find({port.target_port.as_string(), protocol_of(port)});
    return found == named_->end() ? std::nullopt : std::optional(found->second);
}

bool can_be_endpoint(const Pod& pod) { return !objects::is_terminal(pod) && (!pod.status.pod_ip.empty() || !pod.status.pod_ips.empty()); }

bool is_ipv6(const std::string& address) { return address.find(':') != address.npos; }

std::string address_of(const Pod& pod, bool ipv6) {
    for (const auto& address : pod.status.pod_ips)
        if (!address.ip.empty() && is_ipv6(address.ip) == ipv6) return address.ip;
    return is_ipv6(pod.status.pod_ip) == ipv6 ? pod.status.pod_ip : "";
}

std::vector<std::string> ip_families(const Service& service) {
    if (!service.spec.ip_families.empty()) return service.spec.ip_families;
    return {is_ipv6(service.spec.cluster_ip) ? "IPv6" : "IPv4"};
}

bool is_headless(const Service& service) { return service.spec.cluster_ip == "None"; }

api::core::v1::ObjectReference target_reference(const Pod& pod) {
    api::core::v1::ObjectReference reference;
    reference.kind = "Pod";
    reference.namespace_ = pod.metadata.namespace_;
    reference.name = pod.metadata.name;
    reference.uid = pod.metadata.uid;
    return reference;
}

Timestamp TriggerTimes::next(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods) {
    const auto [entry, is_new] = seen_.try_emplace(client::key_of(service));
    Seen& seen = entry->second;
    Timestamp earliest;
    const auto consider = [&](Timestamp time, Timestamp& last) {
        if (time <= last) return;
        last = time;
        if (earliest.is_zero() || time < earliest) earliest = time;
    };
    std::map<std::string, Timestamp> present;
    for (const auto& pod : pods) {
        const auto* ready = objects::find_condition(pod->status.conditions, "Ready");
        Timestamp last = seen.pods[pod->metadata.name];
        consider(ready ? ready->last_transition_time : Timestamp(), last);
        present[pod->metadata.name] = last;
    }
    seen.pods = std::move(present);
    consider(service.metadata.creation_timestamp, seen.service);
    return is_new ? service.metadata.creation_timestamp : earliest;
}

}  // namespace porthole::controllers::endpoints
