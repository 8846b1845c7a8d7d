#include <cstdio>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "cmd/commands.h"
#include "cmd/name_service.h"
#include "cmd/program/command.h"
#include "cmd/program/join_token.h"
#include "cmd/program/usage_error.h"

namespace {

using namespace porthole;
using namespace porthole::cmd;

constexpr SubCommand Commands[] = {
#define COMMAND(name, function, summary) {name, function, summary},
#include "cmd/commands.def"
#undef COMMAND
};
static_assert(are_distinct(Commands), "a command is listed twice");

void print_version() { std::printf("porthole %s (Kubernetes API %s)\n", PortholeVersion, KubernetesVersion); }

/// Programs of upstream's names say what upstream's say.
void print_version_of(std::string_view command) {
    if (command != "kubelet" && command != "kube-proxy") return print_version();
    std::printf("Kubernetes %s\n", KubernetesVersion);
}

void print_help() {
    std::puts("Porthole: a Kubernetes-API-compatible cluster in one program.\n\nUsage: porthole COMMAND [OPTIONS]\n\nCommands:");
    for (const SubCommand& command : Commands) {
        if (command.summary) std::printf("  %-10s %s\n", command.name, command.summary);
    }
    std::puts(
        "\nStart with:  porthole up --detach   then:  porthole sample web\n"
        "More about one command:  porthole COMMAND --help\n"
        "The environment variable PORTHOLE_DATA sets the data directory of all commands, as --data does (default: /var/lib/porthole).");
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
        print_version();
        return 0;
    }
    if (const SubCommand* command = find_command(Commands, first)) {
        std::vector<std::string> arguments(words + 2, words + count);
        if (arguments.size() == 1 && (arguments[0] == "--version" || arguments[0] == "--version=true")) {
            print_version_of(first);
            return 0;
        }
        hide_token({words + 2, words + count});
        return command->run(std::move(arguments));
    }
    std::vector<std::string> known;
    for (const SubCommand& command : Commands) known.emplace_back(command.name);
    std::fprintf(stderr, "porthole: unknown command \"%s\"%s; `porthole --help` lists the commands\n", words[1],
                 did_you_mean(words[1], known).c_str());
    return 2;
}
