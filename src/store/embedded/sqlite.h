#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace porthole::store {

/// A prepared statement. Parameters count from 1 and columns from 0, as SQLite's do. One thread at a time. Errors: Io.
class Statement {
public:
    Statement() = default;
    explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

    Statement& bind(int parameter, std::int64_t value);
    Statement& bind(int parameter, std::string_view text);  ///< must stay valid until reset
    Statement& bind_blob(int parameter, std::string_view bytes);
    Statement& bind_null(int parameter);
    /// True when there is a row; false at the end, after which the statement is ready for new parameters.
    Result<bool> step();
    /// For statements that yield no rows.
    Result<void> run();

    std::int64_t integer(int column) const;
    std::string text(int column) const;
    bool is_null(int column) const;

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection to a database file, closed when it and all its statements are destroyed. One thread at a time: opened without SQLite's
/// mutex. Waits up to 5 s for another connection's lock. Errors are Io, in SQLite's words.
class Database {
public:
    static Result<Database> open(const std::string& path);
    /// Changes nothing in a file that is there. SQL in it, such as a view's, is not trusted.
    static Result<Database> open_for_reading(const std::string& path);
    Result<void> execute(const char* sql);
    Result<Statement> prepare(const char* sql);
    /// True outside transactions.
    bool autocommit() const;
    /// Copies the log into the database as far as no reader or writer is in the way. Neither this nor the next two report failures.
    void checkpoint();
    /// The same, and then starts the log at its beginning again unless someone reads it: without waiting.
    void restart_log();
    /// Makes the log's file at least `length` bytes long as far as the disk allows. A sync of what is then written there has
    /// only bytes to write, and no new length of the file: half of its time.
    void reserve_log(std::int64_t length);
    /// Keeps the log's length in `pages`, which must outlive the connection, and stops SQLite from checkpointing on its own.
    void track_log_pages(std::atomic<int>& pages);

private:
    struct Close {
        void operator()(sqlite3* database) const;
    };
    explicit Database(sqlite3* database) : database_(database) {}
    static Result<Database> open_with(const std::string& path, int flags);
    std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace porthole::store
