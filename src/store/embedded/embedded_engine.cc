#include "store/embedded/embedded_engine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "store/embedded/data_lock.h"
#include "store/embedded/log_table.h"

namespace porthole::store {
namespace {

/// A build that changes keys or values, so that older ones would misread or spoil them, raises it as well as one that changes the tables.
constexpr std::int64_t FormatVersion = 1;

// Few large pages make a group of objects fewer writes. The size of a database that is there already stays as it is.
constexpr const char* Pragmas =
    "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-1024; PRAGMA temp_store=MEMORY; "
    "PRAGMA secure_delete=ON;";  // what is deleted, perhaps in plain text, leaves no trace in the file
const std::string Tables = std::string("CREATE TABLE IF NOT EXISTS ") + LogTable +
                           "; CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
                           "PRAGMA user_version=1;";

constexpr const char* CompactedRevision = "SELECT value FROM meta WHERE name='compacted'";

Error newer_format(std::int64_t version) {
    return Error(Reason::Io, "it was written by a newer Porthole (format " + std::to_string(version) + ", this one knows " +
                                 std::to_string(FormatVersion) + "): use that, or restore a backup");
}

/// SQLite gives its other files the mode of the database file.
Result<void> ensure_private_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return Error(Reason::Io, "opening " + path + ": " + std::strerror(errno));
    ::close(file);
    return {};
}

class EmbeddedEngine final : public Engine {
public:
    EmbeddedEngine(FileLock lock, Database writer, Database checkpointer, EmbeddedOptions options)
        : options_(options), lock_(std::move(lock)), writer_(std::move(writer)), checkpointer_(std::move(checkpointer)) {
        writer_->track_log_pages(log_pages_);
    }

    Result<void> prepare() {
        constexpr std::int64_t LogPageHead = 24;
        TRY(const std::int64_t page_size, read_number(*writer_, "PRAGMA page_size"));
        log_page_ = LogPageHead + page_size;
        TRY(insert_, writer_->prepare(InsertIntoLog));
        TRY(remove_, writer_->prepare("DELETE FROM log WHERE id BETWEEN ? AND ? AND key=?"));
        TRY(set_compacted_, writer_->prepare("INSERT OR REPLACE INTO meta VALUES('compacted', ?)"));
        return {};
    }

    Result<Revision> load(const std::function<void(Row)>& visit) override;
    Result<void> append(std::span<const Commit> commits) override;
    Result<void> compact(Revision compacted, std::span<const Row> superseded) override;
    bool checkpoint_due() const override { return uncopied_pages() * log_page_ > options_.checkpoint_length; }
    void checkpoint() override;
    void close() override;

private:
    std::int64_t log_length() const { return log_pages_.load(std::memory_order_relaxed) * log_page_; }
    std::int64_t uncopied_pages() const;
    template <class Copy>
    void copy_log(Copy copy);
    void make_room_in_log();
    template <class Work>
    Result<void> in_transaction(Work work);

    const EmbeddedOptions options_;
    FileLock lock_;
    std::optional<Database> writer_, checkpointer_;
    Statement insert_, remove_, set_compacted_;
    std::int64_t log_page_ = 0;         ///< bytes that a page takes up in the log
    std::atomic<int> log_pages_{0};     ///< that the last transaction left
    std::atomic<int> copied_pages_{0};  ///< of this log or of one before it
    std::atomic_flag copying_;
    std::int64_t log_reserved_ = 0;
};

/// How much of the log is not yet in the database.
std::int64_t EmbeddedEngine::uncopied_pages() const {
    const int length = log_pages_.load(std::memory_order_relaxed), copied = copied_pages_.load(std::memory_order_relaxed);
    return length < copied ? length : length - copied;  // shorter: it has started again since
}

/// Leaves it to the other thread if that copies already.
template <class Copy>
void EmbeddedEngine::copy_log(Copy copy) {
    if (copying_.test_and_set()) return;
    const int copied = copy();
    copied_pages_.store(copied < 0 ? log_pages_.load() : copied, std::memory_order_relaxed);  // unknown: until the next transaction
    copying_.clear();
}

// Must not start while all is copied. If a transaction starts the log again at this moment, SQLite before 3.51.3 takes what that writes for
// copied, and loses it ("WAL-reset bug" in https://sqlite.org/wal.html).
void EmbeddedEngine::checkpoint() {
    copy_log([this] { return uncopied_pages() == 0 ? copied_pages_.load() : checkpointer_->checkpoint(); });
}

void EmbeddedEngine::make_room_in_log() {
    if (log_length() > options_.restart_length) copy_log([this] { return writer_->restart_log(); });
    if (log_length() + options_.reserved_ahead <= log_reserved_) return;
    log_reserved_ = log_length() + 2 * options_.reserved_ahead;
    writer_->reserve_log(log_reserved_);
}

template <class Work>
Result<void> EmbeddedEngine::in_transaction(Work work) {
    make_room_in_log();
    Result<void> result = writer_->execute("BEGIN IMMEDIATE");
    if (result) result = work();
    if (result) result = writer_->execute("COMMIT");
    // Some errors have already rolled back, others leave the transaction open.
    if (!result && !writer_->autocommit()) (void)writer_->execute("ROLLBACK").has_value();
    if (!result) return std::move(result).error().with_context("writing the store's database");
    return {};
}

Result<void> EmbeddedEngine::append(std::span<const Commit> commits) {
    return in_transaction([&]() -> Result<void> {
        for (const Commit& commit : commits) {
            for (const Row& row : commit.rows) TRY_VOID(insert_log_row(insert_, row));
        }
        return {};
    });
}

Result<void> EmbeddedEngine::compact(Revision compacted, std::span<const Row> superseded) {
    return in_transaction([&]() -> Result<void> {
        for (const Row& row : superseded) {
            remove_.bind(1, log_id(row.revision, 0)).bind(2, log_id(row.revision, IdsPerRevision - 1)).bind(3, row.key);
            TRY_VOID(remove_.run());
        }
        return set_compacted_.bind(1, static_cast<std::int64_t>(compacted.value)).run();
    });
}

Result<Revision> visit_log(Database& database, const std::string& condition, const std::function<Result<void>(Row)>& visit) {
    TRY(Statement rows, database.prepare((std::string("SELECT ") + LogColumns + " FROM log" + condition + " ORDER BY id").c_str()));
    for (;;) {
        TRY(const bool more, rows.step());
        if (!more) break;
        TRY(Row row, read_log_row(rows));
        TRY_VOID(visit(std::move(row)));
    }
    TRY(const std::int64_t compacted, read_number(database, CompactedRevision));
    return Revision(static_cast<std::uint64_t>(compacted));
}

Result<Revision> EmbeddedEngine::load(const std::function<void(Row)>& visit) {
    return visit_log(*writer_, "", [&](Row row) -> Result<void> {
        visit(std::move(row));
        return {};
    });
}

void EmbeddedEngine::close() {
    for (Statement* statement : {&insert_, &remove_, &set_compacted_}) *statement = Statement();
    checkpointer_.reset();
    writer_.reset();  // the last connection checkpoints and removes the log
}

Result<std::unique_ptr<Engine>> open_database(FileLock lock, const std::string& path, EmbeddedOptions options) {
    TRY_VOID(ensure_private_file(path));
    TRY(Database writer, Database::open(path));
    TRY(const std::int64_t version, read_number(writer, "PRAGMA user_version"));
    if (version > FormatVersion) return newer_format(version);
    TRY_VOID(writer.execute(Pragmas));
    if (version == 0) TRY_VOID(writer.execute(Tables.c_str()));
    TRY(Database checkpointer, Database::open(path));
    // SQLite opens the log with the first reading, and does nothing in checkpoints of a connection that has never read.
    TRY_VOID(read_number(checkpointer, "PRAGMA schema_version"));
    auto engine = std::make_unique<EmbeddedEngine>(std::move(lock), std::move(writer), std::move(checkpointer), options);
    TRY_VOID(engine->prepare());
    return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace

Result<std::unique_ptr<Engine>> open_embedded_engine(const std::string& directory, EmbeddedOptions options) {
    TRY(FileLock lock, lock_data_directory(directory));
    const std::string path = directory + "/store.db";
    Result<std::unique_ptr<Engine>> engine = open_database(std::move(lock), path, options);
    if (!engine) return std::move(engine).error().with_context("opening " + path);
    return engine;
}

Result<Revision> read_embedded_store(const std::string& directory, const std::function<Result<void>(Row)>& visit) {
    const std::string path = directory + "/store.db";
    if (::access(path.c_str(), F_OK) != 0) return Error(Reason::NotFound, "there is no store in " + directory);
    const auto read = [&]() -> Result<Revision> {
        TRY(Database database, Database::open_for_reading(path));
        TRY(const std::int64_t version, read_number(database, "PRAGMA user_version"));
        if (version > FormatVersion) return newer_format(version);
        TRY_VOID(database.execute("BEGIN"));  // one moment for all that is read
        TRY(const Revision compacted,
            visit_log(database, " WHERE value IS NOT NULL AND id IN (SELECT MAX(id) FROM log GROUP BY key)", visit));
        TRY(const std::int64_t last, read_number(database, "SELECT MAX(id) FROM log"));
        return std::max(compacted, Revision(static_cast<std::uint64_t>(last / IdsPerRevision)));
    };
    Result<Revision> revision = read();
    if (!revision) return std::move(revision).error().with_context("reading " + path);
    return revision;
}

}  // namespace porthole::store
