#include <unistd.h>

#include "cmd/program/flags.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/system_unit.h"
#include "node_join/agent_lock.h"
#include "node_join/agent_options.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/mounts.h"
#include "teardown/teardown.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace node_join;
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

Task<> reset(RealWorld& world, Progress& progress, AgentOptions agent) {
    CO_TRY_VOID(co_await SystemUnit::agent({}).remove(*world.processes, true));
    const auto lock = take_agent_lock(agent.data);
    if (!lock) co_return lock.error();
    progress.begin("removing pods");
    const auto removed = co_await with_timeout(teardown::remove_pods(world.loop, agent.runtime_endpoint), 1min, "removing pods");
    if (removed)
        progress.done("pods removed");
    else
        progress.failed("removing pods", removed.error().message + "; what runs in containerd at " + agent.runtime_endpoint + " stays");
    CO_TRY_VOID(co_await teardown::remove_node_rules(*world.processes));
    CO_TRY_VOID(unmount_below(agent.data));
    for (const char* group : {"kubepods", "kubepods.slice"}) {
        const std::string root = agent.cgroup_root == "/" ? "" : agent.cgroup_root.substr(1) + "/";
        teardown::remove_cgroups(root + group);
    }
    std::error_code error;
    fs::remove(fs::path(agent.cni_config_folder) / "10-porthole.conflist", error);
    fs::remove_all(agent.data, error);
    if (error) co_return Error(Reason::Io, "cannot delete " + agent.data + ": " + error.message());
    co_return {};
}

}  // namespace

int run_reset(std::vector<std::string> arguments) {
    AgentOptions agent;
    CLI::App app("Undo `join`: end the agent and its pods and remove links, rules, credentials and data.", "reset");
    app.add_option("--data", agent.data, "the node's data directory")->capture_default_str();
    app.add_option("--container-runtime-endpoint", agent.runtime_endpoint, "containerd's socket")->capture_default_str();
    app.add_option("--cni-conf-dir", agent.cni_config_folder, "where containerd reads network configurations")->capture_default_str();
    app.add_option("--cgroup-root", agent.cgroup_root, "parent of the pods' cgroups")->capture_default_str();
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (::geteuid() != 0) return fail("`reset` removes links, rules and services: run it as root, for example with sudo");
    if (!path_exists(agent.data)) return fail("no node found in " + agent.data + "; --data is the directory given to `join`");

    RealWorld world;
    Progress progress(world.loop, false);
    const auto done = world.run(reset(world, progress, agent));
    if (!done) return fail(done.error().message);
    progress.done("this machine is no longer a node; `kubectl delete node` removes it from its cluster");
    return 0;
}

}  // namespace porthole::cmd
