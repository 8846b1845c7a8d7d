#pragma once
#include <string>
#include <vector>

#include "apiserver/api_server.h"
#include "apiserver/encryption/storage_encryption.h"
#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "store/etcd/client.h"

namespace porthole::cmd {

/// The command line's settings of an etcd that stores the cluster's state, with upstream's flags.
struct EtcdFlags {
    std::vector<std::string> servers;  ///< URLs; none: the store is embedded
    std::string ca_file, certificate_file, key_file;
    std::string prefix = "/registry";
    std::string compaction_interval = "5m0s";
};
/// Returns the option that selects an etcd. The first function adds the flags for access, the second also those of a server.
CLI::Option* add_etcd_access_flags(CLI::App& app, EtcdFlags& flags);
CLI::Option* add_etcd_flags(CLI::App& app, EtcdFlags& flags);

/// Where an etcd is.
struct EtcdAccess {
    std::vector<store::etcd::Member> members;
    std::string prefix;  ///< without a slash at its end
};
/// Errors, each with the flag's name: those of URLs and files.
Result<EtcdAccess> etcd_access(RealWorld& world, const EtcdFlags& flags);
/// Adds a remedy for the user who has typed the flags.
Error explain_etcd_error(Error error);

/// Opens the store on that etcd, and checks before anything is written that a cluster there has one of the `authorities` (PEM; "" for any).
/// `world` outlives the result. Errors, each with the flag's name: those of URLs and files.
Result<apiserver::ApiServer::OpenStore> etcd_store_opener(RealWorld& world, const EtcdFlags& flags,
                                                          std::shared_ptr<apiserver::StorageEncryption> encryption, std::string authorities,
                                                          Logger log);

}  // namespace porthole::cmd
