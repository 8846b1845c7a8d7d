#pragma once  // private to this folder
#include <functional>
#include <memory>
#include <string>

#include "runtime/scope.h"
#include "store/etcd/client.h"
#include "store/store.h"

namespace porthole::store::etcd {

/// What a read waits for that must not be older than what another server has acknowledged.
///
/// One linearizable read of one key yields etcd's newest revision, for all who wait when it begins; then the watch has to bring that
/// revision. It brings those below the prefix only. Where the newest one is of a key elsewhere, nothing comes, so a key below the prefix is
/// touched, whose revision is newer and does come. An etcd that is full does not let it be touched: then what is there is compared with
/// what is visible, by all keys and their versions. Lives on the store's loop; the store outlives it.
///
/// Example: the watch has brought 7. Another server has written 8, and another prefix's writer 9. Readers ask, and are told 9; 8 arrives,
/// 9 does not; the touch is 10, and when it has arrived, so has all up to 9.
class ReadBarrier {
public:
    struct Seams {
        EventLoop& loop;
        Client& client;
        Store& store;
        std::function<Task<Revision>()> compare;  ///< Reflector::compare()
    };
    /// `asked_key` is any; `touched_key` is below the prefix. Both as they are in etcd.
    ReadBarrier(Seams seams, std::string asked_key, std::string touched_key)
        : seams_(seams), asked_key_(std::move(asked_key)), touched_key_(std::move(touched_key)), scope_(seams.loop) {}

    /// As SharedStore::catch_up().
    Task<> pass();
    /// Ends what pass() waits for.
    Task<> close() { return scope_.close(); }

private:
    using Round = Promise<void>;  // of those who came before the same read began
    Task<> run(std::shared_ptr<Round> round);
    Task<> pass_once(std::shared_ptr<Round> round);
    Task<> reach(Revision newest);
    Task<> touch(Revision newest);
    Task<> compare(Revision newest);
    /// Up to which everything is visible.
    Revision seen() const;

    const Seams seams_;
    const std::string asked_key_, touched_key_;
    std::shared_ptr<Round> next_;  ///< whose read has not begun; null: no one waits for it
    Semaphore asking_{1}, touching_{1};
    Revision compared_, compared_at_;  ///< what the last comparison has said, and what was visible: it holds while that is
    Scope scope_;
};

}  // namespace porthole::store::etcd
