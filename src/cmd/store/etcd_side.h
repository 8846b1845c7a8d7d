#pragma once
#include <memory>
#include <string>

#include "apiserver/migration/etcd_transfer.h"
#include "cmd/program/progress.h"
#include "cmd/server/server_encryption.h"
#include "cmd/server/server_etcd.h"
#include "local_cluster/state/data_dir.h"

namespace porthole::cmd {

/// The etcd, and the encryption of its values.
struct EtcdSideFlags {
    EtcdFlags etcd;
    std::string encryption_configuration;  ///< "": the key file of the data directory
};
/// Returns the option that chooses an etcd.
CLI::Option* add_etcd_side_flags(CLI::App& app, EtcdSideFlags& flags);
/// If the flags name no etcd and the cluster in `data` has its own (`up --servers 3`), sets them to that. Error: Unavailable if it does not
/// run.
Result<void> use_own_etcd(EtcdSideFlags& flags, const local_cluster::DataDir& data);
/// Adds the flag by which objects may get lower revisions.
void add_lower_revisions_flag(CLI::App& app, bool& may_be_lower, CLI::Option* needed);

/// The state of a cluster in an etcd, for commands: all calls block, and report progress. Errors have a remedy.
class EtcdSide {
public:
    /// `keys` names the encryption. `world` and `progress` outlive it.
    static Result<std::unique_ptr<EtcdSide>> open(RealWorld& world, Progress& progress, const EtcdSideFlags& flags,
                                                  const local_cluster::DataDir& keys);
    ~EtcdSide();

    const apiserver::TransferForm& form() const { return *form_; }
    /// As EtcdTransfer.
    Result<apiserver::StoreState> read();
    Result<void> check_unchanged(const apiserver::StoreState& state);
    Result<apiserver::StoreState> write(const apiserver::StoreState& state, const std::string& source, bool may_be_lower);

private:
    EtcdSide(RealWorld& world, Progress& progress) : world_(world), progress_(progress) {}
    Result<void> prepare(const EtcdSideFlags& flags, const local_cluster::DataDir& keys);
    apiserver::EtcdTransfer transfer(std::string doing);

    RealWorld& world_;
    Progress& progress_;
    Logger log_{make_stderr_sink(LogLevel::Error), "store"};
    ServerEncryption embedded_encryption_{world_, log_}, etcd_encryption_{world_, log_};
    std::unique_ptr<apiserver::TransferForm> form_;
    std::unique_ptr<store::etcd::Client> client_;
};

}  // namespace porthole::cmd
