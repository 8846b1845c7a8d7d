#pragma once
#include <functional>

#include "local_cluster/cluster.h"
#include "store/embedded/backup_file.h"

/// Backups of the control plane that keeps its data in a DataDir: its objects in one file, and in another what opens the cluster:
/// authorities, keys and configuration. All calls block.
namespace porthole::local_cluster {

/// "FILE.keys".
std::filesystem::path keys_file_of(const std::filesystem::path& file);

/// What a backup has. A plain value.
struct Backup {
    store::BackupInfo info;
    std::uintmax_t bytes = 0;         ///< of the file with the objects
    bool has_encryption_key = false;  ///< else secrets are not encrypted, or by a configuration that is kept elsewhere
};
/// As store::read_embedded_store() does: how to read objects that are not in the data directory.
using ReadObjects = std::function<Result<store::Revision>(const std::function<Result<void>(const store::Row&)>& visit)>;
/// Writes `file` and its keys file, for the owner alone, of what there is at one moment, whether the cluster runs or not; then restores
/// them into a scratch directory in the same folder and compares. After an error there is neither. Errors: AlreadyExists, NotFound where
/// there is no control plane, Io.
Result<Backup> back_up(const DataDir& data, const std::filesystem::path& file, SystemTime now, const ReadObjects& read = {});

/// A plain value: `options` are those with which the cluster was brought up; none where it was a server of its own.
struct Restored {
    store::BackupInfo info;
    std::optional<ClusterOptions> options;
};
/// Takes the objects, which are in the store of a scratch directory that has the keys too, to where they belong. Called last.
using PlaceObjects = std::function<Result<void>(const DataDir& scratch, const store::BackupInfo& info)>;
/// Makes the data directory, which must not exist or be empty, from a backup and its keys. After an error it is as it was. Errors:
/// AlreadyExists, NotFound, Conflict for keys of another cluster, Io, BadRequest for files that are not what a backup has, those of
/// `place`, without which the objects are in the data directory's own store.
Result<Restored> restore(const DataDir& data, const std::filesystem::path& file, const std::filesystem::path& keys, SystemTime now,
                         const PlaceObjects& place = {});

}  // namespace porthole::local_cluster
