#include <cstdio>
#include <filesystem>

#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/windows/node_flags.h"
#include "cmd/windows/roles.h"
#include "node_join/windows_node/environment.h"
#include "node_join/windows_node/host_windows.h"
#include "runtime/files/file_system.h"
#include "winservice/service_order.h"

namespace porthole::cmd {

using namespace node_join;
using namespace winservice;
namespace {

struct RegisterFlags {
    WindowsNode node;
    std::string print;
};

std::optional<int> parse(std::vector<std::string> arguments, RegisterFlags& flags) {
    CLI::App app("Register a node's services for a kubeconfig that is already in the directory as `config`.", "register");
    add_node_flags(app, flags.node);
    app.add_option("--print", flags.print, "print commands instead: sc or nssm")->check(CLI::IsMember({"sc", "nssm"}));
    return parse_flags(app, std::move(arguments));
}

Result<void> register_services(RegisterFlags flags) {
    TRY_VOID(complete_node(flags.node));
    const auto manager = make_service_manager();
    // What is printed may be meant for another machine.
    flags.node.csi_proxy = !flags.print.empty() || !has_other_csi_proxy(flags.node, *manager);
    const auto runtime = manager->find(ContainerdService);
    const auto services = node_services(flags.node, runtime && *runtime ? ContainerdService : "");
    if (!flags.print.empty()) {
        for (const auto& command : flags.print == "sc" ? sc_commands(services) : nssm_commands(flags.node, services))
            std::puts(command.c_str());
        return {};
    }
    const std::vector<std::string> names = own_services(flags.node);
    const Report report = [](const std::string& text) { std::printf("%s\n", text.c_str()); };
    TRY_VOID(stop_services(*manager, names, report));
    TRY_VOID(install_programs(flags.node));
    return install_services(*manager, services, report);
}

/// It may have a key, and everybody may read what is in the directory otherwise.
Result<void> copy_kubeconfig(const std::string& from, const WindowsNode& node) {
    const auto files = make_file_system();
    TRY(const std::string text, files->read(from));
    return files->replace(node.kubeconfig(), text, 0600);
}

}  // namespace

int run_register(std::vector<std::string> arguments) {
    RegisterFlags flags;
    if (const auto code = parse(std::move(arguments), flags)) return *code;
    const auto done = register_services(std::move(flags));
    return done ? 0 : fail(done.error().message);
}

int run_install(std::vector<std::string> arguments) {
    WindowsNode node;
    CLI::App app("Copy this program to the directory under all of its names: kubelet.exe, kube-proxy.exe, ...", "install");
    app.add_option("--folder", node.folder, "directory for the programs")->capture_default_str();
    app.add_option("--log-dir", node.log_folder, "directory of the programs' logs")->capture_default_str();
    std::string kubeconfig;
    bool add_to_path = false, set_kubeconfig = false;
    app.add_option("--kubeconfig", kubeconfig, "kubeconfig to copy to the file `config` in the directory, for administrators only");
    app.add_flag("--add-to-path", add_to_path, "add the directory to the machine's PATH");
    app.add_flag("--set-kubeconfig", set_kubeconfig, "set this user's KUBECONFIG to the file `config` in the directory");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    const auto done = install_programs(node);
    if (!done) return fail(done.error().message);
    std::printf("programs are in %s and %s\n", node.folder.c_str(), node.cni_folder().c_str());
    if (!kubeconfig.empty()) {
        if (const auto copied = copy_kubeconfig(kubeconfig, node); !copied) return fail(copied.error().message);
    }
    if (add_to_path) {
        const auto added = add_to_machine_path(node.folder);
        if (!added) return fail(added.error().message);
        std::printf("%s %s\n", node.folder.c_str(), *added ? "is in PATH for programs that start from now on" : "was in PATH already");
    }
    if (set_kubeconfig) {
        if (const auto set = set_user_variable("KUBECONFIG", node.kubeconfig()); !set) return fail(set.error().message);
        std::printf("KUBECONFIG of this user is %s\n", node.kubeconfig().c_str());
    }
    return 0;
}

}  // namespace porthole::cmd
