#include "cmd/windows/node_flags.h"

#include "client/kubeconfig.h"
#include "net/interface_address.h"
#include "node_join/server_list.h"
#include "node_join/windows_node/host_windows.h"
#include "node_join/windows_node/preflight.h"
#include "runtime/files/file_system.h"

namespace porthole::cmd {

using namespace node_join;

void add_node_flags(CLI::App& app, WindowsNode& node) {
    app.add_option("--folder", node.folder, "directory of programs, configuration and credentials")->capture_default_str();
    app.add_option("--network-mode", node.network_mode, "l2bridge or overlay; must be the same on all nodes of the cluster")
        ->capture_default_str();
    app.add_option("--node-name", node.name, "name of the node (default: the computer's name)");
    app.add_option("--node-ip,--management-ip", node.ip, "address of the node (default: the address from which it reaches the server)");
    app.add_option("--adapter", node.adapter, "adapter for the pod network, such as \"Ethernet 2\" (default: Windows chooses one)");
    app.add_option("--cluster-cidr", node.cluster_cidr, "addresses of pods")->capture_default_str();
    app.add_option("--service-cidr", node.service_cidr, "addresses of services")->capture_default_str();
    app.add_option("--cluster-dns", node.cluster_dns, "address of the cluster's DNS")->capture_default_str();
    app.add_option("--cluster-domain", node.cluster_domain, "domain of services")->capture_default_str();
    app.add_flag("--enable-dsr", node.direct_server_return, "direct server return: needed for many services, and keeps clients' addresses");
    app.add_option("--cri-socket", node.runtime_endpoint, "endpoint of the container runtime")->capture_default_str();
    app.add_option("--log-dir", node.log_folder, "directory of the programs' logs")->capture_default_str();
}

Result<void> complete_node(WindowsNode& node) {
    if (node.name.empty()) node.name = computer_name();
    if (node.ip.empty() && !node.adapter.empty()) {
        TRY(node.ip, address_of_adapter(node.adapter, net::interfaces()));
    }
    if (node.ip.empty()) {
        const auto files = make_file_system();
        TRY(const auto document, client::read_kubeconfig(*files, node.kubeconfig()));
        TRY(const auto config, document.resolve(*files));
        auto address = net::source_address_towards(server_behind(*files, node.credentials(), config.server));
        if (!address) return std::move(address).error().with_context("cannot determine this machine's address; set it with --node-ip");
        node.ip = address->to_string();
    }
    return check_node(node);
}

}  // namespace porthole::cmd
