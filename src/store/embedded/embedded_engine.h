#pragma once
#include <memory>
#include <string>

#include "store/engine.h"

namespace porthole::store {

/// The engine of a single server: an append-only log of revisions in SQLite (WAL, synchronous=FULL) under `directory`,
/// which is locked against a second opener. Files: store.db, its -wal and -shm, lock.
///
/// Errors: Conflict when the directory is in use (names the process); Io when it cannot be used, is damaged, or was
/// written by a newer Porthole.
Result<std::unique_ptr<Engine>> open_embedded_engine(const std::string& directory);

}  // namespace porthole::store
