#pragma once
#include <functional>
#include <memory>
#include <string>

#include "store/engine.h"

namespace porthole::store {

/// What a backup says of itself.
struct BackupInfo {
    Revision revision;           ///< of the store, at which all records were read
    std::uint64_t records = 0;   ///< in the file
    std::uint64_t checksum = 0;  ///< of all records: finds damage by a disk or a transfer, not a change on purpose
    std::string cluster;         ///< whose it is; the store's user gives it a meaning
    std::string created;         ///< RFC 3339
    std::string program;         ///< the version of Porthole that wrote it
};

/// Writes the records of a store at one revision, whatever engine kept them, into a file: a SQLite database with the engine's own table.
/// One thread; every call blocks. An unfinished file is not a backup; the caller removes it. Errors: Io.
class BackupWriter {
public:
    /// Error: AlreadyExists.
    static Result<BackupWriter> create(const std::string& path);
    ~BackupWriter();
    BackupWriter(BackupWriter&&) noexcept;

    /// Requires: no deletion; ascending revision and index.
    Result<void> add(const Row& row);
    /// The last call; what is written is on the disk afterwards. Sets `info.records` and `info.checksum`.
    Result<void> finish(BackupInfo& info);

private:
    struct Impl;
    explicit BackupWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Gives `visit` every record of the backup, of which nothing is believed: an error may come after many. Blocks. Errors: NotFound; Io for
/// what is not a backup, is damaged, or was written by a newer Porthole; those of `visit`.
Result<BackupInfo> read_backup(const std::string& path, const std::function<Result<void>(Row)>& visit);

/// How far a restored store's revision is ahead of the backup's: beyond each that clients may have seen since, so that their watches end
/// with Expired, and they list again.
inline constexpr std::uint64_t RevisionsAhead = 1'000'000'000;

/// Fills `engine`, then closes it. Requires: nothing was called on it. Blocks. Errors: Conflict when it holds anything, Io, those of
/// read_backup(); the engine may then hold a part.
Result<BackupInfo> restore_backup(const std::string& path, Engine& engine);

/// Whether `engine` gives what restore_backup() filled it with; then closes it. Requires: nothing was called on it. Error: Io.
Result<void> verify_restored(Engine& engine, const BackupInfo& info);

}  // namespace porthole::store
