#include "cmd/bundle/machine_facts.h"

namespace porthole::cmd::bundle {

std::vector<MachineFact> machine_facts(const std::string& own_program) {
    return {
        {"porthole.txt", {own_program, "--version"}},
        {"kernel.txt", {"uname", "-a"}},
        {"distribution.txt", {"cat", "/etc/os-release"}},
        {"cgroups.txt", {"stat", "-fc", "%T", "/sys/fs/cgroup"}},
        {"memory.txt", {"cat", "/proc/meminfo"}},
        {"disks.txt", {"df", "-hT"}},
        {"processors.txt", {"nproc"}},
        {"processes.txt", {"ps", "-eo", "pid,ppid,stat,etimes,rss,comm"}},
        {"containerd.txt", {"containerd", "--version"}},
        {"runc.txt", {"runc", "--version"}},
        {"wine.txt", {"/usr/lib/wine/wine64", "--version"}},
        {"addresses.txt", {"ip", "-details", "address"}, true},
        {"routes.txt", {"ip", "route", "show", "table", "all"}, true},
        {"neighbours.txt", {"ip", "neighbour"}, true},
        {"rules.txt", {"nft", "list", "ruleset"}, true},
        {"sockets.txt", {"ss", "-lntup"}, true},
        {"kernel_settings.txt",
         {"sysctl", "net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables", "fs.inotify.max_user_instances"},
         true},
    };
}

}  // namespace porthole::cmd::bundle
