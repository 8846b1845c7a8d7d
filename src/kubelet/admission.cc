#include "kubelet/admission.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "windows/support.h"

namespace porthole::kubelet {
namespace {

using Labels = std::map<std::string, std::string>;

constexpr const char* OsLabel = "kubernetes.io/os";

std::optional<std::int64_t> number_of(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

bool matches_requirement(const core::NodeSelectorRequirement& requirement, const std::optional<std::string>& value) {
    const auto& values = requirement.values;
    const bool listed = value && std::find(values.begin(), values.end(), *value) != values.end();
    if (requirement.operator_ == "In") return listed;
    if (requirement.operator_ == "NotIn") return !listed;
    if (requirement.operator_ == "Exists") return value.has_value();
    if (requirement.operator_ == "DoesNotExist") return !value.has_value();
    if (!value || values.size() != 1) return false;
    const auto mine = number_of(*value), bound = number_of(values.front());
    if (!mine || !bound) return false;
    return requirement.operator_ == "Gt" ? *mine > *bound : requirement.operator_ == "Lt" && *mine < *bound;
}

bool matches_term(const core::NodeSelectorTerm& term, const Labels& labels, const std::string& node_name) {
    if (term.match_expressions.empty() && term.match_fields.empty()) return false;
    const auto label = [&](const std::string& key) {
        const auto found = labels.find(key);
        return found == labels.end() ? std::nullopt : std::optional(found->second);
    };
    return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                       [&](const auto& one) { return matches_requirement(one, label(one.key)); }) &&
           std::all_of(term.match_fields.begin(), term.match_fields.end(),
                       [&](const auto& one) { return one.key == "metadata.name" && matches_requirement(one, node_name); });
}

std::optional<Rejection> check_resources(const core::Pod& pod, const AdmissionContext& context) {
    const std::int64_t pods = amount_of(context.allocatable, "pods").value();
    const auto lacking = [](const std::string& name, std::int64_t requested, std::int64_t used, std::int64_t capacity) {
        return Rejection{"OutOf" + name, "Node didn't have enough resource: " + name + ", requested: " + std::to_string(requested) +
                                             ", used: " + std::to_string(used) + ", capacity: " + std::to_string(capacity)};
    };
    if (static_cast<std::int64_t>(context.active.size()) + 1 > pods)
        return lacking("pods", 1, static_cast<std::int64_t>(context.active.size()), pods);
    for (const auto& [name, wanted] : pod_requests(pod)) {
        if (wanted.is_zero()) continue;
        Quantity used;
        for (const auto& other : context.active) used += amount_of(pod_requests(*other), name);
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
    for (const core::Container& container : pod.spec.containers)
        for (const core::ContainerPort& port : container.ports)
            if (port.host_port > 0)
                ports.emplace(port.host_ip.empty() ? "0.0.0.0" : port.host_ip, port.protocol.empty() ? "TCP" : port.protocol,
                              port.host_port);
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

}  // namespace

bool matches_node(const core::Pod& pod, const Labels& labels, const std::string& node_name) {
    for (const auto& [key, value] : pod.spec.node_selector) {
        const auto found = labels.find(key);
        if (found == labels.end() || found->second != value) return false;
    }
    if (!pod.spec.affinity || !pod.spec.affinity->node_affinity) return true;
    const auto& required = pod.spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
    if (!required) return true;
    return std::any_of(required->node_selector_terms.begin(), required->node_selector_terms.end(),
                       [&](const core::NodeSelectorTerm& term) { return matches_term(term, labels, node_name); });
}

std::optional<Rejection> admit(const core::Pod& pod, const AdmissionContext& context) {
    if (const auto wanted = pod.spec.node_selector.find(OsLabel);
        wanted != pod.spec.node_selector.end() && wanted->second != context.operating_system)
        return Rejection{"PodOSSelectorNodeLabelDoesNotMatch",
                         "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"};
    if (pod.spec.os && pod.spec.os->name != context.operating_system)
        return Rejection{"PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"};
    if (context.operating_system == "windows")
        if (auto refusal = windows::pod_refusal(pod.spec)) return Rejection{std::move(refusal->reason), std::move(refusal->message)};
    if (context.memory_pressure && !is_critical_pod(pod) && qos_class_of(pod) == core::PodQOSClass::BestEffort)
        return Rejection{"Evicted", "The node had condition: [MemoryPressure]. "};
    // Running as root of the node's own user namespace is not what was asked for.
    if (context.operating_system != "windows" && !pod.spec.host_users.value_or(true))
        return Rejection{"UserNamespacesNotSupported",
                         "pod asks for a user namespace (hostUsers: false), which this node does not support"};
    if (pod.spec.security_context)
        for (const core::Sysctl& sysctl : pod.spec.security_context->sysctls)
            if (!is_safe_sysctl(sysctl.name))
                return Rejection{"SysctlForbidden", "forbidden sysctl: \"" + sysctl.name + "\" not allowlisted"};
    if (!matches_node(pod, context.node_labels, pod.spec.node_name))
        return Rejection{"NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"};
    if (auto lacking = check_resources(pod, context)) return lacking;
    return check_ports(pod, context);
}

}  // namespace porthole::kubelet
