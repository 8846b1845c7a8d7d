#pragma once
#include <functional>

#include "local_cluster/state/cluster.h"
#include "store/embedded/backup_file.h"

/// Backups of the control plane whose data are in a DataDir: its objects in one file, and its secrets in another: authorities, keys and
/// configuration. All calls block.
namespace porthole::local_cluster {

/// "FILE.keys".
std::filesystem::path keys_file_of(const std::filesystem::path& file);

/// The content of a backup. A plain value.
struct Backup {
    store::BackupInfo info;
    std::uintmax_t bytes = 0;         ///< of the file with the objects
    bool has_encryption_key = false;  ///< otherwise secrets are not encrypted, or by a configuration that is stored elsewhere
};
/// As store::read_embedded_store() does: how to read objects that are not in the data directory.
using ReadObjects = std::function<Result<store::Revision>(const std::function<Result<void>(const store::Row&)>& visit)>;
/// Writes `file` and its keys file, readable by the owner only, from the state at one moment, whether or not the cluster runs; then
/// restores them into a scratch directory next to them and compares. After an error neither file exists. Errors: AlreadyExists, NotFound if
/// there is no control plane, Io.
Result<Backup> back_up(const DataDir& data, const std::filesystem::path& file, SystemTime now, const ReadObjects& read = {});

/// A plain value: `options` are those with which the cluster was started; none for a stand-alone server.
struct Restored {
    store::BackupInfo info;
    std::optional<ClusterOptions> options;
};
/// Moves the objects, which are in the store of a scratch directory that also has the keys, to their final place. Called last.
using PlaceObjects = std::function<Result<void>(const DataDir& scratch, const store::BackupInfo& info)>;
/// Creates the data directory, which must be absent or empty, from a backup and its keys. After an error it is unchanged. Errors:
/// AlreadyExists, NotFound, Conflict for keys of another cluster, Io, BadRequest for invalid files, those of `place`, without which the
/// objects are placed in the data directory's own store.
Result<Restored> restore(const DataDir& data, const std::filesystem::path& file, const std::filesystem::path& keys, SystemTime now,
                         const PlaceObjects& place = {});

}  // namespace porthole::local_cluster
