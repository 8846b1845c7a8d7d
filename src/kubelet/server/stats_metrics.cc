#include <fmt/format.h>

#include "base/metrics_text.h"
#include "kubelet/server/stats.h"

namespace porthole::kubelet {
namespace {

/// A metric family whose samples may have the time at which they were taken.
class Family {
public:
    Family(std::string& out, const char* name, const char* type, const char* help) : family_(out, name, type, help) {}
    void add(const std::string& labels, double value, std::int64_t nanoseconds = 0) {
        family_.add(labels, nanoseconds ? fmt::format("{} {}", value, nanoseconds / 1'000'000) : fmt::format("{}", value));
    }

private:
    MetricFamily family_;
};

double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

}  // namespace

Task<std::string> Stats::resource_metrics() {
    CO_TRY(const std::vector<PodUse> pods, co_await reader_.read(kubelet_.dependencies().runtime));
    const KubeletDependencies& deps = kubelet_.dependencies();
    const HostUsage host = deps.system.host->usage();
    const std::int64_t now = deps.loop.wall_now().time_since_epoch().count();
    std::string out;
    const auto each = [&](Family family, const std::function<void(Family&, const PodUse&, const ContainerUse&, const std::string&)>& add) {
        for (const PodUse& pod : pods)
            for (const ContainerUse& use : pod.containers)
                add(family, pod, use, fmt::format("container=\"{}\",{}", use.name, pod.labels()));
    };
    each({out, "container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the container in core-seconds"},
         [](Family& f, const PodUse&, const ContainerUse& use, const std::string& labels) {
             if (use.stats.cpu) f.add(labels, seconds(value_or_zero(use.stats.cpu->usage_core_nano_seconds)), use.stats.cpu->timestamp);
         });
    each({out, "container_memory_working_set_bytes", "gauge", "Current working set of the container in bytes"},
         [](Family& f, const PodUse&, const ContainerUse& use, const std::string& labels) {
             if (use.stats.memory)
                 f.add(labels, static_cast<double>(value_or_zero(use.stats.memory->working_set_bytes)), use.stats.memory->timestamp);
         });
    each({out, "container_start_time_seconds", "gauge", "Start time of the container since unix epoch in seconds"},
         [](Family& f, const PodUse&, const ContainerUse& use, const std::string& labels) {
             f.add(labels, static_cast<double>(use.started_at) / 1e9, use.started_at);
         });
    {
        Family family(out, "pod_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the pod in core-seconds");
        for (const PodUse& pod : pods) {
            std::uint64_t used = 0;
            for (const ContainerUse& use : pod.containers)
                if (use.stats.cpu) used += value_or_zero(use.stats.cpu->usage_core_nano_seconds);
            family.add(pod.labels(), seconds(used), now);
        }
    }
    {
        Family family(out, "pod_memory_working_set_bytes", "gauge", "Current working set of the pod in bytes");
        for (const PodUse& pod : pods) {
            std::uint64_t used = 0;
            for (const ContainerUse& use : pod.containers)
                if (use.stats.memory) used += value_or_zero(use.stats.memory->working_set_bytes);
            family.add(pod.labels(), static_cast<double>(used), now);
        }
    }
    Family(out, "node_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the node in core-seconds")
        .add("", seconds(static_cast<std::uint64_t>(host.cpu_nanoseconds)), now);
    Family(out, "node_memory_working_set_bytes", "gauge", "Current working set of the node in bytes")
        .add("", static_cast<double>(host.memory_working_set), now);
    if (host.commit_limit > 0) {
        Family(out, "node_memory_commit_bytes", "gauge", "Memory and page files promised to programs, in bytes")
            .add("", static_cast<double>(host.commit_total), now);
        Family(out, "node_memory_commit_limit_bytes", "gauge", "Memory and page files that can be promised to programs, in bytes")
            .add("", static_cast<double>(host.commit_limit), now);
    }
    Family(out, "resource_scrape_error", "gauge", "1 if there was an error while getting container metrics, 0 otherwise").add("", 0);
    co_return out;
}

Task<std::string> Stats::cadvisor_metrics() {
    CO_TRY(const std::vector<PodUse> pods, co_await reader_.read(kubelet_.dependencies().runtime));
    std::string out;
    struct Metric {
        const char *name, *type, *help;
        std::function<std::optional<double>(const ContainerUse&)> value;
    };
    const auto memory = [](schema::Box<cri::UInt64Value> cri::MemoryUsage::* field) {
        return [field](const ContainerUse& use) {
            return use.stats.memory ? std::optional(static_cast<double>(value_or_zero((*use.stats.memory).*field))) : std::nullopt;
        };
    };
    const Metric metrics[] = {
        {"container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed in seconds.",
         [](const ContainerUse& use) {
             return use.stats.cpu ? std::optional(seconds(value_or_zero(use.stats.cpu->usage_core_nano_seconds))) : std::nullopt;
         }},
        {"container_memory_working_set_bytes", "gauge", "Current working set in bytes.", memory(&cri::MemoryUsage::working_set_bytes)},
        {"container_memory_usage_bytes", "gauge", "Current memory usage in bytes, including all memory.",
         memory(&cri::MemoryUsage::usage_bytes)},
        {"container_memory_rss", "gauge", "Size of RSS in bytes.", memory(&cri::MemoryUsage::rss_bytes)},
    };
    for (const Metric& metric : metrics) {
        Family family(out, metric.name, metric.type, metric.help);
        for (const PodUse& pod : pods)
            for (const ContainerUse& use : pod.containers)
                if (const auto value = metric.value(use)) family.add(fmt::format("container=\"{}\",{}", use.name, pod.labels()), *value);
    }
    for (const auto& [name, help, field] :
         {std::tuple("container_network_receive_bytes_total", "Cumulative count of bytes received", &cri::NetworkInterfaceUsage::rx_bytes),
          std::tuple("container_network_transmit_bytes_total", "Cumulative count of bytes transmitted",
                     &cri::NetworkInterfaceUsage::tx_bytes)}) {
        Family family(out, name, "counter", help);
        for (const PodUse& pod : pods)
            if (pod.sandbox && pod.sandbox->network && pod.sandbox->network->default_interface)
                family.add(fmt::format("interface=\"{}\",{}", pod.sandbox->network->default_interface->name, pod.labels()),
                           static_cast<double>(value_or_zero((*pod.sandbox->network->default_interface).*field)));
    }
    co_return out;
}

void Stats::add_volume_metrics(std::string& out) {
    struct Metric {
        const char *name, *help;
        std::function<std::uint64_t(const VolumeUse&)> value;
    };
    const Metric metrics[] = {
        {"kubelet_volume_stats_capacity_bytes", "Capacity in bytes of the volume",
         [](const VolumeUse& v) { return v.file_system.capacity; }},
        {"kubelet_volume_stats_available_bytes", "Number of available bytes in the volume",
         [](const VolumeUse& v) { return v.file_system.available; }},
        {"kubelet_volume_stats_used_bytes", "Number of used bytes in the volume", [](const VolumeUse& v) { return v.used.bytes; }},
        {"kubelet_volume_stats_inodes", "Maximum number of inodes in the volume", [](const VolumeUse& v) { return v.file_system.inodes; }},
        {"kubelet_volume_stats_inodes_free", "Number of free inodes in the volume",
         [](const VolumeUse& v) { return v.file_system.inodes_free; }},
        {"kubelet_volume_stats_inodes_used", "Number of used inodes in the volume", [](const VolumeUse& v) { return v.used.inodes; }},
    };
    std::map<std::string, const VolumeUse*> claims;  // of several pods once
    for (const auto& pod : kubelet_.pods().active())
        for (const VolumeUse& volume : kubelet_.storage().of(pod->metadata.uid).volumes)
            if (!volume.claim.empty())
                claims[fmt::format("namespace=\"{}\",persistentvolumeclaim=\"{}\"", pod->metadata.namespace_, volume.claim)] = &volume;
    for (const Metric& metric : metrics) {
        if (claims.empty()) return;
        Family family(out, metric.name, "gauge", metric.help);
        for (const auto& [labels, volume] : claims) family.add(labels, static_cast<double>(metric.value(*volume)));
    }
}

std::string Stats::kubelet_metrics() {
    std::string out;
    if (const HostUsage host = kubelet_.dependencies().system.host->usage(); host.commit_limit > 0) {
        Family(out, "porthole_node_memory_commit_bytes", "gauge", "Memory promised to programs, in memory or page files.")
            .add("", static_cast<double>(host.commit_total));
        Family(out, "porthole_node_memory_commit_limit_bytes", "gauge", "Memory and page files together; beyond it allocations fail.")
            .add("", static_cast<double>(host.commit_limit));
    }
    const std::string node = fmt::format("node=\"{}\"", kubelet_.config().node.name);
    Family(out, "kubelet_node_name", "gauge", "The node's name. The count is always 1.").add(node, 1);
    Family(out, "kubelet_desired_pods", "gauge", "The number of pods the kubelet is being instructed to run.")
        .add("", static_cast<double>(kubelet_.pods().pods().size()));
    Family(out, "kubelet_active_pods", "gauge", "The number of pods the kubelet considers active.")
        .add("", static_cast<double>(kubelet_.pods().active().size()));
    add_volume_metrics(out);
    kubelet_.append_metrics(out);
    if (const CsiMetrics* metrics = kubelet_.csi_metrics()) metrics->append(out);
    return out;
}

}  // namespace porthole::kubelet
