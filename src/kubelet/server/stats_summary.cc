#include <algorithm>

#include "base/time/time.h"
#include "kubelet/server/stats.h"

namespace porthole::kubelet {
namespace {

using schema::Value;

std::string time_text(std::int64_t nanoseconds) { return Timestamp::from_nanoseconds(nanoseconds).to_string(); }

Value cpu_value(const cri::CpuUsage& cpu, std::uint64_t nano_cores) {
    Value value = Value::object({{"time", time_text(cpu.timestamp)}});
    value["usageNanoCores"] = nano_cores;
    value["usageCoreNanoSeconds"] = value_or_zero(cpu.usage_core_nano_seconds);
    return value;
}

Value memory_value(const cri::MemoryUsage& memory) {
    Value value = Value::object({{"time", time_text(memory.timestamp)}});
    if (memory.available_bytes && memory.available_bytes->value) value["availableBytes"] = memory.available_bytes->value;
    value["usageBytes"] = value_or_zero(memory.usage_bytes);
    value["workingSetBytes"] = value_or_zero(memory.working_set_bytes);
    value["rssBytes"] = value_or_zero(memory.rss_bytes);
    value["pageFaults"] = value_or_zero(memory.page_faults);
    value["majorPageFaults"] = value_or_zero(memory.major_page_faults);
    return value;
}

Value interface_value(const cri::NetworkInterfaceUsage& usage) {
    return Value::object({{"name", usage.name},
                          {"rxBytes", value_or_zero(usage.rx_bytes)},
                          {"rxErrors", value_or_zero(usage.rx_errors)},
                          {"txBytes", value_or_zero(usage.tx_bytes)},
                          {"txErrors", value_or_zero(usage.tx_errors)}});
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

/// `used` of the file system.
Value share_value(const TreeUsage& used, const FileSystemUsage& of, const std::string& time) {
    Value value = Value::object({{"time", time}, {"usedBytes", used.bytes}, {"inodesUsed", used.inodes}});
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

/// Of a Windows host, where what is promised beyond physical memory stands in page files.
Value page_file_value(const HostUsage& host, std::int64_t physical, const std::string& time) {
    const std::int64_t size = std::max<std::int64_t>(host.commit_limit - physical, 0);
    const std::int64_t used = std::clamp<std::int64_t>(host.commit_total - physical, 0, size);
    return Value::object({{"time", time}, {"swapAvailableBytes", size - used}, {"swapUsageBytes", used}});
}

Value container_value(const ContainerUse& use) {
    Value value = Value::object({{"name", use.name}, {"startTime", time_text(use.started_at)}});
    if (use.stats.cpu) value["cpu"] = cpu_value(*use.stats.cpu, use.nano_cores);
    if (use.stats.memory) value["memory"] = memory_value(*use.stats.memory);
    return value;
}

/// The default interface is shown twice: by itself and among all.
Value network_value(const cri::NetworkUsage& network) {
    Value value = Value::object({{"time", time_text(network.timestamp)}});
    Value interfaces = Value::array();
    if (network.default_interface) {
        const Value first = interface_value(*network.default_interface);
        for (const schema::Member& member : first.as_object()) value[member.key] = member.value;
        interfaces.as_array().push_back(first);
    }
    for (const auto& one : network.interfaces) interfaces.as_array().push_back(interface_value(one));
    value["interfaces"] = std::move(interfaces);
    return value;
}

/// The sums of the containers.
void add_sums(Value& shown, const PodUse& pod, const std::string& time) {
    std::uint64_t cores = 0, cpu = 0, working_set = 0, usage = 0;
    for (const ContainerUse& use : pod.containers) {
        cores += use.nano_cores;
        if (use.stats.cpu) cpu += value_or_zero(use.stats.cpu->usage_core_nano_seconds);
        if (!use.stats.memory) continue;
        working_set += value_or_zero(use.stats.memory->working_set_bytes);
        usage += value_or_zero(use.stats.memory->usage_bytes);
    }
    shown["cpu"] = Value::object({{"time", time}, {"usageNanoCores", cores}, {"usageCoreNanoSeconds", cpu}});
    shown["memory"] = Value::object({{"time", time}, {"usageBytes", usage}, {"workingSetBytes", working_set}});
}

TreeUsage layer_use(const cri::FilesystemUsage& layer) {
    return {.bytes = value_or_zero(layer.used_bytes), .inodes = value_or_zero(layer.inodes_used)};
}

TreeUsage written_by(const PodUse& pod, const StorageUse& storage) {
    TreeUsage written = storage.on_node_disk();
    for (const ContainerUse& use : pod.containers) {
        if (!use.stats.writable_layer) continue;
        const TreeUsage layer = layer_use(*use.stats.writable_layer);
        written.bytes += layer.bytes;
        written.inodes += layer.inodes;
    }
    return written;
}

}  // namespace

std::int64_t Stats::node_rate(const HostUsage& host) {
    const MonotonicTime now = kubelet_.dependencies().loop.now();
    const double passed = std::chrono::duration<double>(now - last_time_).count();
    const bool known = last_cpu_ > 0 && passed > 0;
    const auto rate = known ? static_cast<std::int64_t>(static_cast<double>(host.cpu_nanoseconds - last_cpu_) / passed) : 0;
    last_cpu_ = host.cpu_nanoseconds;
    last_time_ = now;
    return rate;
}

Value Stats::node_summary(bool only_cpu_and_memory, const std::string& time) {
    const KubeletDependencies& deps = kubelet_.dependencies();
    const HostUsage host = deps.system.host->usage();
    Value node = Value::object({{"nodeName", kubelet_.config().node.name}, {"startTime", time_text(host.boot_time * 1'000'000'000)}});
    node["cpu"] = Value::object({{"time", time}, {"usageNanoCores", node_rate(host)}, {"usageCoreNanoSeconds", host.cpu_nanoseconds}});
    node["memory"] = Value::object({{"time", time},
                                    {"availableBytes", host.memory_available},
                                    {"usageBytes", host.memory_used},
                                    {"workingSetBytes", host.memory_working_set},
                                    {"rssBytes", host.memory_rss},
                                    {"pageFaults", host.page_faults},
                                    {"majorPageFaults", host.major_page_faults}});
    if (host.commit_limit > 0) node["swap"] = page_file_value(host, deps.system.host->describe().memory, time);
    if (only_cpu_and_memory) return node;
    node["network"] = Value::object({{"time", time},
                                     {"name", host.network_interface},
                                     {"rxBytes", host.received_bytes},
                                     {"rxErrors", host.receive_errors},
                                     {"txBytes", host.sent_bytes},
                                     {"txErrors", host.send_errors}});
    node["fs"] = file_system_value(deps.files, kubelet_.config().root_directory, time);
    node["runtime"] = Value::object({{"imageFs", file_system_value(deps.files, kubelet_.config().root_directory, time)}});
    node["rlimit"] = Value::object({{"time", time}, {"maxpid", host.process_limit}, {"curproc", host.processes}});
    return node;
}

Value Stats::pod_summary(const PodUse& pod, bool only_cpu_and_memory, const std::string& time) {
    const KubeletDependencies& deps = kubelet_.dependencies();
    const StorageUse& storage = kubelet_.storage().of(pod.uid);
    Value shown = Value::object({{"podRef", Value::object({{"name", pod.name}, {"namespace", pod.namespace_}, {"uid", pod.uid}})},
                                 {"startTime", time_text(pod.started_at)}});
    // Layers and logs are on the node's disk.
    const auto usage = deps.files.usage(kubelet_.config().root_directory);
    const FileSystemUsage* disk = usage && !only_cpu_and_memory ? &*usage : nullptr;
    Value containers = Value::array();
    for (const ContainerUse& use : pod.containers) {
        Value one = container_value(use);
        if (disk && use.stats.writable_layer) one["rootfs"] = share_value(layer_use(*use.stats.writable_layer), *disk, time);
        if (const auto log = storage.logs.find(use.name); disk && log != storage.logs.end())
            one["logs"] = share_value(log->second, *disk, time);
        containers.as_array().push_back(std::move(one));
    }
    shown["containers"] = std::move(containers);
    add_sums(shown, pod, time);
    if (only_cpu_and_memory) return shown;
    shown["volume"] = volumes_value(storage, pod.namespace_, time);
    if (disk) shown["ephemeral-storage"] = share_value(written_by(pod, storage), *disk, time);
    if (!pod.sandbox) return shown;
    if (pod.sandbox->network) shown["network"] = network_value(*pod.sandbox->network);
    if (pod.sandbox->process)
        shown["process_stats"] = Value::object({{"process_count", value_or_zero(pod.sandbox->process->process_count)}});
    return shown;
}

Task<Value> Stats::summary(bool only_cpu_and_memory) {
    const KubeletDependencies& deps = kubelet_.dependencies();
    CO_TRY(const std::vector<PodUse> pods, co_await reader_.read(deps.runtime));
    const std::string time = time_text(deps.loop.wall_now().time_since_epoch().count());
    Value node = node_summary(only_cpu_and_memory, time), list = Value::array();
    for (const PodUse& pod : pods) list.as_array().push_back(pod_summary(pod, only_cpu_and_memory, time));
    co_return Value::object({{"node", std::move(node)}, {"pods", std::move(list)}});
}

}  // namespace porthole::kubelet
