#pragma once
#include <cstdlib>
#include <map>

#include "client/client.h"

namespace porthole::controllers {

/// Whether a cached object is older than what we have written ourselves: acting on it would do again what is done already.
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
    /// Resource versions of one kind are in order; a server where they are no numbers never looks stale.
    template <class T>
    static long long version_of(const T& object) {
        return std::strtoll(object.metadata.resource_version.c_str(), nullptr, 10);
    }
    std::map<client::NamespacedName, long long> versions_;
};

}  // namespace porthole::controllers
