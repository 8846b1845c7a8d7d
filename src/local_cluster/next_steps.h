#pragma once
#include <cstddef>
#include <string>

#include "local_cluster/data_dir.h"

/// What a person is told to do next: text for a terminal, each line a command and what it is for.
namespace porthole::local_cluster {

struct ClusterHealth {
    bool running = false;             ///< a supervisor keeps the cluster up
    bool foreign = false;             ///< its nodes belong to a cluster elsewhere
    std::string first_not_ready;      ///< the first node that is not Ready; "" when all are
    std::string process_not_running;  ///< for example "linux-1/agent"; "" when all run
};
/// The end of `porthole status`.
std::string next_steps(const DataDir& data, const ClusterHealth& health);

/// What `porthole server` prints when it serves: where its administrator's credentials are and how nodes join.
/// `server` is "https://10.0.0.5:6443", `ca_hash` "sha256:<hex>".
std::string server_notes(const DataDir& data, const std::string& server, const std::string& ca_hash);

}  // namespace porthole::local_cluster
