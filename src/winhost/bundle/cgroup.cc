#include "winhost/bundle/cgroup.h"

#include <charconv>
#include <sstream>

namespace porthole::winhost {
namespace {

constexpr const char* Root = "/sys/fs/cgroup";

std::uint64_t parse_number(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Deepest first. Control files are no directories and cannot be removed.
void remove_tree(FileSystem& files, const std::string& folder) {
    const auto names = files.list(folder);
    if (!names) return;
    for (const std::string& name : *names) {
        const std::string path = join_path(folder, name);
        const auto status = files.link_status(path);
        if (status && status->is_directory()) remove_tree(files, path);
    }
    (void)files.remove(folder);
}

}  // namespace

Cgroups::Cgroups(FileSystem& files) : files_(files), unified_(files.exists(join_path(Root, "cgroup.controllers"))) {}

std::vector<std::string> Cgroups::hierarchies() const {
    if (unified_) return {Root};
    std::vector<std::string> folders;
    if (const auto names = files_.list(Root))
        for (const std::string& name : *names) folders.push_back(join_path(Root, name));
    return folders;
}

std::uint64_t Cgroups::number(const std::string& file) const {
    const auto text = files_.read(file);
    return text ? parse_number(*text) : 0;
}

std::uint64_t Cgroups::keyed(const std::string& file, std::string_view key) const {
    const auto text = files_.read(file);
    std::istringstream lines(text ? *text : "");
    for (std::string name, value; lines >> name >> value;)
        if (name == key) return parse_number(value);
    return 0;
}

Result<CgroupUsage> Cgroups::usage(const std::string& path) const {
    const auto file = [&](const char* controller, const char* name) {
        return join_path(join_path(unified_ ? Root : join_path(Root, controller), path), name);
    };
    const auto processes = files_.read(file("memory", "cgroup.procs"));
    if (!processes) return Error(Reason::NotFound, "no such cgroup: " + path);
    CgroupUsage usage;
    std::istringstream lines(*processes);
    for (int pid; lines >> pid;) usage.process_ids.push_back(pid);
    usage.processes = usage.process_ids.size();
    const std::string statistics = file("memory", "memory.stat");
    std::uint64_t idle_files = 0;
    if (unified_) {
        usage.cpu_ns = keyed(file("", "cpu.stat"), "usage_usec") * 1000;
        usage.memory_bytes = number(file("", "memory.current"));
        usage.anonymous_bytes = keyed(statistics, "anon");
        usage.page_faults = keyed(statistics, "pgfault");
        usage.out_of_memory_kills = keyed(file("", "memory.events"), "oom_kill");
        idle_files = keyed(statistics, "inactive_file");
    } else {
        usage.cpu_ns = number(file("cpuacct", "cpuacct.usage"));
        usage.memory_bytes = number(file("memory", "memory.usage_in_bytes"));
        usage.anonymous_bytes = keyed(statistics, "total_rss");
        usage.page_faults = keyed(statistics, "total_pgfault");
        usage.out_of_memory_kills = keyed(file("memory", "memory.oom_control"), "oom_kill");
        idle_files = keyed(statistics, "total_inactive_file");
    }
    usage.memory_bytes -= std::min(idle_files, usage.memory_bytes);
    return usage;
}

void Cgroups::remove(const std::string& path) const {
    for (const std::string& hierarchy : hierarchies()) remove_tree(files_, join_path(hierarchy, path));
}

void Cgroups::remove_empty(const std::string& path) const {
    for (const std::string& hierarchy : hierarchies()) (void)files_.remove(join_path(hierarchy, path));
}

}  // namespace porthole::winhost
