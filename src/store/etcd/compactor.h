#pragma once  // private to this folder
#include "base/log.h"
#include "store/etcd/client.h"

namespace porthole::store::etcd {

/// Gives up in etcd what is older than one to two periods. Servers that share an etcd take turns: the one that finds the version of
/// `compact_rev_key` unchanged since it last looked compacts, and raises the version by writing the key. It is upstream's key, so that
/// this holds among its servers and ours; see apiserver: pkg/storage/etcd3/compact.go.
///
/// Example, of two servers A and B: A writes version 1, B finds 1 instead of 0 and remembers 1 and the revision of then; a period later B
/// writes version 2 and compacts up to that revision, and A, which expects 1, does nothing but remember.
class Compactor {
public:
    Compactor(EventLoop& loop, Client& client, Duration period, Logger log)
        : loop_(loop), client_(client), period_(period), log_(std::move(log)) {}

    /// Until cancelled. What fails is tried again after a period.
    Task<> run();

private:
    Task<> step();

    EventLoop& loop_;
    Client& client_;
    const Duration period_;
    Logger log_;
    std::int64_t version_ = 0, revision_ = 0;  ///< of the key, and of etcd, when last looked at
};

}  // namespace porthole::store::etcd
