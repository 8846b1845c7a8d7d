#pragma once
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/transaction.h"

namespace porthole::store {

/// One operation as an engine keeps it.
struct Row {
    Revision revision;
    std::uint32_t index = 0;  ///< place among the operations of its revision
    bool deleted = false;     ///< the rest but `key` is then empty
    std::string key;
    std::string value;  ///< without the revision's digits: the reader inserts them at `revision_at`
    std::optional<std::uint32_t> revision_at;
    Revision created;
    LeaseId lease;
};

/// A transaction on its way to disk.
struct Commit {
    std::vector<Guard> guards;  ///< already checked against this process's state
    std::vector<Row> rows;      ///< never empty; all of one revision, ascending index
};

/// Where rows survive. All reads are served from memory, so an engine only loads at the start and appends.
///
/// Called from worker threads, one call at a time, except load() (on the thread that opens the store) and checkpoint(), which may run
/// while another call does.
/// A distributed engine checks `Commit::guards` itself, since other servers write too.
class Engine {
public:
    virtual ~Engine() = default;

    /// Gives every row in order of (revision, index), once, before anything else; yields the compacted revision. Rows at
    /// or below that may include superseded ones.
    virtual Result<Revision> load(const std::function<void(Row)>& visit) = 0;
    /// All of `commits` or none; durable on success. After an error (Io) the engine holds none of it, or cannot know (a
    /// failed sync): then a later load may show all of it, if no other append came after. May be called again.
    virtual Result<void> append(std::span<const Commit> commits) = 0;
    /// Remembers that history up to `compacted` is forgotten, and deletes the `superseded` rows (only revision and key are set).
    /// May stop half-way with an error (Io); may then be called again.
    virtual Result<void> compact(Revision compacted, std::span<const Row> superseded) = 0;
    /// Whether a value of `key` can be appended now: asked before the transaction joins others, which its failure would fail. From any
    /// thread; does not block. Errors: the engine's own.
    virtual Result<void> check_writable(std::string_view) const { return {}; }
    /// Whether the value of `key` would be kept in another form if it were appended again. From any thread.
    virtual bool is_stale(std::string_view) const { return false; }
    /// Whether checkpoint() has enough to do. From any thread.
    virtual bool checkpoint_due() const { return false; }
    /// Moves what is durable to where it costs least. Changes nothing that load() would give, and may fail silently.
    virtual void checkpoint() {}
    /// The last call, from a worker thread.
    virtual void close() = 0;
};

}  // namespace porthole::store
