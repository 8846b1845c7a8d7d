#include "store/embedded/backup_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/hash.h"
#include "store/embedded/appender.h"
#include "store/embedded/log_table.h"

namespace porthole::store {
namespace {

constexpr std::int64_t BackupFormat = 1;
constexpr std::int64_t ApplicationId = 0x504f5254;  // "PORT": what `file` shows of a database
constexpr const char* InfoTable = "info(name TEXT PRIMARY KEY, value TEXT NOT NULL)";
constexpr std::size_t LongestKey = 4096, LargestValue = 64 << 20, LongestInfo = 256;
constexpr std::uint64_t LastRevision = std::uint64_t(1) << 50;                    // with which restored revisions have room
constexpr std::uint64_t RevisionsAhead = 1'000'000'000, RevisionsASecond = 1000;  // more than a server writes

std::string number_text(std::uint64_t number) { return std::to_string(number); }

/// A checksum of records in their order.
class Checksum {
public:
    void add(const Row& row) {
        add(row.revision.value), add(row.index), add(row.created.value), add(row.lease.value);
        add(row.revision_at ? *row.revision_at + std::uint64_t(1) : 0);
        add(row.key.size()), add(row.value.size());
        hash_ = fnv1a_64(row.value, fnv1a_64(row.key, hash_));
        ++records_;
    }
    std::uint64_t value() const { return hash_; }
    std::uint64_t records() const { return records_; }

private:
    void add(std::uint64_t number) { hash_ = fnv1a_64(std::string_view(reinterpret_cast<const char*>(&number), sizeof number), hash_); }

    std::uint64_t hash_ = fnv1a_64("");
    std::uint64_t records_ = 0;
};

/// Whether what a name stands for in the file is the table that a writer makes, and no view that computes without end.
Result<bool> has_table(Database& database, const std::string& name, const std::string& definition) {
    TRY(Statement found, database.prepare("SELECT sql FROM sqlite_schema WHERE type='table' AND name=?"));
    found.bind(1, name);
    TRY(const bool there, found.step());
    return there && found.text(0) == "CREATE TABLE " + definition;
}

Result<BackupInfo> read_info(Database& database) {
    BackupInfo info;
    TRY(Statement all, database.prepare("SELECT name, value FROM info LIMIT 16"));
    for (;;) {
        TRY(const bool more, all.step());
        if (!more) return info;
        const std::string name = all.text(0), value = all.text(1);
        if (value.size() > LongestInfo) return Error(Reason::Io, "it is damaged: its " + name.substr(0, 64) + " is too long");
        const auto number = [&](std::uint64_t& into) { std::from_chars(value.data(), value.data() + value.size(), into); };
        if (name == "revision") number(info.revision.value);
        if (name == "records") number(info.records);
        if (name == "checksum") number(info.checksum);
        if (name == "cluster") info.cluster = value;
        if (name == "created") {
            TRY(info.created, Timestamp::parse(value));
        }
        if (name == "program") info.program = value;
    }
}

/// What the store relies on without looking.
Result<void> check_row(const Row& row, const BackupInfo& info) {
    const bool sound = !row.deleted && !row.key.empty() && row.key.size() <= LongestKey && row.value.size() <= LargestValue &&
                       row.revision.value > 0 && row.revision <= info.revision && row.created.value > 0 && row.created <= row.revision;
    if (sound) return {};
    return Error(Reason::Io, "it is damaged at revision " + to_string(row.revision));
}

Result<BackupInfo> read_open_backup(Database& database, const std::function<Result<void>(Row)>& visit) {
    TRY(const std::int64_t application, read_number(database, "PRAGMA application_id"));
    if (application != ApplicationId) return Error(Reason::Io, "it is not a backup");
    TRY(const std::int64_t version, read_number(database, "PRAGMA user_version"));
    if (version > BackupFormat) {
        return Error(Reason::Io, "it was written by a newer Porthole (format " + std::to_string(version) + ", this one knows " +
                                     std::to_string(BackupFormat) + "): use that");
    }
    TRY(const bool has_info, has_table(database, "info", InfoTable));
    TRY(const bool has_log, has_table(database, "log", LogTable));
    if (!has_info || !has_log) return Error(Reason::Io, "it is not a whole backup: writing it did not end");
    TRY(const BackupInfo info, read_info(database));
    if (info.revision.value > LastRevision)
        return Error(Reason::Io, "it is damaged: its revision " + to_string(info.revision) + " is out of range");

    Checksum checksum;
    TRY(Statement rows, database.prepare((std::string("SELECT ") + LogColumns + " FROM log ORDER BY id").c_str()));
    for (;;) {
        TRY(const bool more, rows.step());
        if (!more) break;
        TRY(Row row, read_log_row(rows));
        TRY_VOID(check_row(row, info));
        checksum.add(row);
        TRY_VOID(visit(std::move(row)));
    }
    if (checksum.records() != info.records || checksum.value() != info.checksum)
        return Error(Reason::Io, "it is damaged: its records are not those that were written");
    return info;
}

}  // namespace

struct BackupWriter::Impl {
    Database database;
    Statement insert;
    Checksum checksum;
};

BackupWriter::BackupWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BackupWriter::BackupWriter(BackupWriter&&) noexcept = default;
BackupWriter::~BackupWriter() = default;

Result<BackupWriter> BackupWriter::create(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return Error(errno == EEXIST ? Reason::AlreadyExists : Reason::Io, "making " + path + ": " + std::strerror(errno));
    ::close(file);
    TRY(Database database, Database::open(path));
    // All of it or nothing: without a log of its own, as nobody reads it before it is finished.
    TRY_VOID(database.execute("PRAGMA page_size=8192; PRAGMA journal_mode=OFF; PRAGMA synchronous=FULL; BEGIN"));
    TRY_VOID(database.execute((std::string("CREATE TABLE ") + LogTable).c_str()));
    TRY(Statement insert, database.prepare(InsertIntoLog));
    return BackupWriter(std::make_unique<Impl>(std::move(database), std::move(insert)));
}

Result<void> BackupWriter::add(const Row& row) {
    impl_->checksum.add(row);
    return insert_log_row(impl_->insert, row);
}

Result<void> BackupWriter::finish(BackupInfo& info) {
    info.records = impl_->checksum.records();
    info.checksum = impl_->checksum.value();
    Database& database = impl_->database;
    TRY_VOID(database.execute((std::string("CREATE TABLE ") + InfoTable).c_str()));
    TRY(Statement insert, database.prepare("INSERT INTO info VALUES(?,?)"));
    const std::pair<const char*, std::string> lines[] = {
        {"revision", number_text(info.revision.value)}, {"records", number_text(info.records)},
        {"checksum", number_text(info.checksum)},       {"cluster", info.cluster},
        {"created", info.created.to_string()},          {"program", info.program}};
    for (const auto& [name, value] : lines) TRY_VOID(insert.bind(1, std::string_view(name)).bind(2, value).run());
    const std::string marks =
        "PRAGMA application_id=" + std::to_string(ApplicationId) + "; PRAGMA user_version=" + std::to_string(BackupFormat) + "; COMMIT";
    return database.execute(marks.c_str());
}

Result<BackupInfo> read_backup(const std::string& path, const std::function<Result<void>(Row)>& visit) {
    if (::access(path.c_str(), F_OK) != 0) return Error(Reason::NotFound, "there is no file " + path);
    const auto read = [&]() -> Result<BackupInfo> {
        TRY(Database database, Database::open_for_reading(path));
        return read_open_backup(database, visit);
    };
    Result<BackupInfo> info = read();
    const bool torn = !info && info.error().message.find("malformed") != std::string::npos;  // SQLite's word
    if (torn) return Error(Reason::Io, "reading " + path + ": it is damaged: a part is missing or has been changed");
    if (!info) return std::move(info).error().with_context("reading " + path);
    return info;
}

Revision restored_revision(const BackupInfo& info, Timestamp now) {
    const std::int64_t age = std::max<std::int64_t>(0, now.seconds() - info.created.seconds());
    return Revision(info.revision.value + RevisionsAhead + static_cast<std::uint64_t>(age) * RevisionsASecond);
}

Result<BackupInfo> restore_backup(const std::string& path, Engine& engine, Timestamp now) {
    bool empty = true;
    TRY(const Revision compacted, engine.load([&](Row) { empty = false; }));
    if (!empty || compacted.value > 0) return Error(Reason::Conflict, "the store to restore into is not empty");
    Appender appender(engine);
    TRY(const BackupInfo info, read_backup(path, [&](Row row) { return appender.add(std::move(row)); }));
    TRY_VOID(appender.flush());
    TRY_VOID(engine.compact(restored_revision(info, now), {}));
    engine.close();
    return info;
}

Result<void> verify_restored(Engine& engine, const BackupInfo& info, Timestamp now) {
    Checksum checksum;
    TRY(const Revision compacted, engine.load([&](const Row& row) { checksum.add(row); }));
    engine.close();
    if (checksum.value() == info.checksum && checksum.records() == info.records && compacted == restored_revision(info, now)) return {};
    return Error(Reason::Io, "the restored store differs from the backup");
}

}  // namespace porthole::store
