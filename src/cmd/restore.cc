#include <fmt/format.h>

#include "cmd/program/flags.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/server/store_location.h"
#include "cmd/store/embedded_side.h"
#include "cmd/store/etcd_side.h"
#include "local_cluster/control_plane/cluster_backup.h"
#include "provision/remote_script.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

/// What brings the restored cluster up as it was.
std::string next_command(const DataDir& data, const std::optional<ClusterOptions>& options) {
    if (!options) return "porthole server" + data.flag();
    const ClusterOptions usual;
    const std::string nodes = nodes_text(*options);
    std::string command = "porthole up --nodes " + (nodes.contains('@') ? provision::quote_for_shell({nodes}) : nodes);
    const auto add = [&](const char* flag, const std::string& value, const std::string& usual_value) {
        if (value != usual_value) command += std::string(" ") + flag + " " + value;
    };
    add("--servers", std::to_string(options->servers), std::to_string(usual.servers));
    add("--port", std::to_string(options->port), std::to_string(usual.port));
    add("--cluster-cidr", options->cluster_cidr, usual.cluster_cidr);
    add("--service-cidr", options->service_cidr, usual.service_cidr);
    add("--backend", options->backend, usual.backend);
    add("--node-cidr", options->node_cidr, usual.node_cidr);
    add("--cluster-dns", options->cluster_dns, usual.cluster_dns);
    add("--cluster-domain", options->cluster_domain, usual.cluster_domain);
    return command + (options->hardened ? " --hardened" : "") + data.flag() + " --detach";
}

/// Takes objects to an etcd; empty: they stay in the data directory.
PlaceObjects placer_of(RealWorld& world, Progress& progress, const EtcdSideFlags& flags, bool may_be_lower) {
    if (flags.etcd.servers.empty()) return {};
    return [&, may_be_lower](const DataDir& scratch, const store::BackupInfo& info) -> Result<void> {
        TRY(const auto etcd, EtcdSide::open(world, progress, flags, scratch));
        TRY(apiserver::StoreState state, read_embedded_state(scratch.store(), etcd->form()));
        state.revision = info.revision;  // the scratch directory's is beyond what etcd can be raised to
        TRY_VOID(etcd->write(state, info.cluster, may_be_lower));
        return {};
    };
}

}  // namespace

int run_restore(std::vector<std::string> arguments) {
    std::string file, keys, path = default_data_dir();
    bool quiet = false, may_be_lower = false;
    EtcdSideFlags etcd;
    CLI::App app("Create a data directory from a backup.", "restore");
    app.add_option("FILE", file, "backup file written by `porthole backup`")->required();
    app.add_option("--keys", keys, "file of the backup's keys (default: FILE.keys)");
    app.add_option("--data", path, "directory to create; it must not exist, or must be empty")->capture_default_str();
    CLI::Option* servers = add_etcd_side_flags(app, etcd);
    add_lower_revisions_flag(app, may_be_lower, servers);
    app.add_flag("--quiet,-q", quiet, "print failures only");
    app.footer(
        "This command does not start the cluster. The objects are as in the backup, at a much higher revision, so that clients of the old "
        "cluster "
        "list\n"
        "again. Nodes on other machines reconnect if the server has its old address. With --etcd-servers the objects go into that etcd, "
        "under\n"
        "an empty prefix, and the rest into the data directory. Etcd's revision is then raised to the backup's but not far beyond it: "
        "restart\n"
        "the clients of the old cluster.\n"
        "\n"
        "Example:\n"
        "  porthole restore before-upgrade.backup && porthole up --detach");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (keys.empty()) keys = keys_file_of(file);

    RealWorld world;
    Progress progress(world.loop, quiet);
    const DataDir data(path);
    progress.begin("restoring into " + data.root().string());
    const auto restored = restore(data, file, keys, world.loop.wall_now(), placer_of(world, progress, etcd, may_be_lower));
    if (!restored) return fail(restored.error().message);
    if (const auto noted = note_store_location(data, etcd.etcd); !noted) return fail(noted.error().message);
    progress.done(fmt::format("{}: {} objects of {}", data.root().string(), restored->info.records, restored->info.created.to_string()));
    if (etcd.etcd.servers.empty()) {
        progress.note("Now: " + next_command(data, restored->options));
    } else {
        progress.note("Now: porthole server" + data.flag() +
                      " with the same --etcd flags. Restart the clients of the former cluster: etcd");
        progress.note("cannot notify them about changes after the backup.");
    }
    return 0;
}

}  // namespace porthole::cmd
