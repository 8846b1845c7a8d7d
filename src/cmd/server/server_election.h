#pragma once
#include <string>

#include "client/leader_election.h"
#include "cmd/program/flags.h"

namespace porthole::cmd {

/// The command line's settings for several servers on one etcd, with upstream's flags.
struct ElectionFlags {
    bool leader_elect = true;
    client::LeaderElector::Timing timing;
    std::string endpoint_reconciler_type = "lease";  ///< or "none"
};
/// `etcd` is the option that chooses an etcd.
void add_election_flags(CLI::App& app, ElectionFlags& flags, CLI::Option* etcd);
/// Error: BadRequest for durations with which two would lead at a time.
Result<void> check_election_flags(const ElectionFlags& flags);

/// This process's name in Leases: HOST_UUID, as upstream.
std::string election_identity(const std::string& uuid);

}  // namespace porthole::cmd
