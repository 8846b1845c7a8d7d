#pragma once
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/transaction.h"

namespace porthole::store {

/// One operation as stored by an engine.
struct Row {
    Revision revision;
    std::uint32_t index = 0;  ///< position among the operations of its revision
    bool deleted = false;     ///< then `value` is empty
    std::string key;
    std::string value;  ///< without the revision's digits: the reader inserts them at `revision_at`
    std::optional<std::uint32_t> revision_at;
    Revision created;
    LeaseId lease;
};

/// A transaction to be made durable.
struct Commit {
    std::vector<Guard> guards;  ///< already checked against this process's state
    std::vector<Row> rows;      ///< never empty; all of one revision, ascending index
};

/// Durable storage of rows. All reads are served from memory, so an engine only loads at the start and appends.
///
/// Called from worker threads, one call at a time, except load() (on the thread that opens the store) and checkpoint(), which may run
/// during another call. A distributed engine checks `Commit::guards` itself, since other servers write too.
class Engine {
public:
    virtual ~Engine() = default;

    /// Calls `visit` with every row in order of (revision, index). Called once, before any other function; returns the compacted revision.
    /// Rows at or below it may include superseded ones.
    virtual Result<Revision> load(const std::function<void(Row)>& visit) = 0;
    /// All of `commits` or none; durable on success. After an error (Io) the engine holds none of it, or cannot know (a failed sync): a
    /// later load may then return all of it, if no other append came after. May be called again.
    virtual Result<void> append(std::span<const Commit> commits) = 0;
    /// Records that history up to `compacted` is dropped, and deletes the `superseded` rows (only revision and key are set). May stop
    /// half-way with an error (Io); may then be called again.
    virtual Result<void> compact(Revision compacted, std::span<const Row> superseded) = 0;
    /// Whether a value of `key` can be appended now. Called before the transaction joins a group, which its failure would fail. From any
    /// thread; does not block. Errors: the engine's own.
    virtual Result<void> check_writable(std::string_view) const { return {}; }
    /// Whether the value of `key` would be stored in another form if it were appended again. From any thread.
    virtual bool is_stale(std::string_view) const { return false; }
    /// Whether checkpoint() has enough to do. From any thread.
    virtual bool checkpoint_due() const { return false; }
    /// Moves durable data to where they cost least. Does not change the result of load(), and may fail silently.
    virtual void checkpoint() {}
    /// The last call, from a worker thread.
    virtual void close() = 0;
};

}  // namespace porthole::store
