#include "winhost/runtime/statistics.h"

#include <algorithm>
#include <sstream>

#include "winhost/bundle/held_tree.h"

namespace porthole::winhost {
namespace {

/// The shortest time between two samples that give a rate.
constexpr std::int64_t ShortestInterval = 100'000'000;

/// Names as in /proc/PID/comm. What the emulation needs besides the program itself.
constexpr std::string_view OwnProcesses[] = {"init",           "wineserver64", "wineserver", "services.exe",
                                             "winedevice.exe", "launch.exe",   "pipes.exe",  "conhost.exe"};

cri::UInt64Value boxed(std::uint64_t value) { return {.value = value}; }

std::uint64_t private_bytes(FileSystem& files, int pid) {
    const auto text = files.read("/proc/" + std::to_string(pid) + "/status");
    std::istringstream lines(text ? *text : "");
    std::uint64_t kilobytes = 0;
    for (std::string word; lines >> word;)
        if (word == "RssAnon:" && lines >> kilobytes) break;
    return kilobytes << 10;
}

bool is_own(FileSystem& files, int pid) {
    auto name = files.read("/proc/" + std::to_string(pid) + "/comm");
    if (!name) return true;  // gone
    while (!name->empty() && name->back() == '\n') name->pop_back();
    return std::find(std::begin(OwnProcesses), std::end(OwnProcesses), *name) != std::end(OwnProcesses);
}

cri::ContainerAttributes attributes_of(const ContainerRecord& record) {
    cri::ContainerAttributes attributes;
    attributes.id = record.id;
    attributes.metadata = record.config.metadata;
    attributes.labels = record.config.labels;
    attributes.annotations = record.config.annotations;
    return attributes;
}

}  // namespace

Statistics::Usage Statistics::measure(const std::string& cgroup) {
    Usage usage;
    usage.timestamp = wall_nanoseconds(context_.loop);
    const auto measured = cgroups_.usage(cgroup);
    if (!measured) return usage;
    std::uint64_t own = 0;
    for (const int pid : measured->process_ids) {
        if (is_own(context_.files, pid))
            own += private_bytes(context_.files, pid);
        else
            ++usage.processes;
    }
    usage.cpu_ns = measured->cpu_ns;
    usage.page_faults = measured->page_faults;
    usage.commit = measured->anonymous_bytes - std::min(own, measured->anonymous_bytes);
    usage.working_set = measured->memory_bytes - std::min(own, measured->memory_bytes);
    Sample& last = samples_[cgroup];
    const std::int64_t elapsed = usage.timestamp - last.timestamp;
    if (last.timestamp != 0 && elapsed < ShortestInterval) {
        usage.nano_cores = last.nano_cores;
        return usage;
    }
    if (last.timestamp != 0 && usage.cpu_ns >= last.cpu_ns)
        usage.nano_cores = static_cast<std::uint64_t>(static_cast<double>(usage.cpu_ns - last.cpu_ns) * 1e9 / static_cast<double>(elapsed));
    last = {usage.timestamp, usage.cpu_ns, usage.nano_cores};
    return usage;
}

Task<> Statistics::look() {
    std::map<std::string, std::string> folders;
    for (const auto& [id, container] : containers_.all()) folders[id] = container->folder.upper();
    return written_.look(std::move(folders));
}

cri::ContainerStats Statistics::container(const Container& container) {
    cri::ContainerStats stats;
    stats.attributes = attributes_of(container.record);
    const Usage usage = measure(containers_.cgroup(container));
    cri::CpuUsage cpu;
    cpu.timestamp = usage.timestamp;
    cpu.usage_core_nano_seconds = boxed(usage.cpu_ns);
    cpu.usage_nano_cores = boxed(usage.nano_cores);
    cri::MemoryUsage memory;
    memory.timestamp = usage.timestamp;
    memory.working_set_bytes = boxed(usage.working_set);
    memory.usage_bytes = boxed(usage.commit);
    memory.rss_bytes = boxed(usage.commit);
    memory.page_faults = boxed(usage.page_faults);
    stats.cpu = std::move(cpu);
    stats.memory = std::move(memory);
    cri::FilesystemUsage layer;
    layer.timestamp = usage.timestamp;
    layer.used_bytes = boxed(written_.of(container.record.id));
    stats.writable_layer = std::move(layer);
    return stats;
}

/// /proc/PID/net/dev shows the namespace of that process: name, then received bytes, packets, errors, dropped …, then the same sent.
cri::WindowsNetworkUsage Statistics::network(const Sandbox& sandbox, std::int64_t timestamp) {
    cri::WindowsNetworkUsage usage;
    usage.timestamp = timestamp;
    const auto text = context_.files.read("/proc/" + std::to_string(sandbox.pid) + "/net/dev");
    std::istringstream lines(text ? *text : "");
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (colon == line.npos) continue;
        cri::WindowsNetworkInterfaceUsage one;
        one.name = line.substr(line.find_first_not_of(' '), colon - line.find_first_not_of(' '));
        if (one.name == "lo") continue;
        std::uint64_t fields[16]{};
        std::istringstream words(line.substr(colon + 1));
        for (std::uint64_t& field : fields) words >> field;
        one.rx_bytes = boxed(fields[0]);
        one.rx_packets_dropped = boxed(fields[3]);
        one.tx_bytes = boxed(fields[8]);
        one.tx_packets_dropped = boxed(fields[11]);
        if (usage.default_interface)
            usage.interfaces.push_back(std::move(one));  // all but the default one, as CRI has it
        else
            usage.default_interface = std::move(one);
    }
    return usage;
}

cri::PodSandboxStats Statistics::sandbox(const Sandbox& sandbox) {
    cri::PodSandboxStats stats;
    cri::PodSandboxAttributes attributes;
    attributes.id = sandbox.record.id;
    attributes.metadata = sandbox.record.config.metadata;
    attributes.labels = sandbox.record.config.labels;
    attributes.annotations = sandbox.record.config.annotations;
    stats.attributes = std::move(attributes);
    cri::WindowsPodSandboxStats windows;
    Usage sum;
    for (const auto& [id, container] : containers_.all()) {
        if (container->record.sandbox_id != sandbox.record.id || !container->running()) continue;
        const Usage usage = measure(containers_.cgroup(*container));
        sum.cpu_ns += usage.cpu_ns;
        sum.nano_cores += usage.nano_cores;
        sum.working_set += usage.working_set;
        sum.commit += usage.commit;
        sum.page_faults += usage.page_faults;
        sum.processes += usage.processes;
        cri::WindowsContainerStats one;
        one.attributes = attributes_of(container->record);
        one.cpu = cri::WindowsCpuUsage{
            .timestamp = usage.timestamp, .usage_core_nano_seconds = boxed(usage.cpu_ns), .usage_nano_cores = boxed(usage.nano_cores)};
        cri::WindowsMemoryUsage memory;
        memory.timestamp = usage.timestamp;
        memory.working_set_bytes = boxed(usage.working_set);
        memory.page_faults = boxed(usage.page_faults);
        memory.commit_memory_bytes = boxed(usage.commit);
        one.memory = std::move(memory);
        cri::WindowsFilesystemUsage layer;
        layer.timestamp = usage.timestamp;
        layer.used_bytes = boxed(written_.of(id));
        one.writable_layer = std::move(layer);
        windows.containers.push_back(std::move(one));
    }
    sum.timestamp = wall_nanoseconds(context_.loop);
    windows.cpu = cri::WindowsCpuUsage{
        .timestamp = sum.timestamp, .usage_core_nano_seconds = boxed(sum.cpu_ns), .usage_nano_cores = boxed(sum.nano_cores)};
    cri::WindowsMemoryUsage memory;
    memory.timestamp = sum.timestamp;
    memory.working_set_bytes = boxed(sum.working_set);
    memory.page_faults = boxed(sum.page_faults);
    memory.commit_memory_bytes = boxed(sum.commit);
    windows.memory = std::move(memory);
    windows.network = network(sandbox, sum.timestamp);
    windows.process = cri::WindowsProcessUsage{.timestamp = sum.timestamp, .process_count = boxed(sum.processes)};
    stats.windows = std::move(windows);
    return stats;
}

}  // namespace porthole::winhost
