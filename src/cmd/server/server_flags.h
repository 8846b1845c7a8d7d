#pragma once
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "apiserver/access_flags.h"
#include "apiserver/server.h"
#include "cmd/program/flags.h"
#include "cmd/server/server_audit.h"
#include "cmd/server/server_election.h"
#include "cmd/server/server_encryption.h"
#include "cmd/server/server_etcd.h"
#include "local_cluster/state/data_dir.h"
#include "store/store.h"

namespace porthole::cmd {

/// The command line of `porthole server`.
struct ServerFlags {
    std::string data = local_cluster::default_data_dir();
    std::string bind_address = "0.0.0.0", advertise_address = "127.0.0.1";
    std::uint16_t port = 6443;
    std::string service_cidr = "10.96.0.0/12", cluster_cidr = "10.244.0.0/16";
    std::string backend = "host-gw";
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    AuditFlags audit;
    EncryptionFlags encryption;
    EtcdFlags etcd;
    std::string server_token_file;  ///< "": no secrets are shared with other servers
    ElectionFlags election;
    std::string scheduler_config;  ///< file; "": the scheduler's defaults
    std::string kubelet_certificate_authority;
    std::size_t store_quota_bytes = store::Store::Options().quota_bytes;
    apiserver::AccessFlags access;
    std::vector<std::string> service_account_issuers;  ///< the first one issues tokens; none: that of the cluster domain
    bool extend_service_account_tokens = true;
    std::string tls_min_version;
    std::vector<std::string> tls_cipher_suites;
    apiserver::Server::Limits limits;
    bool priority_and_fairness = true;
    std::vector<std::string> feature_gates;   ///< NAME=VALUE
    std::vector<std::string> runtime_config;  ///< VERSION=VALUE
    std::set<std::string> served_versions;    ///< of runtime_config
    int node_cidr_mask_size = 24;
    Duration node_monitor_grace = std::chrono::seconds(50);
    double node_eviction_rate = 0.1;  ///< nodes per second and zone
    bool disable_controller_manager = false, disable_scheduler = false;
    bool connection_thread = std::thread::hardware_concurrency() >= 4;
    bool revive_supervisor = false, verbose = false;
    std::map<std::string, std::string> effective;  ///< for /flagz
};

/// `flags` must outlive `app`.
void add_server_flags(CLI::App& app, ServerFlags& flags);

/// Whether `porthole server` accepts these arguments. Error: BadRequest, one line.
Result<void> check_server_flags(std::vector<std::string> words);

/// Of `flags`, or the usual one; the first one issues tokens.
std::vector<std::string> service_account_issuers(const ServerFlags& flags);
/// The content of /flagz: this program's options, and Kubernetes' flags that cannot be set here, with their fixed values.
std::map<std::string, std::string> shown_flags(const CLI::App& app, const ServerFlags& flags);

}  // namespace porthole::cmd
