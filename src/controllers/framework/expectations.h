#pragma once
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

/// Writes of an owner that its cache has not shown yet.
///
/// Caches lag behind our own writes. An owner that has created three pods must not count its pods before it has seen those three, or it
/// would create three more. Waiting ends after five minutes. Register an expectation before the write, and revoke it by ..._observed() if
/// the write fails.
class Expectations {
public:
    using Key = client::NamespacedName;
    explicit Expectations(EventLoop& loop) : loop_(loop) {}

    void expect_creations(const Key& owner, int count);
    void expect_deletion(const Key& owner, const std::string& uid);
    void creation_observed(const Key& owner);
    void deletion_observed(const Key& owner, const std::string& uid);
    /// Whether everything expected has been seen, or the time limit has passed.
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

/// Whether a cached object is older than our own last write: acting on it would repeat work. Call forget() when the object is deleted.
class OwnWrites {
public:
    template <class T>
    void note(const T& stored) {
        versions_[client::key_of(stored)] = version_of(stored);
    }
    template <class T>
    bool is_stale(const T& cached) const {
        const auto found = versions_.find(client::key_of(cached));
        return found != versions_.end() && version_of(cached) < found->second;
    }
    void forget(const client::NamespacedName& key) { versions_.erase(key); }

private:
    /// Resource versions of one kind are ordered numbers; if a server's are not numbers, no object counts as stale.
    template <class T>
    static long long version_of(const T& object) {
        return std::strtoll(object.metadata.resource_version.c_str(), nullptr, 10);
    }
    std::map<client::NamespacedName, long long> versions_;
};

}  // namespace porthole::controllers
