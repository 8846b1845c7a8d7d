#pragma once
#include "kubelet/kubelet.h"
#include "schema/value.h"

namespace porthole::kubelet {

/// Resource use of the node and its pods, from the runtime and the machine. Keeps the last values to compute rates. Errors: the runtime's.
class Stats {
public:
    explicit Stats(Kubelet& kubelet) : kubelet_(kubelet) {}

    /// GET /stats/summary
    Task<schema::Value> summary(bool only_cpu_and_memory);
    /// GET /metrics/resource, for metrics-server.
    Task<std::string> resource_metrics();
    /// GET /metrics/cadvisor: container and network use under cAdvisor's names.
    Task<std::string> cadvisor_metrics();
    /// GET /metrics: of the kubelet itself.
    std::string kubelet_metrics();

private:
    struct ContainerUse;
    struct PodUse;
    Task<std::vector<PodUse>> collect();
    void add_volume_metrics(std::string& out);

    Kubelet& kubelet_;
    std::int64_t last_cpu_ = 0;
    MonotonicTime last_time_{};
    /// CPU time and when it was read, by container id, for rates that the runtime does not report.
    std::map<std::string, std::pair<std::uint64_t, std::int64_t>> before_;
};

}  // namespace porthole::kubelet
