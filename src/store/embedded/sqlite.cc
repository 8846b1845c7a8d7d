#include "store/embedded/sqlite.h"

#include <sqlite3.h>

#include <array>
#include <cstring>

namespace porthole::store {
namespace {

constexpr int LongestWait = 5000;  // milliseconds, for another connection's lock

Error sqlite_error(sqlite3* database) {
    std::string message = database ? sqlite3_errmsg(database) : "out of memory";
    const int code = database ? sqlite3_system_errno(database) : 0;
    // The system's own word ("No space left on device") says more than SQLite's.
    if (code != 0) message += std::string(" (") + std::strerror(code) + ")";
    return Error(Reason::Io, std::move(message));
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement& Statement::bind(int parameter, std::int64_t value) {
    sqlite3_bind_int64(statement_.get(), parameter, value);
    return *this;
}
Statement& Statement::bind(int parameter, std::string_view text) {
    sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
}
Statement& Statement::bind_blob(int parameter, std::string_view bytes) {
    // A null pointer would mean NULL, not an empty blob.
    sqlite3_bind_blob64(statement_.get(), parameter, bytes.data() ? bytes.data() : "", bytes.size(), SQLITE_STATIC);
    return *this;
}
Statement& Statement::bind_null(int parameter) {
    sqlite3_bind_null(statement_.get(), parameter);
    return *this;
}

Result<bool> Statement::step() {
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) {
        sqlite3_reset(statement_.get());
        return false;
    }
    Error error = sqlite_error(sqlite3_db_handle(statement_.get()));
    sqlite3_reset(statement_.get());
    return error;
}

Result<void> Statement::run() {
    TRY(const bool row, step());
    CHECK(!row);
    return {};
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
std::string Statement::text(int column) const {
    const void* bytes = sqlite3_column_blob(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return bytes ? std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size)) : std::string();
}
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::open(const std::string& path) { return open_with(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE); }

Result<Database> Database::open_for_reading(const std::string& path) {
    TRY(Database opened, open_with(path, SQLITE_OPEN_READONLY));
    TRY_VOID(opened.execute("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"));
    return opened;
}

Result<Database> Database::open_with(const std::string& path, int flags) {
    sqlite3* database = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    Database opened(database);
    if (code != SQLITE_OK) return sqlite_error(database);
    sqlite3_busy_timeout(database, LongestWait);
    return opened;
}

Result<void> Database::execute(const char* sql) {
    if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return sqlite_error(database_.get());
}

Result<Statement> Database::prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return sqlite_error(database_.get());
    return Statement(statement);
}

bool Database::autocommit() const { return sqlite3_get_autocommit(database_.get()) != 0; }

int Database::checkpoint() {
    int copied = -1;
    sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, &copied);
    return copied;
}

int Database::restart_log() {
    int copied = -1;
    sqlite3_busy_timeout(database_.get(), 0);  // not for a reader, such as a backup's: commits wait for this
    sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_RESTART, nullptr, &copied);
    sqlite3_busy_timeout(database_.get(), LongestWait);
    return copied;
}

void Database::reserve_log(std::int64_t length) {
    // Zeros end the log for whoever reads it after a crash, as its old rows do when it has started at its beginning again.
    static constexpr std::array<char, 64 << 10> zeros{};
    sqlite3_file* log = nullptr;
    sqlite3_int64 end = 0;
    sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (!log || !log->pMethods || log->pMethods->xFileSize(log, &end) != SQLITE_OK) return;
    for (; end < length; end += zeros.size()) {
        if (log->pMethods->xWrite(log, zeros.data(), zeros.size(), end) != SQLITE_OK) return;
    }
}

void Database::track_log_pages(std::atomic<int>& pages) {
    const auto hook = [](void* context, sqlite3*, const char*, int count) {
        static_cast<std::atomic<int>*>(context)->store(count, std::memory_order_relaxed);
        return SQLITE_OK;
    };
    sqlite3_wal_hook(database_.get(), hook, &pages);
}

}  // namespace porthole::store
