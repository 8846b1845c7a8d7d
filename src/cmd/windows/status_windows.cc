#include <cstdio>

#include "api/core_v1.h"
#include "base/version.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "cmd/program/output_flag.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/windows/node_flags.h"
#include "cmd/windows/roles.h"
#include "cni/flannel/network_check.h"
#include "hns/dll/load_hns.h"
#include "net/interface_address.h"
#include "node_join/server_list.h"
#include "node_join/windows_node/host_windows.h"
#include "node_join/windows_node/node_status.h"
#include "objects/conditions.h"

namespace porthole::cmd {

using namespace node_join;
namespace {

namespace core = api::core::v1;
using namespace std::chrono_literals;

constexpr std::uint64_t LogTail = 256 << 10;  // what is looked at of a log

/// The Node as its own credentials may read it.
Task<core::Node> read_node(AsioLoop& loop, FileSystem& files, WindowsNode node) {
    CO_TRY(const auto document, client::read_kubeconfig(files, node.kubeconfig()));
    CO_TRY(auto config, document.resolve(files));
    config.server = server_behind(files, node.credentials(), config.server);
    CO_TRY(const auto transport, client::make_http_transport(loop, config, std::string("porthole-status/") + PortholeVersion));
    client::Client client(*transport);
    co_return co_await with_timeout(client.get<core::Node>({"", node.name}), 5s, "asking the API server");
}

std::string readiness_of(const Result<core::Node>& node) {
    if (!node) return "Unknown (" + node.error().message + ")";
    const auto* ready = objects::find_condition(node->status.conditions, "Ready");
    if (!ready) return "NotReady (its kubelet has not reported)";
    return ready->status == "True" ? "Ready" : "NotReady (" + ready->message + ")";
}

std::string tail_of(FileSystem& files, const std::string& path) {
    const auto there = files.status(path);
    if (!there) return "";
    const std::uint64_t start = there->size > LogTail ? there->size - LogTail : 0;
    return files.read_at(path, start, LogTail).value_or("");
}

NodeStatus look(RealWorld& world, const WindowsNode& node) {
    const auto files = make_file_system();
    const auto manager = winservice::make_service_manager();
    NodeStatus status;
    for (const char* name : NodeServices) {
        const auto state = manager->find(name);
        if (std::string_view(name) == CsiProxyService && has_other_csi_proxy(node, *manager)) continue;
        if (state && !*state && !is_required_service(name)) continue;
        status.services.push_back({name, state ? *state : std::nullopt});
    }
    const auto object = world.run(read_node(world.loop, *files, node));
    status.readiness = readiness_of(object);
    const auto service = hns::own_hns(world.loop, *world.pool);
    const auto missing = world.run(with_timeout(cni::flannel::missing_of_network(*service, node.network_name()), 5s, "asking HNS"));
    status.missing_network = missing ? *missing : missing.error().message;
    status.adapters = net::list_of_interfaces();
    status.network_trouble = last_network_trouble(tail_of(*files, node.log_folder + "\\flanneld.log"));
    status.stale_files = find_stale_files(*files, node, object ? object->spec.pod_cidr : "");
    return status;
}

}  // namespace

int run_status(std::vector<std::string> arguments) {
    WindowsNode node;
    OutputFlag output;
    CLI::App app(
        "Show this node: its services and their logs, its pod network, and its state in the cluster. Exit code 0 if everything works.",
        "status");
    add_node_flags(app, node);
    output.add_flags(app);
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    RealWorld world;
    if (const auto known = complete_node(node); !known && node.name.empty()) return fail(known.error().message);
    const NodeStatus status = look(world, node);
    const std::string text = output.is_text() ? to_text(status, node) : output.document(to_value(status, node));
    std::fputs(text.c_str(), stdout);
    return status.is_well() ? 0 : 1;
}

}  // namespace porthole::cmd
