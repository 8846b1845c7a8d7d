#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/cri/cri.h"
#include "runtime/task.h"

namespace porthole::kubelet {

/// What a container uses at a time, as its runtime says.
struct ContainerUse {
    std::string name;
    /// Nanoseconds since 1970.
    std::int64_t started_at = 0;
    cri::ContainerStats stats;
    /// Of the last moments.
    std::uint64_t nano_cores = 0;
};

/// What a pod with a running sandbox uses, by its running containers.
struct PodUse {
    std::string name, namespace_, uid, sandbox_id;
    /// Nanoseconds since 1970.
    std::int64_t started_at = 0;
    std::vector<ContainerUse> containers;
    /// Without a value where the runtime has no statistics of sandboxes. Those of Windows, too.
    std::optional<cri::LinuxPodSandboxStats> sandbox;

    /// In the text format of metrics.
    std::string labels() const;
};

std::uint64_t value_or_zero(const schema::Box<cri::UInt64Value>& box);

/// Asks a runtime for what its pods use. Keeps the last values to compute rates that the runtime does not report.
class PodUseReader {
public:
    /// Ordered by uid. Errors: the runtime's.
    Task<std::vector<PodUse>> read(RuntimeService& runtime);

private:
    struct CpuReading {
        std::uint64_t nanoseconds = 0;
        std::int64_t at = 0;
    };
    std::uint64_t rate(const std::string& container, const cri::CpuUsage& now) const;

    std::map<std::string, CpuReading> before_;  // by container id
};

}  // namespace porthole::kubelet
