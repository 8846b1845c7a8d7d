#include <fmt/format.h>

#include "cmd/server/store_location.h"
#include "cmd/store/embedded_side.h"
#include "cmd/store/etcd_side.h"
#include "local_cluster/state/move_durably.h"
#include "node_join/pki.h"
#include "runtime/files/durable_file.h"
#include "store/embedded/data_lock.h"

namespace porthole::cmd {

using namespace local_cluster;
using apiserver::StoreState;
namespace {

struct MigrateFlags {
    std::string to, data = default_data_dir();
    EtcdSideFlags etcd;
    bool may_be_lower = false, quiet = false;
};

/// That nothing of this machine uses the control plane's state, in whichever store it is.
Result<FileLock> lock_control_plane(const DataDir& data) {
    if (!path_exists(data.pki()))
        return Error(Reason::NotFound, "no control plane in " + data.root().string() + ": name its data directory with --data");
    return store::lock_data_directory(data.root().string());
}

std::string summary(const StoreState& state) {
    return fmt::format("{} records at revision {}", state.manifest.size(), state.revision.value);
}

void show(Progress& progress, const StoreState& state) {
    for (const auto& [resource, count] : state.manifest.counts()) progress.note(fmt::format("{:8}  {}", count, resource));
    if (state.left_out > 0) progress.note(fmt::format("{:8}  keys left out, which are not the state of a cluster", state.left_out));
    progress.note("sha256 of keys and values: " + state.manifest.digest());
}

Result<void> migrate_to_etcd(Progress& progress, EtcdSide& etcd, const DataDir& data, const MigrateFlags& flags) {
    TRY_VOID(check_not_in_etcd(data));  // what is in the data directory is then from before
    if (!path_exists(data.store() / "store.db")) return Error(Reason::NotFound, "there is no store in " + data.root().string());
    TRY(const FileLock lock, store::lock_data_directory(data.store().string()));
    progress.begin("reading " + data.store().string());
    TRY(const StoreState state, read_embedded_state(data.store(), etcd.form()));
    progress.done(data.store().string() + ": " + summary(state));
    TRY(const node_join::Pki pki, node_join::Pki::load(data.pki()));
    TRY(const std::string cluster, pki.ca_hash());
    TRY(const StoreState written, etcd.write(state, cluster, flags.may_be_lower));
    TRY_VOID(note_store_location(data, flags.etcd.etcd));
    progress.done("etcd: " + summary(written) + ", read again and compared");
    show(progress, written);
    progress.note("Now: porthole server" + data.flag() + " with the same --etcd flags. " + data.store().string() +
                  " is as it was: remove it once you no longer need to go back to it.");
    return {};
}

Result<void> migrate_to_data_dir(Progress& progress, EtcdSide& etcd, const DataDir& data, const EtcdFlags& flags) {
    std::error_code error;
    if (path_exists(data.store()) && !std::filesystem::is_empty(data.store(), error))
        return Error(Reason::AlreadyExists, data.store().string() + " is not empty: move it away, or remove it");
    TRY_VOID(check_known_location(data, flags));
    TRY(const StoreState state, etcd.read());
    progress.done("etcd: " + summary(state));
    const std::filesystem::path unfinished = data.store().string() + ".unfinished";
    progress.begin("writing " + data.store().string());
    Result<void> made = make_embedded_store(unfinished, state, etcd.form());
    if (made) made = etcd.check_unchanged(state);
    if (!made) std::filesystem::remove_all(unfinished, error);
    TRY_VOID(made);
    std::filesystem::remove(data.store(), error);  // where it is there, it is empty
    TRY_VOID(move_durably(unfinished, data.store()));
    TRY_VOID(note_store_location(data, {}));
    progress.done(data.store().string() + ": " + summary(state) + ", read again and compared");
    show(progress, state);
    progress.note("Now: porthole server" + data.flag() +
                  " without --etcd flags. The data in etcd are unchanged; no server may use them any longer.");
    return {};
}

Result<void> migrate(RealWorld& world, Progress& progress, const MigrateFlags& flags) {
    const DataDir data(flags.data);
    TRY(const FileLock lock, lock_control_plane(data));
    TRY(const auto etcd, EtcdSide::open(world, progress, flags.etcd, data));
    if (flags.to == "etcd") return migrate_to_etcd(progress, *etcd, data, flags);
    return migrate_to_data_dir(progress, *etcd, data, flags.etcd.etcd);
}

}  // namespace

int run_store(std::vector<std::string> arguments) {
    MigrateFlags flags;
    CLI::App app("Manage where the control plane on this machine stores the cluster's objects.", "store");
    app.require_subcommand(1);
    CLI::App* command = app.add_subcommand("migrate", "copy all objects between the data directory and an etcd, and compare the copies");
    command->add_option("--to", flags.to, "destination: etcd (from the data directory) or data-dir (from etcd)")
        ->required()
        ->check(CLI::IsMember({"etcd", "data-dir"}));
    command->add_option("--data", flags.data, "data directory of the control plane")->capture_default_str();
    CLI::Option* servers = add_etcd_side_flags(*command, flags.etcd)->required();
    add_lower_revisions_flag(*command, flags.may_be_lower, servers);
    command->add_flag("--quiet,-q", flags.quiet, "print failures only");
    command->footer(
        "Stop every server of the cluster first. The source keeps its objects; the destination must be empty. No server uses an "
        "interrupted\n"
        "copy; run the command again to start it over. Certificates, keys and encryption.yaml stay in the data directory.\n"
        "\n"
        "Examples:\n"
        "  porthole store migrate --to etcd --etcd-servers https://10.0.0.5:2379 --etcd-cafile ca.crt\n"
        "  porthole store migrate --to data-dir --etcd-servers https://10.0.0.5:2379 --etcd-cafile ca.crt");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    RealWorld world;
    Progress progress(world.loop, flags.quiet);
    const auto done = migrate(world, progress, flags);
    return done ? 0 : fail(done.error().message);
}

}  // namespace porthole::cmd
