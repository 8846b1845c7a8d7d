#include <filesystem>
#include <functional>
#include <map>

#include "api/core_v1.h"
#include "base/version.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/windows/node_flags.h"
#include "cmd/windows/roles.h"
#include "hns/dll/load_hns.h"
#include "node_join/server_list.h"
#include "node_join/windows_node/host_windows.h"
#include "node_join/windows_node/node_object.h"
#include "node_join/windows_node/node_processes.h"
#include "node_join/windows_node/pod_network_wait.h"
#include "objects/conditions.h"
#include "runtime/files/file_system.h"

namespace porthole::cmd {

using namespace node_join;
using namespace winservice;
namespace {

namespace core = api::core::v1;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string file_name(const ServiceDefinition& service) { return service.name + ".exe"; }

/// The node's programs without services: subnet daemon, kubelet, kube-proxy, each when what it needs is there. What runs already is left
/// alone, so that it may be run again. It has worked when all of them run and the cluster shows the node Ready.
class Starting {
public:
    Starting(RealWorld& world, WindowsNode node) : world_(world), node_(std::move(node)), progress_(world.loop, false) {}

    Result<void> run() {
        TRY_VOID(look_first());
        TRY_VOID(complete_node(node_));
        node_.csi_proxy = !has_other_csi_proxy(node_, *make_service_manager());
        TRY_VOID(connect());
        TRY_VOID(world_.run(make_node_object()));
        for (const ServiceDefinition& service : node_services(node_, "")) {
            TRY_VOID(start(service));
            if (service.name != "flanneld") continue;
            const auto host_network = hns::own_hns(world_.loop, *world_.pool);
            TRY_VOID(world_.run(wait_for_pod_network(world_.loop, *host_network, node_)));
            progress_.done("HNS network " + node_.network_name() + " and its configuration " + node_.cni_config());
        }
        return world_.run(wait_for_success());
    }

private:
    Result<void> look_first() const {
        std::error_code code;
        for (const char* name : NodeServices) {
            const std::string path = node_.folder + "\\" + name + ".exe";
            if (!fs::exists(path, code)) return Error(Reason::NotFound, path + " does not exist: run install.ps1 or porthole.exe install");
        }
        if (!fs::exists(node_.kubeconfig(), code))
            return Error(Reason::NotFound, node_.kubeconfig() + " does not exist: join the cluster, or copy a kubeconfig there");
        fs::create_directories(node_.log_folder, code);
        return files_->change_mode(node_.kubeconfig(), 0600);  // everybody may read what is there otherwise
    }

    Result<void> connect() {
        TRY(const auto document, client::read_kubeconfig(*files_, node_.kubeconfig()));
        TRY(auto config, document.resolve(*files_));
        config.server = server_behind(*files_, node_.credentials(), config.server);
        TRY(transport_, client::make_http_transport(world_.loop, config, std::string("porthole-start/") + PortholeVersion));
        return {};
    }

    Task<> make_node_object() {
        CO_TRY(core::Node object, first_node(node_, kubelet::make_host(*files_)->describe()));
        CO_TRY(const std::string line, co_await introduce_node(*transport_, std::move(object)));
        progress_.done(line);
        co_return {};
    }

    Result<void> start(const ServiceDefinition& service) {
        if (is_running(file_name(service))) {
            progress_.done(service.name + " runs already");
            return {};
        }
        for (const auto& [name, value] : service.environment) ::_putenv_s(name.c_str(), value.c_str());
        std::vector<std::string> command = service.command;
        std::erase(command, "--windows-service");
        TRY(started_[service.name], start_detached(command, node_.log_folder + "\\" + service.name + ".out.log"));
        progress_.done(service.name + " started; its log is " + node_.log_folder + "\\" + service.name + ".log");
        return {};
    }

    Task<> wait_for_success() {
        client::Client client(*transport_);
        for (const MonotonicTime deadline = world_.loop.now() + 120s;;) {
            for (const auto& [name, runs] : started_) {
                if (!runs()) co_return Error(Reason::Unavailable, name + " has exited: see " + node_.log_folder + "\\" + name + ".log");
            }
            const auto found = co_await client.get<core::Node>({"", node_.name});
            if (found && objects::is_ready(*found) && is_reported_since_start(*found)) break;
            if (world_.loop.now() > deadline) {
                co_return Error(Reason::Timeout, "flanneld, kubelet and kube-proxy run, but the node is not Ready: kubectl describe node " +
                                                     node_.name + " says why");
            }
            CO_TRY_VOID(co_await world_.loop.sleep(500ms));
        }
        progress_.done("node " + node_.name + " is Ready");
        co_return {};
    }

    /// Not what the kubelet of before reported: its condition stays for most of a minute.
    bool is_reported_since_start(const core::Node& node) const {
        return !started_.contains("kubelet") || objects::find_condition(node.status.conditions, "Ready")->last_heartbeat_time >= begun_;
    }

    RealWorld& world_;
    WindowsNode node_;
    Progress progress_;
    std::unique_ptr<FileSystem> files_ = make_file_system();
    std::unique_ptr<client::Transport> transport_;
    std::map<std::string, std::function<bool()>> started_;  ///< whether each still runs
    const Timestamp begun_{world_.loop.wall_now()};         ///< cut to the second, as heartbeats are
};

}  // namespace

int run_start(std::vector<std::string> arguments) {
    WindowsNode node;
    CLI::App app("Start this node's programs without services, for a kubeconfig that is in the directory as `config`. Safe to run again.",
                 "start");
    add_node_flags(app, node);
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    RealWorld world;
    const auto started = Starting(world, std::move(node)).run();
    return started ? 0 : fail(started.error().message);
}

}  // namespace porthole::cmd
