#include "kubelet/container/cgroups.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::kubelet {
namespace {

constexpr const char* Controllers[] = {"cpu", "cpuset", "memory", "pids", "io", "hugetlb"};

}  // namespace

std::int64_t cpu_weight_of(std::int64_t shares) { return 1 + (shares - 2) * 9999 / 262'142; }

CgroupFiles::CgroupFiles(FileSystem& files, std::string mount)
    : files_(files), mount_(std::move(mount)), v2_(files.exists(mount_ + "/cgroup.controllers")) {
    if (v2_) {
        hierarchies_ = {mount_};
        return;
    }
    for (const std::string& name : files_.list(mount_).value_or(std::vector<std::string>()))
        if (files_.exists(join_path(mount_, name) + "/cgroup.procs")) hierarchies_.push_back(join_path(mount_, name));
}

Result<void> CgroupFiles::create(const std::string& cgroup) {
    for (const std::string& hierarchy : hierarchies_) {
        if (v2_) {
            // Controllers reach a cgroup only when every one above hands them down.
            for (std::size_t slash = 0; slash != std::string::npos; slash = cgroup.find('/', slash + 1)) {
                const std::string parent = hierarchy + cgroup.substr(0, slash);
                TRY_VOID(files_.create_directories(parent, 0755));
                for (const char* controller : Controllers)
                    (void)files_.write(parent + "/cgroup.subtree_control", std::string("+") + controller, 0644);
            }
        }
        TRY_VOID(files_.create_directories(hierarchy + cgroup, 0755));
    }
    return {};
}

Result<void> CgroupFiles::set(const std::string& hierarchy, const std::string& cgroup, const char* file, const std::string& value) {
    const std::string directory = v2_ ? mount_ + cgroup : join_path(mount_, hierarchy) + cgroup;
    // A controller that this machine does not have is no reason to refuse the pod.
    if (!files_.exists(directory + "/" + file)) return {};
    return files_.write(directory + "/" + file, value, 0644);
}

Result<void> CgroupFiles::ensure_tiers(const std::string& root) {
    TRY_VOID(create(root + "/kubepods"));
    TRY_VOID(create(root + "/kubepods/burstable"));
    TRY_VOID(create(root + "/kubepods/besteffort"));
    // Pods that asked for nothing get what is left over.
    return v2_ ? set("", root + "/kubepods/besteffort", "cpu.weight", "1") : set("cpu", root + "/kubepods/besteffort", "cpu.shares", "2");
}

Result<void> CgroupFiles::ensure(const std::string& cgroup, const cri::LinuxContainerResources& limits, std::int64_t processes) {
    TRY_VOID(create(cgroup));
    if (processes > 0) TRY_VOID(set("pids", cgroup, "pids.max", std::to_string(processes)));
    const std::string quota = limits.cpu_quota > 0 ? std::to_string(limits.cpu_quota) : v2_ ? "max" : "-1";
    const std::string period = std::to_string(CpuPeriod);
    if (v2_) {
        TRY_VOID(set("", cgroup, "cpu.weight", std::to_string(cpu_weight_of(limits.cpu_shares))));
        TRY_VOID(set("", cgroup, "cpu.max", quota + " " + period));
        if (limits.memory_limit_in_bytes > 0) TRY_VOID(set("", cgroup, "memory.max", std::to_string(limits.memory_limit_in_bytes)));
        return {};
    }
    TRY_VOID(set("cpu", cgroup, "cpu.shares", std::to_string(limits.cpu_shares)));
    TRY_VOID(set("cpu", cgroup, "cpu.cfs_period_us", period));
    TRY_VOID(set("cpu", cgroup, "cpu.cfs_quota_us", quota));
    if (limits.memory_limit_in_bytes > 0)
        TRY_VOID(set("memory", cgroup, "memory.limit_in_bytes", std::to_string(limits.memory_limit_in_bytes)));
    return {};
}

Result<void> CgroupFiles::remove_tree(const std::string& directory) {
    const auto names = files_.list(directory);
    if (!names) return ignore_not_found(std::move(names));
    for (const std::string& name : *names) {
        const auto status = files_.link_status(directory + "/" + name);
        if (status && status->is_directory()) TRY_VOID(remove_tree(directory + "/" + name));
    }
    const Result<void> removed = files_.remove(directory);
    if (!removed && !is_not_found(removed)) return removed.error();
    return {};
}

Result<void> CgroupFiles::remove(const std::string& cgroup) {
    for (const std::string& hierarchy : hierarchies_) TRY_VOID(remove_tree(hierarchy + cgroup));
    return {};
}

std::map<std::string, std::string> CgroupFiles::pods(const std::string& root) {
    std::map<std::string, std::string> found;
    for (const std::string& hierarchy : hierarchies_) {
        for (const char* tier : {"/kubepods", "/kubepods/burstable", "/kubepods/besteffort"}) {
            for (const std::string& name : files_.list(hierarchy + root + tier).value_or(std::vector<std::string>()))
                if (name.starts_with("pod") && name.size() > 3) found[name.substr(3)] = root + tier + "/" + name;
        }
    }
    return found;
}

}  // namespace porthole::kubelet
