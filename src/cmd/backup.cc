#include <fmt/format.h>

#include <cstdio>

#include "cmd/program/flags.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/server/store_location.h"
#include "cmd/store/etcd_side.h"
#include "local_cluster/control_plane/cluster_backup.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

/// The objects in an etcd; empty: they are in the data directory.
ReadObjects reader_of(RealWorld& world, Progress& progress, const EtcdSideFlags& flags, const DataDir& data) {
    if (flags.etcd.servers.empty()) return {};
    return [&](const std::function<Result<void>(const store::Row&)>& visit) -> Result<store::Revision> {
        TRY(const auto etcd, EtcdSide::open(world, progress, flags, data));
        TRY(const apiserver::StoreState state, etcd->read());
        for (const store::Row& row : state.rows) TRY_VOID(visit(row));
        return state.revision;
    };
}

}  // namespace

int run_backup(std::vector<std::string> arguments) {
    std::string file, path = default_data_dir();
    bool quiet = false;
    EtcdSideFlags etcd;
    CLI::App app("Write the cluster's objects and keys into two files, and check that they can be restored.", "backup");
    app.add_option("FILE", file, "new file for the objects; the keys are written to FILE.keys")->required();
    app.add_option("--data", path, "data directory of the cluster")->capture_default_str();
    add_etcd_side_flags(app, etcd);
    app.add_flag("--quiet,-q", quiet, "print failures only");
    app.footer(
        "You can back up while the cluster runs: all objects are as of one moment. FILE.keys contains the authorities, the keys and the\n"
        "configuration. It gives access to the cluster and its encrypted secrets: store it separately from FILE, and protect it like the "
        "machine "
        "itself.\n"
        "A backup does not contain volumes and images. If the objects are in an etcd, give the --etcd flags of the server; the etcd of\n"
        "`up --servers 3` is found without flags.\n"
        "\n"
        "Examples:\n"
        "  porthole backup before-upgrade.backup\n"
        "  porthole restore before-upgrade.backup          on the same machine after `porthole down --purge`, or on another\n"
        "  porthole up                                     brings the workloads back");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    RealWorld world;
    Progress progress(world.loop, quiet);
    progress.begin("writing " + file);
    const DataDir data(path);
    if (const auto own = use_own_etcd(etcd, data); !own) return fail(own.error().message);
    if (const auto checked = check_known_location(data, etcd.etcd); !checked) return fail(checked.error().message);
    const auto backup = back_up(data, file, world.loop.wall_now(), reader_of(world, progress, etcd, data));
    if (!backup) return fail(backup.error().message);
    progress.done(fmt::format("{}: {} objects at revision {}, {:.1f} MB", file, backup->info.records, backup->info.revision.value,
                              static_cast<double>(backup->bytes) / 1e6));
    progress.done(keys_file_of(file).string() + ": keys and configuration; store it separately, and protect it");
    progress.done("restored into a scratch directory: the same objects");
    if (!backup->has_encryption_key)
        progress.note("The data directory has no encryption.yaml: if another configuration encrypts secrets, back it up too.");
    return 0;
}

}  // namespace porthole::cmd
