#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers::endpoints {

using api::core::v1::Pod;
using api::core::v1::Service;
using api::core::v1::ServicePort;

/// Which pods a service selects, and which services select a pod, by an index of labels instead of a search.
class ServicePods {
public:
    explicit ServicePods(Context& context);

    client::Informer<Service>& services() { return services_; }
    client::Informer<Pod>& pods() { return pods_; }
    /// Requires: the service has a selector.
    std::vector<std::shared_ptr<const Pod>> pods_of(const Service& service) const;
    /// Calls `affected` for every service that a change of a pod concerns.
    void follow_pods(std::function<void(const client::NamespacedName&)> affected);

private:
    void visit_services(const Pod& pod, const std::function<void(const client::NamespacedName&)>& affected) const;

    client::Informer<Service>& services_;
    client::Informer<Pod>& pods_;
    client::Informer<Service>::Index services_by_label_;
    PodIndex pods_by_label_;
};

/// Where the ports of services lead in a pod, which outlives it.
class PodPorts {
public:
    explicit PodPorts(const Pod& pod) : pod_(pod) {}
    /// nullopt if the pod has none of that name.
    std::optional<std::int32_t> find(const ServicePort& port);

private:
    const Pod& pod_;
    /// By name and protocol, once a name has been asked for: both sides may have thousands.
    std::optional<std::map<std::pair<std::string_view, std::string_view>, std::int32_t>> named_;
};
/// Has an address and is not terminal.
bool can_be_endpoint(const Pod& pod);
bool is_ipv6(const std::string& address);
/// The pod's address of that family; "" if it has none.
std::string address_of(const Pod& pod, bool ipv6);
/// "IPv4" and "IPv6", the preferred first.
std::vector<std::string> ip_families(const Service& service);
bool is_headless(const Service& service);
api::core::v1::ObjectReference target_reference(const Pod& pod);

/// Records what caused the last change of each service's endpoints, for the annotation last-change-trigger-time.
class TriggerTimes {
public:
    /// The earliest change that has not been reported yet, at first the service's creation; zero if there is none with a time.
    Timestamp next(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods);
    void forget(const client::NamespacedName& service) { seen_.erase(service); }

private:
    struct Seen {
        Timestamp service;
        std::map<std::string, Timestamp> pods;
    };
    std::map<client::NamespacedName, Seen> seen_;
};
inline constexpr const char* TriggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";
/// Of Endpoints that are a lock of clients' leader election and no addresses of a service.
inline constexpr const char* LeaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
inline constexpr const char* HeadlessLabel = "service.kubernetes.io/headless";

}  // namespace porthole::controllers::endpoints
