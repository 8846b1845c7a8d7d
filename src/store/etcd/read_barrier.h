#pragma once  // private to this folder
#include <functional>
#include <memory>
#include <string>

#include "runtime/scope.h"
#include "store/etcd/client.h"
#include "store/store.h"

namespace porthole::store::etcd {

/// Delays a read until it sees everything that any server has acknowledged.
///
/// One linearizable read of one key returns etcd's newest revision, for all reads that wait when it starts; they then wait until the watch
/// has delivered that revision. The watch delivers only keys below the prefix. If the newest revision belongs to another key, nothing
/// arrives, so a key below the prefix is written, whose revision is newer and is delivered. A full etcd refuses that write: then all keys
/// and their versions in etcd are compared with the visible ones. Lives on the store's loop; the store outlives it.
///
/// Example: the watch has delivered 7. Another server has written 8, and a writer with another prefix 9. Readers ask, and etcd answers 9.
/// 8 arrives, 9 does not; the write gets revision 10, and once 10 has arrived, everything up to 9 has.
class ReadBarrier {
public:
    struct Seams {
        EventLoop& loop;
        Client& client;
        Store& store;
        std::function<Task<Revision>()> compare;  ///< Reflector::compare()
    };
    /// `asked_key` is any key; `touched_key` is below the prefix. Both in the form stored in etcd.
    ReadBarrier(Seams seams, std::string asked_key, std::string touched_key)
        : seams_(seams), asked_key_(std::move(asked_key)), touched_key_(std::move(touched_key)), scope_(seams.loop) {}

    /// As SharedStore::catch_up().
    Task<> pass();
    /// Ends all waits of pass().
    Task<> close() { return scope_.close(); }

private:
    using Round = Promise<void>;  // of the callers that came before the same read began
    Task<> run(std::shared_ptr<Round> round);
    Task<> pass_once(std::shared_ptr<Round> round);
    Task<> reach(Revision newest);
    Task<> touch(Revision newest);
    Task<> compare(Revision newest);
    /// The revision up to which everything is visible.
    Revision seen() const;

    const Seams seams_;
    const std::string asked_key_, touched_key_;
    std::shared_ptr<Round> next_;  ///< its read has not begun; null: no caller waits for it
    Semaphore asking_{1}, touching_{1};
    Revision compared_, compared_at_;  ///< the last comparison, and the visible revision then: valid while that is unchanged
    Scope scope_;
};

}  // namespace porthole::store::etcd
