#include <cstdio>

#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/kubeconfig_entry.h"

namespace porthole::cmd {

using namespace local_cluster;

int run_kubeconfig(std::vector<std::string> arguments) {
    std::string path = default_data_dir(), into;
    bool merge = false;
    CLI::App app("Print the administrator's kubeconfig of the cluster on this machine, or merge it into a file.", "kubeconfig");
    app.add_option("--data", path, "the cluster's data directory")->capture_default_str();
    app.add_flag("--merge", merge, "merge it into kubectl's own file as the current context, instead of printing it");
    app.add_option("--kubeconfig", into, "file to merge into (default: KUBECONFIG or ~/.kube/config)")->needs("--merge");
    app.footer(
        "Examples:\n"
        "  porthole kubeconfig > cluster.kubeconfig     for another user, or another machine that can reach this one\n"
        "  porthole kubeconfig --merge                  for kubectl on this machine, as `porthole up` does\n"
        "  kubectl --kubeconfig <(porthole kubeconfig) get nodes\n"
        "\n"
        "kubectl looks for its configuration in this order: the flag --kubeconfig, the files of the variable KUBECONFIG, ~/.kube/config. "
        "If it finds none, it tries localhost:8080 and reports that the connection was refused.");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    const DataDir data(path);
    const auto text = admin_kubeconfig(data);
    if (!text) return fail(text.error().message);
    if (!merge) return std::fputs(text->c_str(), stdout) < 0 ? 1 : 0;
    if (into.empty()) into = kubectl_file();
    if (const auto entered = enter_kubeconfig(data, into); !entered) return fail(entered.error().message);
    std::printf("kubectl context porthole in %s\n", into.c_str());
    return 0;
}

}  // namespace porthole::cmd
