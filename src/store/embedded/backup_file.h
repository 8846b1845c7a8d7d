#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/time/time.h"
#include "store/engine.h"

namespace porthole::store {

/// The description of a backup, stored in its file.
struct BackupInfo {
    Revision revision;           ///< of the store, at which all records were read
    std::uint64_t records = 0;   ///< in the file
    std::uint64_t checksum = 0;  ///< of all records: detects damage by a disk or a transfer, not deliberate changes
    std::string cluster;         ///< the cluster it belongs to; the store's user defines the meaning
    Timestamp created;           ///< time of the backup
    std::string program;         ///< the version of Porthole that wrote it
};

/// Writes the records of a store at one revision, from any engine, into a file: a SQLite database with the engine's own table. One thread;
/// every call blocks. An unfinished file is not a valid backup; the caller removes it. Errors: Io.
class BackupWriter {
public:
    /// Error: AlreadyExists.
    static Result<BackupWriter> create(const std::string& path);
    ~BackupWriter();
    BackupWriter(BackupWriter&&) noexcept;

    /// Requires: no deletion; ascending revision and index.
    Result<void> add(const Row& row);
    /// The last call; afterwards everything is on disk. Sets `info.records` and `info.checksum`.
    Result<void> finish(BackupInfo& info);

private:
    struct Impl;
    explicit BackupWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Calls `visit` for every record of the backup. The file is untrusted: an error may come after many records. Blocks. Errors: NotFound; Io
/// for a file that is not a backup, is damaged, or was written by a newer Porthole; those of `visit`.
Result<BackupInfo> read_backup(const std::string& path, const std::function<Result<void>(Row)>& visit);

/// The revision of a store that is restored at `now`. It is far higher than the backup's, the more so the older the backup is, and so
/// higher than every revision that clients may have seen since the backup, including earlier restores. Their watches end with Expired, and
/// they list again.
Revision restored_revision(const BackupInfo& info, Timestamp now);

/// Fills `engine`, then closes it. Requires: no other call on it before. Blocks. Errors: Conflict if it holds any data, Io, those of
/// read_backup(); after an error the engine may hold a part of the records.
Result<BackupInfo> restore_backup(const std::string& path, Engine& engine, Timestamp now);

/// Whether `engine` returns what restore_backup() wrote; then closes it. Requires: no other call on it before. Error: Io.
Result<void> verify_restored(Engine& engine, const BackupInfo& info, Timestamp now);

}  // namespace porthole::store
