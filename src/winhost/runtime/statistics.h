#pragma once  // private to this folder
#include "winhost/bundle/cgroup.h"
#include "winhost/runtime/containers.h"
#include "winhost/runtime/written_bytes.h"

namespace porthole::winhost {

/// Resource use of containers and pods, in CRI's form for Windows. The emulation's own processes are left out.
class Statistics {
public:
    Statistics(RuntimeContext context, Containers& containers)
        : context_(context), containers_(containers), cgroups_(context.files), written_(context.loop, context.files, context.pool) {}

    /// Brings up to date what takes long to find out. The others tell what this has found.
    Task<> look();
    cri::ContainerStats container(const Container& container);
    cri::PodSandboxStats sandbox(const Sandbox& sandbox);

private:
    struct Usage {
        std::int64_t timestamp = 0;
        std::uint64_t cpu_ns = 0, nano_cores = 0;
        std::uint64_t working_set = 0, commit = 0, page_faults = 0, processes = 0;
    };
    struct Sample {
        std::int64_t timestamp = 0;
        std::uint64_t cpu_ns = 0, nano_cores = 0;
    };
    Usage measure(const std::string& cgroup);
    cri::WindowsNetworkUsage network(const Sandbox& sandbox, std::int64_t timestamp);

    RuntimeContext context_;
    Containers& containers_;
    Cgroups cgroups_;
    WrittenBytes written_;
    std::map<std::string, Sample> samples_;  ///< by cgroup, for the rate of CPU use
};

}  // namespace porthole::winhost
