#pragma once
#include "cmd/cluster.h"
#include "runtime/process.h"

namespace porthole::cmd {

/// The network between the hosts of a cluster on one machine: a bridge with this machine's address, and for every
/// further node a network namespace joined to it by a veth pair.
///
///     machine: ph1a2b3c 10.89.0.1/24 ──┬── ph1a2b3cn2 ── eth0 10.89.0.2  (namespace porthole-1a2b3c-linux-2)
///                                      └── ph1a2b3cn3 ── eth0 10.89.0.3  (namespace porthole-1a2b3c-linux-3)
class HostLinks {
public:
    HostLinks(ProcessRunner& processes, const DataDir& data, const Cluster& cluster)
        : processes_(processes), data_(data), cluster_(cluster) {}

    /// Makes what is missing; harmless when all is there.
    Task<> ensure();
    /// Removes all of it, whatever state it is in.
    Task<> remove();

    std::string bridge() const { return cluster_.options.bridge.empty() ? prefix() : cluster_.options.bridge; }

private:
    /// Of the names of our links.
    std::string prefix() const { return "ph" + data_.id(); }
    /// Runs lines of `ip -batch`; stops at the first that fails unless `force`.
    Task<> ip_batch(std::string lines, bool force);

    ProcessRunner& processes_;
    const DataDir& data_;
    const Cluster& cluster_;
};

}  // namespace porthole::cmd
