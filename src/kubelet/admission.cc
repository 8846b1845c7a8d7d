#include "kubelet/admission.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "kubelet/container/security_context.h"
#include "objects/declared_features.h"
#include "objects/node_selectors.h"

namespace porthole::kubelet {
namespace {

constexpr const char* OsLabel = "kubernetes.io/os";

std::optional<Rejection> check_resources(const core::Pod& pod, const AdmissionContext& context) {
    const std::int64_t pods = amount_of(context.allocatable, "pods").value();
    const auto lacking = [](const std::string& name, std::int64_t requested, std::int64_t used, std::int64_t capacity) {
        return Rejection{"OutOf" + name, "Node didn't have enough resource: " + name + ", requested: " + std::to_string(requested) +
                                             ", used: " + std::to_string(used) + ", capacity: " + std::to_string(capacity)};
    };
    if (static_cast<std::int64_t>(context.active.size()) + 1 > pods)
        return lacking("pods", 1, static_cast<std::int64_t>(context.active.size()), pods);
    const auto& extended = pod.status.extended_resource_claim_status;
    for (const auto& [name, wanted] : objects::pod_requests(pod.spec)) {
        // A resource of others that this node is not known to have was counted by whoever chose the node.
        if (wanted.is_zero() || (is_extended_resource(name) && !context.allocatable.contains(name))) continue;
        const auto is_of_claim = [&](const core::ContainerExtendedResourceRequest& one) { return one.resource_name == name; };
        if (extended && std::ranges::any_of(extended->request_mappings, is_of_claim)) continue;
        Quantity used;
        for (const auto& other : context.active) used += amount_of(objects::pod_requests(other->spec), name);
        const Quantity capacity = amount_of(context.allocatable, name);
        if (used + wanted <= capacity) continue;
        const bool milli = name == "cpu";
        const auto number = [&](const Quantity& amount) { return milli ? amount.milli_value() : amount.value(); };
        return lacking(name, number(wanted), number(used), number(capacity));
    }
    return std::nullopt;
}

using HostPort = std::tuple<std::string, std::string, std::int32_t>;  // address, protocol, port

std::set<HostPort> host_ports(const core::Pod& pod) {
    std::set<HostPort> ports;
    const auto add = [&](const core::Container& container) {
        for (const core::ContainerPort& port : container.ports)
            if (port.host_port > 0)
                ports.emplace(port.host_ip.empty() ? "0.0.0.0" : port.host_ip, port.protocol.empty() ? "TCP" : port.protocol,
                              port.host_port);
    };
    std::ranges::for_each(pod.spec.containers, add);
    // The other init containers have ended when the pod's containers run.
    for (const core::Container& container : pod.spec.init_containers)
        if (objects::is_sidecar(container)) add(container);
    return ports;
}

bool clash(const HostPort& a, const HostPort& b) {
    const auto& [a_address, a_protocol, a_port] = a;
    const auto& [b_address, b_protocol, b_port] = b;
    return a_port == b_port && a_protocol == b_protocol && (a_address == b_address || a_address == "0.0.0.0" || b_address == "0.0.0.0");
}

std::optional<Rejection> check_ports(const core::Pod& pod, const AdmissionContext& context) {
    for (const HostPort& wanted : host_ports(pod))
        for (const auto& other : context.active)
            for (const HostPort& taken : host_ports(*other))
                if (clash(wanted, taken))
                    return Rejection{"NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"};
    return std::nullopt;
}

/// Sysctls that are namespaced and cannot harm other pods.
bool is_safe_sysctl(const std::string& name) {
    static const std::set<std::string> Safe = {
        "kernel.shm_rmid_forced",           "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",     "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",      "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",          "net.ipv4.tcp_wmem",
    };
    std::string dotted = name;
    std::replace(dotted.begin(), dotted.end(), '/', '.');
    return Safe.contains(dotted);
}

/// A pod that asks for a profile does not run without one. Whether a profile of this name is loaded is for the runtime to say.
std::optional<Rejection> check_app_armor(const core::Pod& pod, const AdmissionContext& context) {
    const auto refused = [](const std::string& why) { return Rejection{"AppArmor", "Cannot enforce AppArmor: " + why}; };
    const auto confines = [](const schema::Box<core::AppArmorProfile>& profile) { return profile && profile->type != "Unconfined"; };
    bool needed = pod.spec.security_context && confines(pod.spec.security_context->app_armor_profile), unnamed = false;
    for (const ContainerSpec& spec : all_containers(pod)) {
        const auto profile = effective_security_context(pod, spec.container).app_armor_profile;
        needed = needed || confines(profile);
        unnamed = unnamed || (profile && profile->type == "Localhost" && trim(profile->localhost_profile.value_or("")).empty());
    }
    if (needed && !context.app_armor) return refused("AppArmor is not enabled on the host");
    if (unnamed) return refused("invalid empty AppArmor profile name");
    return std::nullopt;
}

}  // namespace

std::optional<Rejection> check_resize(const core::Pod& pod, const AdmissionContext& context) {
    for (const char* name : {"cpu", "memory"}) {
        const Quantity wanted = amount_of(objects::pod_requests(pod.spec), name), capacity = amount_of(context.allocatable, name);
        Quantity used;
        for (const auto& other : context.active)
            if (other->metadata.uid != pod.metadata.uid) used += amount_of(objects::pod_requests(other->spec), name);
        if (used + wanted <= capacity) continue;
        const bool milli = name == std::string_view("cpu");
        const auto number = [&](const Quantity& amount) { return std::to_string(milli ? amount.milli_value() : amount.value()); };
        const std::string requested = std::string(name) + ", requested: " + number(wanted);
        if (wanted > capacity)
            return Rejection{"Infeasible", "Node didn't have enough capacity: " + requested + ", capacity: " + number(capacity)};
        return Rejection{"Deferred",
                         "Node didn't have enough resource: " + requested + ", used: " + number(used) + ", capacity: " + number(capacity)};
    }
    return std::nullopt;
}

std::optional<Rejection> admit(const core::Pod& pod, const windows::Verdict& verdict, const AdmissionContext& context) {
    if (const auto wanted = pod.spec.node_selector.find(OsLabel);
        wanted != pod.spec.node_selector.end() && wanted->second != context.operating_system)
        return Rejection{"PodOSSelectorNodeLabelDoesNotMatch",
                         "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"};
    if (context.identify_pod_os && pod.spec.os && pod.spec.os->name != context.operating_system)
        return Rejection{"PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"};
    if (verdict.refusal) return Rejection{verdict.refusal->reason, verdict.refusal->message};
    if (context.memory_pressure && !is_critical_pod(pod) && objects::qos_class(pod.spec) == core::PodQOSClass::BestEffort)
        return Rejection{"Evicted", "The node had condition: [MemoryPressure]. "};
    const auto declared = objects::features_of_node(context.operating_system);
    if (const std::string missing = objects::missing_features(objects::features_to_run(pod.spec), declared); !missing.empty())
        return Rejection{"PodFeatureUnsupported", "Pod requires node features that are not available: " + missing};
    const bool has_claims = !pod.spec.resource_claims.empty() || pod.status.extended_resource_claim_status;
    if (has_claims && !context.prepares_devices)
        return Rejection{"DynamicResourcesNotSupported", "pod has resource claims, whose devices this node does not prepare"};
    if (pod.spec.security_context)
        for (const core::Sysctl& sysctl : pod.spec.security_context->sysctls)
            if (!is_safe_sysctl(sysctl.name))
                return Rejection{"SysctlForbidden", "forbidden sysctl: \"" + sysctl.name + "\" not allowlisted"};
    if (context.operating_system != "windows")
        if (auto refused = check_app_armor(pod, context)) return refused;
    if (!objects::accepts_node(pod.spec, context.node_labels, pod.spec.node_name))
        return Rejection{"NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"};
    if (auto lacking = check_resources(pod, context)) return lacking;
    return check_ports(pod, context);
}

}  // namespace porthole::kubelet
