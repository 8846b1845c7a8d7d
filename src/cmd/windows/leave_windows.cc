#include "cmd/program/flags.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/windows/roles.h"
#include "hns/dll/load_hns.h"
#include "node_join/windows_node/firewall.h"
#include "node_join/windows_node/host_windows.h"
#include "node_join/windows_node/node_plan.h"
#include "node_join/windows_node/node_status.h"
#include "runtime/files/file_system.h"
#include "teardown/teardown.h"
#include "winservice/service_order.h"

namespace porthole::cmd {

using namespace node_join;
using namespace winservice;
namespace {

using namespace std::chrono_literals;

/// Names of HNS networks that a node's daemon makes; `l2bridge` and `flannel.4096` are those of earlier set-ups.
constexpr const char* PodNetworks[] = {"cbr0", "vxlan0", "flannel.4096"};

/// Undoes a join. What cannot be undone is said, and the rest goes on: one wants to get rid of a broken node, too.
class Leaving {
public:
    Leaving(RealWorld& world, WindowsNode node) : world_(world), node_(std::move(node)), progress_(world.loop, false) {}

    bool run() {
        // The proxy and the daemon must not repair what is taken away; pods are ended by the runtime itself.
        step("stopping services", stop_services(*services_, names_, report()));
        step("removing pods", world_.run(with_timeout(teardown::remove_pods(world_.loop, node_.runtime_endpoint), 2min, "removing pods")));
        step("deleting services", remove_services(*services_, names_, report()));
        const auto service = hns::own_hns(world_.loop, *world_.pool);
        for (const char* network : PodNetworks) step(network, world_.run(teardown::remove_pod_network(*service, network, report())));
        for (const std::string& rule : firewall_rule_names()) step(rule, world_.run(remove_firewall_rule(*world_.processes, rule)));
        std::vector<std::string> paths = script_files(node_);
        paths.insert(paths.end(), {node_.kubeconfig(), node_.credentials(), node_.cni_config(), "C:\\run\\flannel", "C:\\var\\lib\\cni",
                                   "C:\\var\\lib\\kubelet", "C:\\var\\log\\pods"});
        for (const std::string& path : paths) remove(path);
        if (complete_) progress_.done("this machine is no longer a node; `kubectl delete node` removes it from its cluster");
        return complete_;
    }

private:
    Report report() {
        return [this](const std::string& text) { progress_.done(text); };
    }

    void step(const std::string& what, const Result<void>& done) {
        if (done) return;
        complete_ = false;
        progress_.failed(what, done.error().message);
    }

    /// Links go, and not what they lead to: containers can make them, and on Windows the kubelet shows them volumes by links. The standard
    /// library knows no links of Windows.
    void remove(const std::string& path) {
        if (!files_->exists(path)) return;
        const auto removed = files_->remove_all(path);
        step(path, removed);
        if (removed) progress_.done(path + " removed");
    }

    RealWorld& world_;
    WindowsNode node_;
    Progress progress_;
    std::unique_ptr<FileSystem> files_ = make_file_system();
    std::unique_ptr<ServiceManager> services_ = make_service_manager();
    const std::vector<std::string> names_ = own_services(node_);
    bool complete_ = true;
};

}  // namespace

int run_reset(std::vector<std::string> arguments) {
    WindowsNode node;
    bool agreed = false;
    CLI::App app("Undo `join`: services, pods, HNS networks, firewall rules and credentials are removed; the programs stay.", "leave");
    app.add_option("--cri-socket", node.runtime_endpoint, "endpoint of the container runtime")->capture_default_str();
    app.add_option("--folder", node.folder, "the node's directory, as for `join`")->capture_default_str();
    app.add_flag("-f,--force", agreed, "accepted; there is no prompt");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    RealWorld world;
    return Leaving(world, std::move(node)).run() ? 0 : fail("not everything was removed, see above; it is safe to run this again");
}

}  // namespace porthole::cmd
