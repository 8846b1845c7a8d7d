#pragma once  // private to this folder
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/etcd/messages.h"

namespace porthole::store::etcd {

/// What an etcd knows of its keys: all versions since the last compaction, and the changes in order. Each call that changes something
/// makes one revision; answers have no headers.
class EtcdKeyspace {
public:
    explicit EtcdKeyspace(std::int64_t first_revision) : revision_(first_revision) {}

    /// Called for each change, and after each revision.
    std::function<void(const WatchEvent&)> observed;
    std::function<void()> finished;

    std::int64_t revision() const { return revision_; }
    std::int64_t compacted() const { return compacted_; }
    std::size_t size() const;
    /// Null when absent.
    const KeyValue* find(const std::string& key) const;
    /// Revisions of the keys that begin with `prefix`, by key.
    std::map<std::string, std::int64_t> revisions(const std::string& prefix) const;
    /// Error: Expired for a compacted revision.
    Result<RangeResponse> read(const RangeRequest& request) const;
    /// The changes since `revision`, it included, to keys from `from` to before `end`.
    std::vector<WatchEvent> changes(std::int64_t revision, const std::string& from, const std::string& end) const;

    void put_all(const std::map<std::string, std::string>& values, std::int64_t lease = 0);
    void remove(const std::string& key);
    void remove_leased(std::int64_t lease);
    Result<TxnResponse> carry_out(const TxnRequest& request);
    void compact(std::int64_t revision);
    /// To the state at `revision`.
    void restore(std::int64_t revision);

private:
    using KeyValuePtr = std::shared_ptr<const KeyValue>;
    /// Of one key, by revision; null where it was deleted. Never empty.
    using Versions = std::map<std::int64_t, KeyValuePtr>;

    bool holds(const Compare& compare) const;
    /// Calls `visit` with each that there is, in order. Revision 0 is the newest.
    template <class Visit>
    void each(const std::string& from, const std::string& end, std::int64_t revision, Visit visit) const;
    void change(const std::string& key, const std::string* value, std::int64_t lease);
    std::int64_t remove_range(const DeleteRangeRequest& request);
    void finish_revision();

    std::int64_t revision_, compacted_ = 0;
    std::map<std::string, Versions> versions_;
    std::deque<WatchEvent> log_;
};

}  // namespace porthole::store::etcd
