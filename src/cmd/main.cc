#include <cstdio>
#include <string_view>

#include "cmd/command.h"
#include "cmd/name_service.h"
#include "cmd/version.h"

namespace {

using namespace porthole::cmd;

constexpr SubCommand Commands[] = {
    {"up", "bring up a whole cluster on this machine and point kubectl at it", run_up},
    {"down", "end the cluster and remove what it created", run_down},
    {"status", "show the cluster's processes, nodes and addresses", run_status},
    {"image", "load images from archives into the cluster's nodes", run_image},
    {"token", "create, list and delete the tokens that nodes join with", run_token},
    {"join", "join this machine to a cluster as a node", run_join},
    {"reset", "undo join: take this machine out of its cluster", run_reset},
    {"server", "run the control plane alone", run_server},
    {"agent", "run a node's agent alone", run_agent},
    {"kubelet", "run a node's kubelet alone, with upstream's flags", run_kubelet},
    {"kube-proxy", "run a node's service proxy alone, with upstream's flags", run_kube_proxy},
    {"net", "check a cluster's network; print routes for a router", run_net},
    {"winnode", "add emulated Windows nodes of this machine to a cluster elsewhere", run_winnode},
    {"winhost", "run an emulated Windows host, or talk to one", run_winhost},
    {"supervise", nullptr, run_supervise},
    {"flannel", nullptr, run_flannel},
};

void print_help() {
    std::puts("Porthole: a Kubernetes-API-compatible cluster in one program.\n\nUsage: porthole COMMAND [OPTIONS]\n\nCommands:");
    for (const SubCommand& command : Commands) {
        if (command.summary) std::printf("  %-10s %s\n", command.name, command.summary);
    }
    std::puts(
        "\nStart with:  porthole up            then:  kubectl get nodes\n"
        "More about one command:  porthole COMMAND --help");
}

/// A CNI runtime starts plugins by their type: a link of this name to the program is one.
bool is_called(std::string_view program, std::string_view name) { return program.substr(program.rfind('/') + 1) == name; }

}  // namespace

int main(int count, char** words) {
    use_own_name_service();
    if (is_called(words[0], "flannel")) return run_flannel({words + 1, words + count});
    const std::string_view first = count > 1 ? words[1] : "";
    if (first.empty() || first == "--help" || first == "-h" || first == "help") {
        print_help();
        return first.empty() ? 2 : 0;
    }
    if (first == "--version" || first == "version") {
        std::printf("porthole %s (Kubernetes API %s)\n", Version, KubernetesVersion);
        return 0;
    }
    for (const SubCommand& command : Commands) {
        if (first == command.name) return command.run({words + 2, words + count});
    }
    std::fprintf(stderr, "porthole: unknown command \"%s\"; `porthole --help` lists the commands\n", words[1]);
    return 2;
}
