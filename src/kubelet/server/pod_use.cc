#include "kubelet/server/pod_use.h"

#include <fmt/format.h>

#include "kubelet/pod/pod.h"

namespace porthole::kubelet {
namespace {

std::string label(const std::map<std::string, std::string>& labels, const char* key) {
    const auto found = labels.find(key);
    return found == labels.end() ? "" : found->second;
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

using PodsByUid = std::map<std::string, PodUse>;

PodsByUid ready_pods(const cri::ListPodSandboxResponse& sandboxes) {
    PodsByUid pods;
    for (const cri::PodSandbox& sandbox : sandboxes.items) {
        const std::string uid = label(sandbox.labels, PodUidLabel);
        if (sandbox.state != cri::PodSandboxState::SandboxReady || uid.empty()) continue;
        pods[uid] = {.name = label(sandbox.labels, PodNameLabel),
                     .namespace_ = label(sandbox.labels, PodNamespaceLabel),
                     .uid = uid,
                     .sandbox_id = sandbox.id,
                     .started_at = sandbox.created_at};
    }
    return pods;
}

void add_sandbox(PodsByUid& pods, const cri::PodSandboxStats& stats) {
    if (!stats.attributes || (!stats.linux && !stats.windows)) return;
    const auto pod = pods.find(label(stats.attributes->labels, PodUidLabel));
    if (pod == pods.end() || pod->second.sandbox_id != stats.attributes->id) return;
    pod->second.sandbox = stats.linux ? *stats.linux : in_common_fields(*stats.windows);
}

}  // namespace

std::uint64_t value_or_zero(const schema::Box<cri::UInt64Value>& box) { return box ? box->value : 0; }

std::string PodUse::labels() const { return fmt::format("namespace=\"{}\",pod=\"{}\"", namespace_, name); }

std::uint64_t PodUseReader::rate(const std::string& container, const cri::CpuUsage& now) const {
    if (const std::uint64_t reported = value_or_zero(now.usage_nano_cores)) return reported;
    const std::uint64_t used = value_or_zero(now.usage_core_nano_seconds);
    const auto before = before_.find(container);
    if (before == before_.end() || now.timestamp <= before->second.at || used < before->second.nanoseconds) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(used - before->second.nanoseconds) * 1e9 /
                                      static_cast<double>(now.timestamp - before->second.at));
}

Task<std::vector<PodUse>> PodUseReader::read(RuntimeService& runtime) {
    CO_TRY(const auto sandboxes, co_await runtime.list_pod_sandbox({}));
    PodsByUid pods = ready_pods(sandboxes);
    // Older runtimes know no statistics of sandboxes: then the network is missing and the rest is added up.
    if (const auto listed = co_await runtime.list_pod_sandbox_stats({}))
        for (const cri::PodSandboxStats& stats : listed->stats) add_sandbox(pods, stats);
    CO_TRY(const auto containers, co_await runtime.list_containers({}));
    std::map<std::string, std::int64_t> started;
    for (const cri::Container& container : containers.containers)
        if (container.state == cri::ContainerState::ContainerRunning) started[container.id] = container.created_at;
    CO_TRY(const auto listed, co_await runtime.list_container_stats({}));
    std::map<std::string, CpuReading> now;
    for (const cri::ContainerStats& stats : listed.stats) {
        if (!stats.attributes || !started.contains(stats.attributes->id)) continue;
        const std::string& id = stats.attributes->id;
        const auto pod = pods.find(label(stats.attributes->labels, PodUidLabel));
        if (pod == pods.end()) continue;
        ContainerUse use{label(stats.attributes->labels, ContainerNameLabel), started[id], stats, 0};
        if (stats.cpu) {
            use.nano_cores = rate(id, *stats.cpu);
            now[id] = {value_or_zero(stats.cpu->usage_core_nano_seconds), stats.cpu->timestamp};
        }
        pod->second.containers.push_back(std::move(use));
    }
    before_ = std::move(now);
    std::vector<PodUse> result;
    for (auto& [uid, pod] : pods) result.push_back(std::move(pod));
    co_return result;
}

}  // namespace porthole::kubelet
