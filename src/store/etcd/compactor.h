#pragma once  // private to this folder
#include "base/log.h"
#include "store/etcd/client.h"

namespace porthole::store::etcd {

/// Compacts revisions in etcd that are older than one to two periods. Servers that share an etcd take turns: a server that finds the
/// version of `compact_rev_key` unchanged since its last check compacts, and raises the version by writing the key. It is upstream's key,
/// so this also works between its servers and ours; see apiserver: pkg/storage/etcd3/compact.go.
///
/// Example with two servers A and B: A writes version 1. B finds 1 instead of 0, and remembers 1 and the current revision. A period later B
/// writes version 2 and compacts up to that revision. A, which expects 1, only remembers.
class Compactor {
public:
    Compactor(EventLoop& loop, Client& client, Duration period, Logger log)
        : loop_(loop), client_(client), period_(period), log_(std::move(log)) {}

    /// Runs until cancelled. After a failure, tries again after a period.
    Task<> run();

private:
    Task<> step();

    EventLoop& loop_;
    Client& client_;
    const Duration period_;
    Logger log_;
    std::int64_t version_ = 0, revision_ = 0;  ///< of the key, and of etcd, at the last check
};

}  // namespace porthole::store::etcd
