#pragma once
#include <cstddef>
#include <string>

#include "local_cluster/state/data_dir.h"

// Suggestions for the user: text for a terminal, each line a command and its purpose.
namespace porthole::local_cluster {

/// How to run this program from a shell: "porthole" if it is in the PATH, otherwise its path.
std::string typed_program();

/// The state of a cluster on this machine.
struct ClusterHealth {
    bool running = false;             ///< a supervisor runs
    bool foreign = false;             ///< its nodes belong to a cluster elsewhere
    std::string first_not_ready;      ///< the first node that is not Ready; "" if all are
    std::string process_not_running;  ///< for example "linux-1/agent"; "" if all run
};
/// The end of the output of `porthole status`. `program` is typed_program().
std::string next_steps(const DataDir& data, const ClusterHealth& health, const std::string& program = "porthole");

/// The last lines of `porthole up --detach`. `sudo_user` is the user who has called it by sudo, "" for root itself: that user's kubectl
/// does not know the cluster.
std::string up_notes(const DataDir& data, const std::string& program, const std::string& sudo_user);

/// The output of `porthole server` once it serves: where its administrator's credentials are and how nodes join. `server` is
/// "https://10.0.0.5:6443", `ca_hash` "sha256:<hex>".
std::string server_notes(const DataDir& data, const std::string& server, const std::string& ca_hash);

}  // namespace porthole::local_cluster
