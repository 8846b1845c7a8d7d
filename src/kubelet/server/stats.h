#pragma once
#include "kubelet/kubelet.h"
#include "kubelet/server/pod_use.h"
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
    std::int64_t node_rate(const HostUsage& host);
    schema::Value node_summary(bool only_cpu_and_memory, const std::string& time);
    schema::Value pod_summary(const PodUse& pod, bool only_cpu_and_memory, const std::string& time);
    void add_volume_metrics(std::string& out);

    Kubelet& kubelet_;
    PodUseReader reader_;
    std::int64_t last_cpu_ = 0;
    MonotonicTime last_time_{};
};

}  // namespace porthole::kubelet
