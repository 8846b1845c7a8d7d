#include <unistd.h>

#include "cmd/program/flags.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/hosts/network_namespace.h"
#include "local_cluster/kubeconfig_entry.h"
#include "local_cluster/supervisor.h"
#include "local_cluster/system_unit.h"

namespace porthole::cmd {

using namespace local_cluster;
int run_down(std::vector<std::string> arguments) {
    std::string path = default_data_dir();
    bool purge = false;
    CLI::App app("End the cluster on this machine and leave no process, mount, namespace, link or rule.", "down");
    app.add_option("--data", path, "the cluster's data directory")->capture_default_str();
    app.add_flag("--purge", purge, "delete its data too: objects, certificates, images, logs");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (::geteuid() != 0) return fail("`down` removes namespaces and links: run it as root, for example with sudo");

    const DataDir data(path);
    auto cluster = Cluster::load(data);
    if (!cluster) return fail(cluster.error().message);
    // The cluster's links and rules are where it was brought up, which need not be where this is typed. Before any thread is made.
    if (cluster->network_namespace != own_network_namespace()) {
        if (const auto entered = enter_network_namespace(cluster->network_namespace); !entered) return fail(entered.error().message);
    }
    RealWorld world;
    Progress progress(world.loop, false);
    const bool foreign = cluster->options.foreign.has_value();  // the cluster goes on without these hosts
    progress.begin(foreign ? "ending the hosts" : "ending the cluster");
    const auto ended = world.run(end_cluster(world.loop, *world.processes, data, std::move(*cluster)));
    if (!ended) return fail(ended.error().message);
    progress.done(foreign ? "hosts ended" : "cluster ended");
    const auto forgotten = world.run(SystemUnit::cluster(data.root(), data.id()).remove(*world.processes, false));
    if (!forgotten) return fail("the cluster would start with the machine again: " + forgotten.error().message);
    if (const auto left = leave_kubeconfig(data); !left) return fail("the entry in the kubeconfig stays: " + left.error().message);
    if (purge) {
        std::error_code error;
        std::filesystem::remove_all(data.root(), error);
        if (error) return fail("cannot delete " + data.root().string() + ": " + error.message());
        progress.done("data deleted");
    }
    return 0;
}

}  // namespace porthole::cmd
