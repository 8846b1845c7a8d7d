#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "store/engine.h"

namespace porthole::store {

/// Lengths of SQLite's write-ahead log, in bytes.
struct EmbeddedOptions {
    std::int64_t checkpoint_length = 8 << 20;  ///< copy as much of it into the database at a time, while the writer continues
    std::int64_t restart_length = 64 << 20;    ///< stop the writer to copy the rest, so that the log does not grow without bound
    std::int64_t reserved_ahead = 1 << 20;     ///< space kept allocated in its file beyond what is written
};

/// The engine of a single server: an append-only log of revisions in SQLite (WAL, synchronous=FULL) under `directory`,
/// which is locked against a second opener. Files: store.db, its -wal and -shm, lock.
///
/// Errors: Conflict if the directory is in use (names the process); Io if it cannot be used, is damaged, or was
/// written by a newer Porthole.
Result<std::unique_ptr<Engine>> open_embedded_engine(const std::string& directory, EmbeddedOptions options = {});

/// Calls `visit` with the current records of the store under `directory`, in order of revision and index, all as of one moment, whether or
/// not a process uses the store. Returns that moment's revision. Blocks; the store is not changed, and its log is not emptied during the
/// call. Errors: NotFound, Io, those of `visit`.
Result<Revision> read_embedded_store(const std::string& directory, const std::function<Result<void>(Row)>& visit);

}  // namespace porthole::store
