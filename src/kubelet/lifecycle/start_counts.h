#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

/// How many starts of containers the kubelet has tried since it runs itself, and how many failed, by the reasons that a pod's status says.
/// Those of HostProcess containers are counted once more by themselves, as upstream's kubelet does on Windows, and pods with user
/// namespaces of their own on Linux.
class StartCounts {
public:
    void add_start(ContainerKind kind, bool host_process);
    void add_failure(ContainerKind kind, bool host_process, const std::string& reason);
    /// A pod with a user namespace of its own, whose sandbox or first containers could not be made if it has not `succeeded`.
    void add_user_namespaced_pod(bool succeeded);
    /// Counts that are 0 are left out.
    void append(std::string& out) const;

private:
    using Counts = std::map<std::string, std::uint64_t>;  // by labels
    Counts starts_, failures_, host_process_starts_, host_process_failures_, user_namespaced_, user_namespaced_failures_;
};

}  // namespace porthole::kubelet
