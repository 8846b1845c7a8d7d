#include "cmd/store/etcd_side.h"

#include <fmt/format.h>

#include "local_cluster/control_plane/etcd_members.h"
#include "runtime/files/durable_file.h"

namespace porthole::cmd {
namespace {

constexpr Duration ShowEvery = std::chrono::milliseconds(500);

template <class T>
Result<T> explained(Result<T> result) {
    if (!result) return explain_etcd_error(std::move(result).error());
    return result;
}

}  // namespace

CLI::Option* add_etcd_side_flags(CLI::App& app, EtcdSideFlags& flags) {
    CLI::Option* servers = add_etcd_access_flags(app, flags.etcd)->description("URLs of the etcd, separated by commas");
    app.add_option("--encryption-provider-config", flags.encryption_configuration,
                   "the server's --encryption-provider-config, if it has one (default: encryption.yaml in the data directory)");
    return servers;
}

Result<void> use_own_etcd(EtcdSideFlags& flags, const local_cluster::DataDir& data) {
    const auto cluster = local_cluster::Cluster::load(data);
    if (!flags.etcd.servers.empty() || !cluster || !cluster->has_several_servers()) return {};
    if (!path_exists(data.store_location())) return {};  // not there yet: the first `up --servers` did not come so far
    if (!local_cluster::is_running(cluster->supervisor))
        return Error(Reason::Unavailable,
                     "the objects are in the cluster's own etcd, which does not run: start it with `porthole up" + data.flag() + "`");
    flags.etcd.servers = local_cluster::etcd_urls(data, *cluster);
    const auto files = local_cluster::etcd_client_files(data);
    flags.etcd.ca_file = files.ca;
    flags.etcd.certificate_file = files.certificate;
    flags.etcd.key_file = files.key;
    return {};
}

void add_lower_revisions_flag(CLI::App& app, bool& may_be_lower, CLI::Option* needed) {
    app.add_flag("--allow-lower-revisions", may_be_lower,
                 "do not raise etcd's revision beyond the objects'; restart every client of the cluster afterwards, or it may miss changes")
        ->needs(needed);
}

Result<std::unique_ptr<EtcdSide>> EtcdSide::open(RealWorld& world, Progress& progress, const EtcdSideFlags& flags,
                                                 const local_cluster::DataDir& keys) {
    std::unique_ptr<EtcdSide> side(new EtcdSide(world, progress));
    TRY_VOID(side->prepare(flags, keys));
    return side;
}

EtcdSide::~EtcdSide() {
    if (client_) (void)world_.run(client_->close());
}

Result<void> EtcdSide::prepare(const EtcdSideFlags& flags, const local_cluster::DataDir& keys) {
    TRY(EtcdAccess access, etcd_access(world_, flags.etcd));
    const std::string key_file = keys.encryption_file().string();
    if (flags.encryption_configuration.empty() && !path_exists(key_file))  // the server would make a key, which is none of what is there
        return Error(Reason::NotFound,
                     "there is no " + key_file + ": name the cluster's data directory with --data, or its --encryption-provider-config");
    const EncryptionFlags encryption{.configuration_file = flags.encryption_configuration};
    TRY_VOID(embedded_encryption_.open(encryption, key_file));
    TRY_VOID(etcd_encryption_.open(encryption, key_file));
    form_ = std::make_unique<apiserver::TransferForm>(embedded_encryption_.encryption(), etcd_encryption_.encryption(), access.prefix);
    client_ = std::make_unique<store::etcd::Client>(world_.loop, std::move(access.members));
    return {};
}

apiserver::EtcdTransfer EtcdSide::transfer(std::string doing) {
    progress_.begin(doing);
    return apiserver::EtcdTransfer({world_.loop, *world_.pool, *client_, *form_},
                                   [this, doing = std::move(doing), shown = world_.loop.now()](std::size_t done, std::size_t all) mutable {
                                       if (world_.loop.now() - shown < ShowEvery) return;
                                       shown = world_.loop.now();
                                       progress_.begin(fmt::format("{}: {} of {}", doing, done, all));
                                   });
}

Result<apiserver::StoreState> EtcdSide::read() {
    apiserver::EtcdTransfer reading = transfer("reading etcd");
    return explained(world_.run(reading.read()));
}

Result<void> EtcdSide::check_unchanged(const apiserver::StoreState& state) {
    apiserver::EtcdTransfer looking = transfer("looking whether etcd has changed");
    return explained(world_.run(looking.check_unchanged(state)));
}

Result<apiserver::StoreState> EtcdSide::write(const apiserver::StoreState& state, const std::string& source, bool may_be_lower) {
    apiserver::EtcdTransfer writing = transfer("writing to etcd");
    return explained(world_.run(writing.write(state, source, may_be_lower)));
}

}  // namespace porthole::cmd
