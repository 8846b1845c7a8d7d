#pragma once
#include "store/embedded/sqlite.h"
#include "store/engine.h"

/// The table in which rows are kept, in a store's database and in a backup.
namespace porthole::store {

/// One row per operation. Its id is revision * IdsPerRevision + index, so the table is in the order of history. A null value is a deletion.
inline constexpr std::int64_t IdsPerRevision = Transaction::MaxOperations;
inline constexpr const char* LogTable =  ///< the text after CREATE TABLE
    "log(id INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB, revision_at INTEGER, created INTEGER NOT NULL, lease INTEGER NOT NULL)";
inline constexpr const char* LogColumns = "id, key, value, revision_at, created, lease";
inline constexpr const char* InsertIntoLog = "INSERT INTO log VALUES(?,?,?,?,?,?)";

constexpr std::int64_t log_id(Revision revision, std::uint32_t index) {
    return static_cast<std::int64_t>(revision.value) * IdsPerRevision + index;
}

/// The current row of `statement`, which selects LogColumns. Error: Io if no engine could have written it.
Result<Row> read_log_row(const Statement& statement);
/// Runs `insert`, a statement of InsertIntoLog. Error: Io.
Result<void> insert_log_row(Statement& insert, const Row& row);

/// The number that `sql` selects, 0 if there is none. Error: Io.
Result<std::int64_t> read_number(Database& database, const char* sql);

}  // namespace porthole::store
