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
    /// True if there is a row; false at the end, after which the statement can be bound again.
    Result<bool> step();
    /// For statements that return no rows.
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

/// A connection to a database file; it is closed when the object and all its statements are destroyed. One thread at a time: opened without
/// SQLite's mutex. Waits up to 5 s for another connection's lock. Errors are Io with SQLite's message.
class Database {
public:
    static Result<Database> open(const std::string& path);
    /// Changes nothing in an existing file. SQL in it, such as a view's, is not trusted.
    static Result<Database> open_for_reading(const std::string& path);
    Result<void> execute(const char* sql);
    Result<Statement> prepare(const char* sql);
    /// True outside of transactions.
    bool autocommit() const;
    /// Copies the log into the database as far as no reader or writer prevents it. Returns how many of the log's pages are copied, also by
    /// earlier calls; -1 if that is not known because it failed.
    int checkpoint();
    /// The same, and lets the next transaction start at the log's beginning unless it is being read; does not wait.
    int restart_log();
    /// Makes the log's file at least `length` bytes long if the disk has space. A later sync then writes only data, not a new file length,
    /// which takes half the time. Does not report failures.
    void reserve_log(std::int64_t length);
    /// Stores the log's length in `pages`, which must outlive the connection, and stops SQLite from checkpointing by itself.
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
