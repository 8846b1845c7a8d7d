#pragma once
#include <map>
#include <set>
#include <string>

#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

/// What an owner has asked for and not yet seen in its cache.
///
/// Caches lag behind our own writes. An owner that has created three pods must not count its pods again before it has seen
/// those three, or it would create three more. Whatever is not seen within five minutes is given up.
class Expectations {
public:
    using Key = client::NamespacedName;
    explicit Expectations(EventLoop& loop) : loop_(loop) {}

    void expect_creations(const Key& owner, int count);
    void expect_deletion(const Key& owner, const std::string& uid);
    void creation_observed(const Key& owner);
    void deletion_observed(const Key& owner, const std::string& uid);
    /// Everything asked for has been seen, or has been waited for long enough.
    bool satisfied(const Key& owner);
    void forget(const Key& owner) { pending_.erase(owner); }

private:
    struct Pending {
        int creations = 0;
        std::set<std::string> deletions;
        MonotonicTime since{};
    };
    EventLoop& loop_;
    std::map<Key, Pending> pending_;
};

}  // namespace porthole::controllers
