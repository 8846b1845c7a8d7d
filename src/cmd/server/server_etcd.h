#pragma once
#include <string>
#include <vector>

#include "apiserver/api_server.h"
#include "apiserver/encryption/storage_encryption.h"
#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "store/etcd/client.h"

namespace porthole::cmd {

/// What the command line says about an etcd that keeps the cluster's state, with upstream's flags.
struct EtcdFlags {
    std::vector<std::string> servers;  ///< URLs; none: the store is embedded
    std::string ca_file, certificate_file, key_file;
    std::string prefix = "/registry";
    std::string compaction_interval = "5m0s";
};
/// Yields the option that chooses an etcd.
CLI::Option* add_etcd_flags(CLI::App& app, EtcdFlags& flags);

/// Opens the store on that etcd. `world` outlives what it yields. Errors, each naming the flag: those of URLs and files.
Result<apiserver::ApiServer::OpenStore> etcd_store_opener(RealWorld& world, const EtcdFlags& flags,
                                                          std::shared_ptr<apiserver::StorageEncryption> encryption, Logger log);

/// Calls of that etcd, for what is not in the store. Errors: as etcd_store_opener().
Result<std::unique_ptr<store::etcd::Client>> etcd_client(RealWorld& world, const EtcdFlags& flags);
/// --etcd-prefix without a slash at its end. Error: BadRequest.
Result<std::string> etcd_prefix(const EtcdFlags& flags);
/// An error of those calls with what to do about it, for who has typed the flags.
Error explained_etcd_error(Error error);

}  // namespace porthole::cmd
