#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "schema/registry.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Shows all records of a kind and, from then on, every change, for an index of one's own of a kind that is too large for a Mirror.
/// Lives on the store's loop. `key` is "namespace/name", or "name".
class RecordFollower {
public:
    struct Sink {
        std::function<void()> clear;  ///< all is shown again
        std::function<void(const std::string& key, const store::Record& record)> put;
        std::function<void(const std::string& key)> remove;
    };
    RecordFollower(const schema::Kind& kind, Sink sink);

    /// Reads everything, at once. Error: that of Store::range().
    Result<void> load(const store::Store& store);
    /// Follows changes until it is cancelled. Requires: load().
    Task<> follow(store::Store& store);

private:
    /// Ends well when the watch has expired.
    Task<> take_events(store::Watch& watch);
    std::string key_of(const store::Record& record) const { return record.key.substr(prefix_.size()); }

    const std::string prefix_;
    const Sink sink_;
    store::Revision revision_;
};

}  // namespace porthole::apiserver
