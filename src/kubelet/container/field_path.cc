#include "kubelet/container/field_path.h"

#include "base/strings.h"

namespace porthole::kubelet {
namespace {

/// "metadata.labels['app']" → "app" for prefix "metadata.labels".
std::optional<std::string> subscript(const std::string& path, const std::string& prefix) {
    if (!path.starts_with(prefix + "['") || !path.ends_with("']")) return std::nullopt;
    return path.substr(prefix.size() + 2, path.size() - prefix.size() - 4);
}

std::string value_or_empty(const std::map<std::string, std::string>& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? "" : found->second;
}

/// The resources of one container of the pod; nullptr if there is none of that name. Without copies: each variable of a container may ask.
const core::ResourceRequirements* find_resources(const core::Pod& pod, const std::string& container) {
    const auto in = [&](const auto& containers) -> const core::ResourceRequirements* {
        for (const auto& one : containers)
            if (one.name == container) return &one.resources;
        return nullptr;
    };
    if (const auto* found = in(pod.spec.init_containers)) return found;
    if (const auto* found = in(pod.spec.containers)) return found;
    return in(pod.spec.ephemeral_containers);
}

std::string in_units_of(const Quantity& amount, const Quantity& divisor, bool is_cpu) {
    const std::int64_t unit = divisor.is_zero() ? 1000 : divisor.milli_value();
    if (is_cpu || unit < 1000) return std::to_string((amount.milli_value() + unit - 1) / unit);
    const std::int64_t whole = unit / 1000;
    return std::to_string((amount.value() + whole - 1) / whole);
}

}  // namespace

std::string format_map(const std::map<std::string, std::string>& map) {
    return join(map, "\n", [](const auto& item) { return item.first + "=" + quote(item.second); });
}

Result<std::string> field_value(const core::Pod& pod, const std::string& path, const DownwardContext& context) {
    if (path == "metadata.name") return pod.metadata.name;
    if (path == "metadata.namespace") return pod.metadata.namespace_;
    if (path == "metadata.uid") return pod.metadata.uid;
    if (path == "metadata.labels") return format_map(pod.metadata.labels);
    if (path == "metadata.annotations") return format_map(pod.metadata.annotations);
    if (const auto key = subscript(path, "metadata.labels")) return value_or_empty(pod.metadata.labels, *key);
    if (const auto key = subscript(path, "metadata.annotations")) return value_or_empty(pod.metadata.annotations, *key);
    if (path == "spec.nodeName") return pod.spec.node_name;
    if (path == "spec.serviceAccountName") return pod.spec.service_account_name;
    const auto first = [](const std::vector<std::string>& list) { return list.empty() ? std::string() : list.front(); };
    if (path == "status.hostIP") return first(context.host_addresses);
    if (path == "status.hostIPs") return join(context.host_addresses, ",");
    if (path == "status.podIP") return first(context.pod_addresses);
    if (path == "status.podIPs") return join(context.pod_addresses, ",");
    return Error(Reason::BadRequest, "unsupported fieldPath: " + path);
}

Result<std::string> resource_value(const core::Pod& pod, const core::ResourceFieldSelector& selector, const std::string& own_container,
                                   const DownwardContext& context) {
    const std::string wanted = selector.container_name.empty() ? own_container : selector.container_name;
    const core::ResourceRequirements* const found = find_resources(pod, wanted);
    if (!found) return Error(Reason::BadRequest, "container " + wanted + " not found");
    const std::size_t dot = selector.resource.find('.');
    const std::string list = selector.resource.substr(0, dot);
    if (dot == std::string::npos || (list != "limits" && list != "requests"))
        return Error(Reason::BadRequest, "unsupported container resource : " + selector.resource);
    const std::string name = selector.resource.substr(dot + 1);
    Quantity amount = amount_of(list == "limits" ? found->limits : found->requests, name);
    // Without a limit a container may use all of the node.
    if (amount.is_zero() && list == "limits") amount = amount_of(context.node_allocatable, name);
    return in_units_of(amount, selector.divisor, name == "cpu");
}

}  // namespace porthole::kubelet
