#include <cstdio>

#include "base/version.h"
#include "cmd/windows/roles.h"

namespace porthole::cmd {
namespace {

int print_version(std::vector<std::string>) {
    std::printf("kubeadm version: %s\n", KubernetesVersion);
    return 0;
}

constexpr SubCommand Commands[] = {
    {"join", run_join, "make this machine a node of a cluster"},
    {"reset", run_reset, "undo join"},
    {"version", print_version, "print the version"},
};

}  // namespace

int run_kubeadm(std::vector<std::string> arguments) {
    const std::string first = arguments.empty() ? "" : arguments[0];
    if (const SubCommand* command = find_command(Commands, first)) return command->run({arguments.begin() + 1, arguments.end()});
    std::puts("The commands of kubeadm that a Windows node needs.\n\nUsage: kubeadm COMMAND [OPTIONS]\n\nCommands:");
    for (const SubCommand& command : Commands) std::printf("  %-8s %s\n", command.name, command.summary);
    if (first.empty() || first == "--help" || first == "-h") return first.empty() ? 2 : 0;
    std::fprintf(stderr, "kubeadm: command \"%s\" is not available on Windows: control plane is supported on Linux only\n", first.c_str());
    return 2;
}

}  // namespace porthole::cmd
