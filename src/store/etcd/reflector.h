#pragma once  // private to this folder
#include <functional>
#include <string>
#include <vector>

#include "net/child_task.h"
#include "runtime/worker_pool.h"
#include "store/etcd/client.h"
#include "store/etcd/stored_form.h"
#include "store/store.h"
#include "store/visible_state.h"

namespace porthole::store::etcd {

/// Keeps the visible state equal to what is below a prefix in etcd: loads everything at one revision, then follows one watch from there. If
/// the watch breaks off, a new one continues after the last revision that has arrived. If etcd no longer has that revision (compacted,
/// restored from an older state, or replaced by another cluster), everything is loaded again and readers' watches expire.
///
/// Only complete revisions in order are applied. Lives on the store's loop; everything referred to outlives it.
class Reflector {
public:
    struct Seams {
        EventLoop& loop;
        WorkerPool& pool;
        Logger log;
        Client& client;
        StoredForm& form;
        VisibleState& visible;
    };
    /// `prefix` has no trailing slash. A revision whose events have more than `largest_revision` bytes is not followed: everything is
    /// loaded again. `arrived` is called when something may have become visible.
    Reflector(Seams seams, std::string prefix, std::size_t largest_revision, Callback arrived);

    /// The first load. Errors: those of Client.
    Task<> load();
    /// Follows the watch until cancelled or closed. Requires: load() has succeeded.
    Task<> run();
    /// Until cancelled, restarts the watch if it is silent although etcd's revision advances, or if etcd cannot be asked.
    Task<> notice_silence();
    /// Until cancelled, asks etcd about once a second: it is lost if no member has answered for two. A member that does not answer, and
    /// whose watch is silent, is given up: requests to it fail, so that others are asked, and the watch is restarted elsewhere.
    Task<> notice_loss();
    /// Ends run(); must be called before the task is cancelled.
    void close();

    /// Restarts the watch at another member, because this one does not deliver past changes. `why` is for the log.
    void reconnect(std::string why);
    /// The revision up to which readers see everything, even if no watch has delivered it: etcd's newest, if the visible versions of all
    /// keys below the prefix are the newest; otherwise the visible revision. Reads all keys, without their values. Errors: those of Client.
    Task<Revision> compare();
    /// "" while the watch runs and etcd is not lost; otherwise why not.
    const std::string& why_behind() const { return why_behind_.empty() ? why_lost_ : why_behind_; }
    /// How often everything was loaded. Revisions from before a load may belong to another etcd.
    std::size_t loads() const { return loads_; }
    /// The key in etcd.
    std::string etcd_key(std::string_view key) const { return prefix_ + seams_.form.stored_key(key); }

private:
    Task<> follow();
    void note_pulse(const Result<RangeResponse>& answer);
    Task<> catch_up_or_load();
    Task<bool> has_what_was_seen();
    Task<> watch();
    Task<> take(WatchResponse response);
    Task<> apply(std::vector<WatchEvent> events);
    Result<void> check_order(const std::vector<WatchEvent>& events);
    std::optional<std::string> key_of(const std::string& etcd_key) const;
    Row row_of(std::string key, KeyValue stored) const;
    std::vector<Row> rows_of(std::vector<KeyValue> stored) const;
    Result<void> forget_vanished(const std::vector<Row>& rows) const;
    void connected();
    void disconnected(const Error& why);

    const Seams seams_;
    const std::string prefix_, range_end_;
    const std::size_t largest_revision_;
    Callback arrived_;
    std::uint64_t cluster_id_ = 0;
    std::size_t loads_ = 0, heard_ = 0;  ///< heard: number of watch messages
    bool must_load_ = false, closing_ = false;
    std::string why_behind_, why_lost_, why_reconnect_;
    std::string watched_member_;  ///< its name
    net::ChildTask watching_;
    std::size_t held_bytes_ = 0;
    /// The last change that was seen: a key, and its mod revision at history's revision, 0 for a deleted key. No key: no change was seen.
    struct Marker {
        std::string key;
        std::int64_t mod_revision = 0;
    } marker_;
    std::vector<WatchEvent> held_;  ///< of the last revision of a message that the next one continues
};

}  // namespace porthole::store::etcd
