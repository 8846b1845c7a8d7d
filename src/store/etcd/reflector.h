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

/// Keeps what readers see like what is below a prefix in etcd: loads all of it at one revision, then follows one watch from there. When
/// the watch breaks off, another goes on after the last revision that has arrived. Where etcd does not have that any more (it has been
/// compacted, or restored from an older state, or is another one), everything is loaded again and readers' watches expire.
///
/// Revisions arrive whole and in order; what is not, is not believed. Lives on the store's loop; what it refers to outlives it.
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
    /// `prefix` without a slash at its end. `arrived` is called when something may have become visible.
    Reflector(Seams seams, std::string prefix, Callback arrived);

    /// The first load. Errors: those of Client.
    Task<> load();
    /// Follows, until cancelled or closed. Requires: load() has succeeded.
    Task<> run();
    /// Begins the watch again where it is silent while etcd goes on, or cannot be asked, until cancelled.
    Task<> notice_silence();
    /// Ends run(): call it before the task is cancelled.
    void close();

    /// Begins the watch again at another member: this one does not deliver what has happened. `why` is for the log.
    void reconnect(std::string why);
    /// Up to which revision readers see everything, though no watch has said so: etcd's newest, where all keys below the prefix are there
    /// in the versions that readers see; else the one that is visible. Reads all keys, without their values. Errors: those of Client.
    Task<Revision> compare();
    /// "" while the watch runs; else why it does not.
    const std::string& why_behind() const { return why_behind_; }
    /// How often everything was loaded: what is known of revisions from before is not about this etcd.
    std::size_t loads() const { return loads_; }
    /// The key in etcd.
    std::string etcd_key(std::string_view key) const { return prefix_ + seams_.form.stored_key(key); }

private:
    Task<> follow();
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
    Callback arrived_;
    std::uint64_t cluster_id_ = 0;
    std::size_t loads_ = 0, heard_ = 0;  ///< heard: messages of watches
    bool must_load_ = false, closing_ = false;
    std::string why_behind_, why_reconnect_;
    net::ChildTask watching_;
    std::size_t held_bytes_ = 0;
    /// The last change that was seen: a key, and its mod revision at history's revision, 0 for a deleted one. No key: none was seen.
    struct Marker {
        std::string key;
        std::int64_t mod_revision = 0;
    } marker_;
    std::vector<WatchEvent> held_;  ///< of the last revision of a message that goes on in the next one
};

}  // namespace porthole::store::etcd
