#include <cstdio>
#include <filesystem>

#include "client/kubeconfig.h"
#include "cmd/command.h"
#include "cmd/flags.h"
#include "cmd/runtime_setup.h"
#include "cmd/windows/host_windows.h"
#include "cmd/windows/service_order.h"
#include "net/source_address.h"
#include "runtime/file_system.h"

namespace porthole::cmd {
namespace {

struct RegisterFlags {
    WindowsNode node;
    std::string print;
};

void add_folder_flag(CLI::App& app, WindowsNode& node) {
    app.add_option("--folder", node.folder, "programs, configuration and credentials")->capture_default_str();
}

std::optional<int> parse(std::vector<std::string> arguments, RegisterFlags& flags) {
    WindowsNode& node = flags.node;
    CLI::App app("Register a node's services for a kubeconfig that is already in the folder as `config`.", "register");
    add_folder_flag(app, node);
    app.add_option("--network-mode", node.network_mode, "l2bridge or overlay, as the whole cluster")->capture_default_str();
    app.add_option("--node-name", node.name, "the computer's name unless given");
    app.add_option("--node-ip,--management-ip", node.ip, "the address towards the server unless given");
    app.add_option("--cluster-cidr", node.cluster_cidr, "of all pods")->capture_default_str();
    app.add_option("--service-cidr", node.service_cidr, "of services")->capture_default_str();
    app.add_option("--cluster-dns", node.cluster_dns, "the DNS service's address")->capture_default_str();
    app.add_option("--cluster-domain", node.cluster_domain, "of services")->capture_default_str();
    app.add_flag("--enable-dsr", node.direct_server_return,
                 "direct server return for services: for many of them, and to keep clients' addresses");
    app.add_option("--cri-socket", node.runtime_endpoint, "the container runtime")->capture_default_str();
    app.add_option("--log-dir", node.log_folder, "the programs' logs")->capture_default_str();
    app.add_option("--print", flags.print, "print commands instead: sc or nssm")->check(CLI::IsMember({"sc", "nssm"}));
    return parse_flags(app, std::move(arguments));
}

Result<void> complete(WindowsNode& node) {
    if (node.name.empty()) node.name = computer_name();
    if (node.ip.empty()) {
        const auto files = make_file_system();
        TRY(const auto document, client::read_kubeconfig(*files, node.kubeconfig()));
        TRY(const auto config, document.resolve(*files));
        auto address = net::source_address_towards(config.server);
        if (!address) return std::move(address).error().with_context("this machine's address is not clear, give it with --node-ip");
        node.ip = address->to_string();
    }
    return check_node(node);
}

Result<void> register_services(RegisterFlags flags) {
    TRY_VOID(complete(flags.node));
    const auto manager = make_service_manager();
    // What is printed may be meant for another machine.
    const auto runtime = manager->find(ContainerdService);
    const auto services = node_services(flags.node, runtime && *runtime ? ContainerdService : "");
    if (!flags.print.empty()) {
        for (const auto& command : flags.print == "sc" ? sc_commands(services) : nssm_commands(flags.node, services))
            std::puts(command.c_str());
        return {};
    }
    const std::vector<std::string> names{std::begin(NodeServices), std::end(NodeServices)};
    const Report report = [](const std::string& text) { std::printf("%s\n", text.c_str()); };
    TRY_VOID(stop_services(*manager, names, report));
    TRY_VOID(install_programs(flags.node));
    return install_services(*manager, services, report);
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
    CLI::App app("Put this program into the folder under all of its names: kubelet.exe, kube-proxy.exe, ...", "install");
    add_folder_flag(app, node);
    app.add_option("--log-dir", node.log_folder, "the programs' logs")->capture_default_str();
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    const auto done = install_programs(node);
    if (!done) return fail(done.error().message);
    std::printf("programs are in %s and %s\n", node.folder.c_str(), node.cni_folder().c_str());
    return 0;
}

}  // namespace porthole::cmd
