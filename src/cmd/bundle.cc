#include <unistd.h>

#include "base/version.h"
#include "cmd/bundle/cluster_part.h"
#include "cmd/bundle/machine_part.h"
#include "cmd/program/flags.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/control_plane/control_plane_state.h"
#include "local_cluster/hosts/emulated_host.h"
#include "schema/json/json.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

using namespace std::chrono_literals;

struct BundleFlags {
    std::string file, kubeconfig, data = default_data_dir();
    bool only_machine = false, only_cluster = false, quiet = false;
};

constexpr const char* About =
    "Diagnostic data of a Porthole cluster, or of one of its machines. Read it before you share it.\n\n"
    "cluster/   from the API: versions, health, metrics, objects, logs of kube-system\n"
    "nodes/     of each node: settings, statistics, logs; networks of nodes on the machine that wrote this\n"
    "machine/   the machine that wrote this, and the logs of its data directory\n"
    "errors.txt what could not be collected\n\n"
    "Left out: contents of Secrets and ConfigMaps, values of environment variables, audit logs, and all text that looks like a key, token\n"
    "or password. Names of objects, images and users, addresses and programs' arguments are included.\n";

Task<> add_hns(RealWorld& world, bundle::Writer& writer, const DataDir& data, NodeHost node) {
    EmulatedHost host(world.loop, *world.processes, data, node);
    for (const auto& [name, output] : {std::pair("hns.txt", "--output=text"), std::pair("hns.json", "--output=json")}) {
        const std::string file = "nodes/" + node.name + "/" + name;
        const auto listed = co_await host.run({"porthole.exe", "hns", "list", output});
        if (is_cancelled(listed)) co_return listed.error();
        if (!listed) {
            writer.note(file, listed.error().message);
        } else {
            CO_TRY_VOID(writer.add_text(file, listed->output + listed->errors));
        }
    }
    co_return {};
}

/// The nodes of a cluster of this machine, each in a network namespace of its own.
Task<> add_local_nodes(RealWorld& world, bundle::Writer& writer, const DataDir& data, const Cluster& cluster) {
    for (const NodeHost& node : cluster.nodes(data)) {
        if (node.is_windows()) CO_TRY_VOID(co_await add_hns(world, writer, data, node));
        if (node.network_namespace.empty()) continue;
        CO_TRY_VOID(co_await bundle::add_machine(*world.processes, writer, bundle::machine_facts(own_program().string()),
                                                 "nodes/" + node.name, "/run/netns/" + node.network_namespace, true));
    }
    co_return {};
}

/// Of a cluster of this machine with several API servers.
Task<> add_servers(RealWorld& world, bundle::Writer& writer, const DataDir& data, const Cluster& cluster) {
    if (!cluster.has_several_servers()) co_return {};
    const auto state = co_await ask_control_plane(world.loop, data, cluster);
    if (is_cancelled(state)) co_return state.error();
    if (state) co_return writer.add_text("machine/servers.json", schema::to_json(to_value(*state)) + "\n");
    writer.note("machine/servers.json", state.error().message);
    co_return {};
}

Task<> gather(RealWorld& world, BundleFlags flags, Progress& progress, bundle::Writer& writer) {
    const DataDir data(flags.data);
    if (!flags.only_machine) {
        progress.begin("asking the cluster");
        const auto admin = connect_as_admin(world.loop, flags.kubeconfig, flags.data);
        if (!admin) {
            if (flags.only_cluster) co_return admin.error();
            writer.note("cluster", admin.error().message);
            progress.failed("cluster", admin.error().message);
        } else {
            CO_TRY_VOID(co_await bundle::add_cluster((*admin)->client, writer));
            progress.done("objects, versions, health and logs of the cluster");
        }
    }
    if (flags.only_cluster) co_return writer.add_notes();
    progress.begin("asking this machine");
    CO_TRY_VOID(co_await bundle::add_machine(*world.processes, writer, bundle::machine_facts(own_program().string()), "machine"));
    if (const auto cluster = Cluster::load(data)) {
        CO_TRY_VOID(co_await add_local_nodes(world, writer, data, *cluster));
        CO_TRY_VOID(co_await add_servers(world, writer, data, *cluster));
    }
    const auto files = make_file_system();
    if (files->exists(data.logs().string())) CO_TRY_VOID(bundle::add_logs(*files, writer, data.logs().string(), "machine/logs"));
    progress.done("this machine, its nodes and their logs");
    co_return writer.add_notes();
}

Result<void> write(const BundleFlags& flags) {
    RealWorld world;
    Progress progress(world.loop, flags.quiet);
    TRY(auto archive, bundle::Archive::create(flags.file, Timestamp(world.loop.wall_now())));
    TRY_VOID(archive.add("README.txt", About));
    bundle::Writer writer(archive);
    TRY_VOID(world.run(gather(world, flags, progress, writer)));
    TRY_VOID(archive.close());
    progress.done(flags.file + ": read it before you share it");
    return {};
}

}  // namespace

int run_bundle(std::vector<std::string> arguments) {
    BundleFlags flags{.file = "porthole-bundle.tar.gz"};
    CLI::App app("Collect the cluster's state in one archive for a bug report, without secrets.", "bundle");
    app.add_option("FILE", flags.file, "new archive")->capture_default_str();
    const CLI::Option* data =
        app.add_option("--data", flags.data, "the data directory of this machine's cluster or node")->capture_default_str();
    CLI::Option* kubeconfig =
        app.add_option("--kubeconfig", flags.kubeconfig,
                       "kubeconfig of an administrator; without --data, only the API of that cluster is asked, and nothing is collected "
                       "from this machine (default: the cluster on this machine, otherwise kubectl's)");
    app.add_flag("--machine", flags.only_machine, "collect from this machine only, without asking its cluster")->excludes(kubeconfig);
    app.add_flag("--quiet,-q", flags.quiet, "print failures only");
    app.footer(
        "The archive contains names, images, addresses and arguments of programs. It does not contain the contents of Secrets and "
        "ConfigMaps,\n"
        "the values of environment variables, or text that looks like a key, token or password. errors.txt lists what could not be "
        "collected.\n"
        "On a Windows node, use porthole.exe bundle.\n"
        "\n"
        "Examples:\n"
        "  sudo porthole bundle                          the cluster on this machine\n"
        "  porthole bundle --kubeconfig other b.tar.gz   another cluster, from its API alone\n"
        "  sudo porthole bundle --machine node.tar.gz    a node of a cluster on another machine");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    flags.only_cluster = kubeconfig->count() > 0 && data->count() == 0;

    const auto written = write(flags);
    if (written) return 0;
    if (written.error().reason != Reason::AlreadyExists) ::unlink(flags.file.c_str());
    return fail(written.error().message);
}

}  // namespace porthole::cmd
