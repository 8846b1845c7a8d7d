#pragma once
#include "kubelet/pod/resources.h"

namespace porthole::kubelet {

/// The values of downward-API references to the node and to the pod's addresses.
struct DownwardContext {
    std::vector<std::string> host_addresses, pod_addresses;
    ResourceList node_allocatable;  ///< used for limits that are not set
};

/// The value of a fieldRef such as "metadata.labels['app']" or "status.podIP". Error: BadRequest for an unsupported path.
Result<std::string> field_value(const core::Pod& pod, const std::string& path, const DownwardContext& context);

/// The value of a resourceFieldRef such as "limits.cpu", in units of its divisor, rounded up.
Result<std::string> resource_value(const core::Pod& pod, const core::ResourceFieldSelector& selector, const std::string& own_container,
                                   const DownwardContext& context);

/// Maps as files show them: a line `key="escaped value"` for each, sorted.
std::string format_map(const std::map<std::string, std::string>& map);

}  // namespace porthole::kubelet
