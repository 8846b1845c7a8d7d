#include "kubelet/server/stats.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/metrics_text.h"
#include "base/time/time.h"

namespace porthole::kubelet {
namespace {

using schema::Value;

std::uint64_t number(const schema::Box<cri::UInt64Value>& box) { return box ? box->value : 0; }

std::string label(const std::map<std::string, std::string>& labels, const char* key) {
    const auto found = labels.find(key);
    return found == labels.end() ? "" : found->second;
}

std::string time_text(std::int64_t nanoseconds) { return Timestamp::from_nanoseconds(nanoseconds).to_string(); }

Value cpu_value(const cri::CpuUsage& cpu, std::uint64_t nano_cores) {
    Value value = Value::object({{"time", time_text(cpu.timestamp)}});
    value["usageNanoCores"] = nano_cores;
    value["usageCoreNanoSeconds"] = number(cpu.usage_core_nano_seconds);
    return value;
}

Value memory_value(const cri::MemoryUsage& memory) {
    Value value = Value::object({{"time", time_text(memory.timestamp)}});
    if (memory.available_bytes && memory.available_bytes->value) value["availableBytes"] = memory.available_bytes->value;
    value["usageBytes"] = number(memory.usage_bytes);
    value["workingSetBytes"] = number(memory.working_set_bytes);
    value["rssBytes"] = number(memory.rss_bytes);
    value["pageFaults"] = number(memory.page_faults);
    value["majorPageFaults"] = number(memory.major_page_faults);
    return value;
}

Value interface_value(const cri::NetworkInterfaceUsage& usage) {
    return Value::object({{"name", usage.name},
                          {"rxBytes", number(usage.rx_bytes)},
                          {"rxErrors", number(usage.rx_errors)},
                          {"txBytes", number(usage.tx_bytes)},
                          {"txErrors", number(usage.tx_errors)}});
}

Value file_system_value(FileSystem& files, const std::string& path, const std::string& time) {
    Value value = Value::object({{"time", time}});
    const auto usage = files.usage(path);
    if (!usage) return value;
    value["availableBytes"] = usage->available;
    value["capacityBytes"] = usage->capacity;
    value["usedBytes"] = usage->capacity - usage->available;
    value["inodesFree"] = usage->inodes_free;
    value["inodes"] = usage->inodes;
    value["inodesUsed"] = usage->inodes - usage->inodes_free;
    return value;
}

Value tree_value(const TreeUsage& used, const std::string& time) {
    return Value::object({{"time", time}, {"usedBytes", used.bytes}, {"inodesUsed", used.inodes}});
}

/// `used` of the file system.
Value share_value(const TreeUsage& used, const FileSystemUsage& of, const std::string& time) {
    Value value = tree_value(used, time);
    value["availableBytes"] = of.available;
    value["capacityBytes"] = of.capacity;
    value["inodesFree"] = of.inodes_free;
    value["inodes"] = of.inodes;
    return value;
}

Value volumes_value(const StorageUse& storage, const std::string& namespace_, const std::string& time) {
    Value list = Value::array();
    for (const VolumeUse& volume : storage.volumes) {
        Value one = share_value(volume.used, volume.file_system, time);
        one["name"] = volume.name;
        if (!volume.claim.empty()) one["pvcRef"] = Value::object({{"name", volume.claim}, {"namespace", namespace_}});
        list.as_array().push_back(std::move(one));
    }
    return list;
}

/// What a Windows sandbox says, in the fields that all sandboxes share.
cri::LinuxPodSandboxStats in_common_fields(const cri::WindowsPodSandboxStats& from) {
    cri::LinuxPodSandboxStats stats;
    if (from.network) {
        cri::NetworkUsage& network = stats.network.emplace();
        network.timestamp = from.network->timestamp;
        const auto interface = [](const cri::WindowsNetworkInterfaceUsage& one) {
            cri::NetworkInterfaceUsage usage;
            usage.name = one.name;
            usage.rx_bytes = one.rx_bytes;
            usage.tx_bytes = one.tx_bytes;
            return usage;
        };
        if (from.network->default_interface) network.default_interface = interface(*from.network->default_interface);
        for (const auto& one : from.network->interfaces) network.interfaces.push_back(interface(one));
    }
    if (from.process) {
        cri::ProcessUsage& process = stats.process.emplace();
        process.timestamp = from.process->timestamp;
        process.process_count = from.process->process_count;
    }
    return stats;
}

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

/// Of a Windows host, where what is promised beyond physical memory stands in page files.
Value page_file_value(const HostUsage& host, std::int64_t physical, const std::string& time) {
    const std::int64_t size = std::max<std::int64_t>(host.commit_limit - physical, 0);
    const std::int64_t used = std::clamp<std::int64_t>(host.commit_total - physical, 0, size);
    return Value::object({{"time", time}, {"swapAvailableBytes", size - used}, {"swapUsageBytes", used}});
}

}  // namespace

struct Stats::ContainerUse {
    std::string name;
    std::int64_t started_at = 0;
    cri::ContainerStats stats;
    std::uint64_t nano_cores = 0;
};

struct Stats::PodUse {
    std::string name, namespace_, uid, sandbox_id;
    std::int64_t started_at = 0;
    std::vector<ContainerUse> containers;
    std::optional<cri::LinuxPodSandboxStats> sandbox;

    std::string labels() const { return fmt::format("namespace=\"{}\",pod=\"{}\"", namespace_, name); }
};

Task<std::vector<Stats::PodUse>> Stats::collect() {
    RuntimeService& runtime = kubelet_.dependencies().runtime;
    std::map<std::string, PodUse> pods;
    CO_TRY(const auto sandboxes, co_await runtime.list_pod_sandbox({}));
    for (const cri::PodSandbox& sandbox : sandboxes.items) {
        if (sandbox.state != cri::PodSandboxState::SandboxReady || label(sandbox.labels, PodUidLabel).empty()) continue;
        PodUse& pod = pods[label(sandbox.labels, PodUidLabel)];
        pod.name = label(sandbox.labels, PodNameLabel);
        pod.namespace_ = label(sandbox.labels, PodNamespaceLabel);
        pod.uid = label(sandbox.labels, PodUidLabel);
        pod.sandbox_id = sandbox.id;
        pod.started_at = sandbox.created_at;
    }
    // Older runtimes know no statistics of sandboxes: then the network is missing and the rest is added up.
    if (const auto listed = co_await runtime.list_pod_sandbox_stats({})) {
        for (const cri::PodSandboxStats& stats : listed->stats) {
            if (!stats.attributes || (!stats.linux && !stats.windows)) continue;
            const auto pod = pods.find(label(stats.attributes->labels, PodUidLabel));
            if (pod == pods.end() || pod->second.sandbox_id != stats.attributes->id) continue;
            pod->second.sandbox = stats.linux ? *stats.linux : in_common_fields(*stats.windows);
        }
    }
    CO_TRY(const auto containers, co_await runtime.list_containers({}));
    std::map<std::string, std::int64_t> started;
    for (const cri::Container& container : containers.containers)
        if (container.state == cri::ContainerState::ContainerRunning) started[container.id] = container.created_at;
    CO_TRY(const auto listed, co_await runtime.list_container_stats({}));
    std::map<std::string, std::pair<std::uint64_t, std::int64_t>> now;
    for (const cri::ContainerStats& stats : listed.stats) {
        if (!stats.attributes || !started.contains(stats.attributes->id)) continue;
        const auto pod = pods.find(label(stats.attributes->labels, PodUidLabel));
        if (pod == pods.end()) continue;
        ContainerUse use{label(stats.attributes->labels, ContainerNameLabel), started[stats.attributes->id], stats, 0};
        if (stats.cpu) {
            const std::uint64_t used = number(stats.cpu->usage_core_nano_seconds);
            use.nano_cores = number(stats.cpu->usage_nano_cores);
            const auto before = before_.find(stats.attributes->id);
            if (use.nano_cores == 0 && before != before_.end() && stats.cpu->timestamp > before->second.second &&
                used >= before->second.first)
                use.nano_cores = static_cast<std::uint64_t>(static_cast<double>(used - before->second.first) * 1e9 /
                                                            static_cast<double>(stats.cpu->timestamp - before->second.second));
            now[stats.attributes->id] = {used, stats.cpu->timestamp};
        }
        pod->second.containers.push_back(std::move(use));
    }
    before_ = std::move(now);
    std::vector<PodUse> result;
    for (auto& [uid, pod] : pods) result.push_back(std::move(pod));
    co_return result;
}

Task<Value> Stats::summary(bool only_cpu_and_memory) {
    const KubeletDependencies& deps = kubelet_.dependencies();
    CO_TRY(const std::vector<PodUse> pods, co_await collect());
    const HostUsage host = deps.host.usage();
    const std::int64_t now = deps.loop.wall_now().time_since_epoch().count();
    const std::string time = time_text(now);

    Value node = Value::object({{"nodeName", kubelet_.config().node.name}, {"startTime", time_text(host.boot_time * 1'000'000'000)}});
    std::int64_t rate = 0;
    const double passed = std::chrono::duration<double>(deps.loop.now() - last_time_).count();
    if (last_cpu_ > 0 && passed > 0) rate = static_cast<std::int64_t>(static_cast<double>(host.cpu_nanoseconds - last_cpu_) / passed);
    last_cpu_ = host.cpu_nanoseconds;
    last_time_ = deps.loop.now();
    node["cpu"] = Value::object({{"time", time}, {"usageNanoCores", rate}, {"usageCoreNanoSeconds", host.cpu_nanoseconds}});
    node["memory"] = Value::object({{"time", time},
                                    {"availableBytes", host.memory_available},
                                    {"usageBytes", host.memory_used},
                                    {"workingSetBytes", host.memory_working_set},
                                    {"rssBytes", host.memory_rss},
                                    {"pageFaults", host.page_faults},
                                    {"majorPageFaults", host.major_page_faults}});
    if (host.commit_limit > 0) node["swap"] = page_file_value(host, deps.host.describe().memory, time);
    if (!only_cpu_and_memory) {
        node["network"] = Value::object({{"time", time},
                                         {"name", host.network_interface},
                                         {"rxBytes", host.received_bytes},
                                         {"rxErrors", host.receive_errors},
                                         {"txBytes", host.sent_bytes},
                                         {"txErrors", host.send_errors}});
        node["fs"] = file_system_value(deps.files, kubelet_.config().root_directory, time);
        node["runtime"] = Value::object({{"imageFs", file_system_value(deps.files, kubelet_.config().root_directory, time)}});
        node["rlimit"] = Value::object({{"time", time}, {"maxpid", host.process_limit}, {"curproc", host.processes}});
    }

    Value list = Value::array();
    for (const PodUse& pod : pods) {
        Value shown = Value::object({{"podRef", Value::object({{"name", pod.name}, {"namespace", pod.namespace_}, {"uid", pod.uid}})},
                                     {"startTime", time_text(pod.started_at)}});
        Value containers = Value::array();
        const StorageUse& storage = kubelet_.storage().of(pod.uid);
        TreeUsage written = storage.on_node_disk();
        std::uint64_t cores = 0, cpu = 0, working_set = 0, usage = 0;
        for (const ContainerUse& use : pod.containers) {
            Value one = Value::object({{"name", use.name}, {"startTime", time_text(use.started_at)}});
            if (use.stats.cpu) one["cpu"] = cpu_value(*use.stats.cpu, use.nano_cores);
            if (use.stats.memory) one["memory"] = memory_value(*use.stats.memory);
            if (!only_cpu_and_memory && use.stats.writable_layer)
                one["rootfs"] = Value::object({{"time", time},
                                               {"usedBytes", number(use.stats.writable_layer->used_bytes)},
                                               {"inodesUsed", number(use.stats.writable_layer->inodes_used)}});
            if (const auto log = storage.logs.find(use.name); !only_cpu_and_memory && log != storage.logs.end())
                one["logs"] = tree_value(log->second, time);
            if (use.stats.writable_layer) {
                written.bytes += number(use.stats.writable_layer->used_bytes);
                written.inodes += number(use.stats.writable_layer->inodes_used);
            }
            cores += use.nano_cores;
            if (use.stats.cpu) cpu += number(use.stats.cpu->usage_core_nano_seconds);
            if (use.stats.memory) {
                working_set += number(use.stats.memory->working_set_bytes);
                usage += number(use.stats.memory->usage_bytes);
            }
            containers.as_array().push_back(std::move(one));
        }
        shown["containers"] = std::move(containers);
        shown["cpu"] = Value::object({{"time", time}, {"usageNanoCores", cores}, {"usageCoreNanoSeconds", cpu}});
        shown["memory"] = Value::object({{"time", time}, {"usageBytes", usage}, {"workingSetBytes", working_set}});
        if (!only_cpu_and_memory) {
            shown["volume"] = volumes_value(storage, pod.namespace_, time);
            if (const auto disk = deps.files.usage(kubelet_.config().root_directory))
                shown["ephemeral-storage"] = share_value(written, *disk, time);
        }
        if (!only_cpu_and_memory && pod.sandbox && pod.sandbox->network) {
            const cri::NetworkUsage& network = *pod.sandbox->network;
            Value value = Value::object({{"time", time_text(network.timestamp)}});
            if (network.default_interface)
                for (const schema::Member& member : interface_value(*network.default_interface).as_object())
                    value[member.key] = member.value;
            Value interfaces = Value::array();
            if (network.default_interface) interfaces.as_array().push_back(interface_value(*network.default_interface));
            for (const auto& one : network.interfaces) interfaces.as_array().push_back(interface_value(one));
            value["interfaces"] = std::move(interfaces);
            shown["network"] = std::move(value);
        }
        if (!only_cpu_and_memory && pod.sandbox && pod.sandbox->process)
            shown["process_stats"] = Value::object({{"process_count", number(pod.sandbox->process->process_count)}});
        list.as_array().push_back(std::move(shown));
    }
    co_return Value::object({{"node", std::move(node)}, {"pods", std::move(list)}});
}

Task<std::string> Stats::resource_metrics() {
    CO_TRY(const std::vector<PodUse> pods, co_await collect());
    const KubeletDependencies& deps = kubelet_.dependencies();
    const HostUsage host = deps.host.usage();
    const std::int64_t now = deps.loop.wall_now().time_since_epoch().count();
    std::string out;
    const auto each = [&](Family family, const std::function<void(Family&, const PodUse&, const ContainerUse&, const std::string&)>& add) {
        for (const PodUse& pod : pods)
            for (const ContainerUse& use : pod.containers)
                add(family, pod, use, fmt::format("container=\"{}\",{}", use.name, pod.labels()));
    };
    each({out, "container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the container in core-seconds"},
         [](Family& f, const PodUse&, const ContainerUse& use, const std::string& labels) {
             if (use.stats.cpu) f.add(labels, seconds(number(use.stats.cpu->usage_core_nano_seconds)), use.stats.cpu->timestamp);
         });
    each({out, "container_memory_working_set_bytes", "gauge", "Current working set of the container in bytes"},
         [](Family& f, const PodUse&, const ContainerUse& use, const std::string& labels) {
             if (use.stats.memory)
                 f.add(labels, static_cast<double>(number(use.stats.memory->working_set_bytes)), use.stats.memory->timestamp);
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
                if (use.stats.cpu) used += number(use.stats.cpu->usage_core_nano_seconds);
            family.add(pod.labels(), seconds(used), now);
        }
    }
    {
        Family family(out, "pod_memory_working_set_bytes", "gauge", "Current working set of the pod in bytes");
        for (const PodUse& pod : pods) {
            std::uint64_t used = 0;
            for (const ContainerUse& use : pod.containers)
                if (use.stats.memory) used += number(use.stats.memory->working_set_bytes);
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
    CO_TRY(const std::vector<PodUse> pods, co_await collect());
    std::string out;
    struct Metric {
        const char *name, *type, *help;
        std::function<std::optional<double>(const ContainerUse&)> value;
    };
    const auto memory = [](schema::Box<cri::UInt64Value> cri::MemoryUsage::* field) {
        return [field](const ContainerUse& use) {
            return use.stats.memory ? std::optional(static_cast<double>(number((*use.stats.memory).*field))) : std::nullopt;
        };
    };
    const Metric metrics[] = {
        {"container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed in seconds.",
         [](const ContainerUse& use) {
             return use.stats.cpu ? std::optional(seconds(number(use.stats.cpu->usage_core_nano_seconds))) : std::nullopt;
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
                           static_cast<double>(number((*pod.sandbox->network->default_interface).*field)));
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
    if (const HostUsage host = kubelet_.dependencies().host.usage(); host.commit_limit > 0) {
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
