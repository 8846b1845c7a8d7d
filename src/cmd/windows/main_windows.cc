#include <windows.h>

#include <fcntl.h>
#include <io.h>

#include <cstdio>

#include "base/version.h"
#include "base/wide_windows.h"
#include "cmd/windows/roles.h"
#include "runtime/processes/windows_command_line.h"
#include "winservice/crash_windows.h"

namespace {

using namespace porthole;
using namespace porthole::cmd;

void print_help() {
    std::puts("Porthole: a Windows node of a Kubernetes cluster in one program.\n\nUsage: porthole.exe ROLE [OPTIONS]\n\nRoles:");
    for (const SubCommand& role : windows_roles()) {
        if (role.summary) std::printf("  %-12s %s\n", role.name, role.summary);
    }
    std::puts(
        "\nEach role is also a program: kubelet.exe is porthole.exe kubelet.\n"
        "More about one role:  porthole.exe ROLE --help");
}

int run_role(const SubCommand& role, std::vector<std::string> arguments) {
    if (arguments.size() == 1 && (arguments[0] == "--version" || arguments[0] == "--version=true")) {
        std::printf("Kubernetes %s\n", KubernetesVersion);  // scripts and kubeadm read upstream's form
        return 0;
    }
    return role.run(std::move(arguments));
}

int run(const std::vector<std::string>& words) {
    if (const SubCommand* role = find_command(windows_roles(), program_name(words.empty() ? "" : words[0]))) {
        return run_role(*role, {words.begin() + 1, words.end()});
    }
    const std::string first = words.size() > 1 ? words[1] : "";
    if (first.empty() || first == "--help" || first == "-h" || first == "help") {
        print_help();
        return first.empty() ? 2 : 0;
    }
    if (first == "--version" || first == "version") {
        std::printf("porthole %s (Kubernetes API %s)\n", PortholeVersion, KubernetesVersion);
        return 0;
    }
    if (const SubCommand* role = find_command(windows_roles(), first)) return run_role(*role, {words.begin() + 2, words.end()});
    std::fprintf(stderr, "porthole: unknown role \"%s\"; `porthole.exe --help` lists the roles\n", first.c_str());
    return 2;
}

}  // namespace

int main() {
    winservice::end_on_unhandled_exceptions();
    for (const int stream : {0, 1, 2}) _setmode(stream, _O_BINARY);  // lines end as on every other system
    return run(split_windows_command_line(to_utf8(GetCommandLineW())));
}
