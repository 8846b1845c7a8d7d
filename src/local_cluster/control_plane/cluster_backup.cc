#include "local_cluster/control_plane/cluster_backup.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/time/time.h"
#include "base/version.h"
#include "local_cluster/control_plane/keys_file.h"
#include "local_cluster/state/move_durably.h"
#include "node_join/pki.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/file_lock.h"
#include "store/embedded/embedded_engine.h"

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;

constexpr const char* KeysExtension = ".keys";

/// A new folder next to `path`, for its owner alone, which is removed with everything in it.
class Scratch {
public:
    explicit Scratch(const fs::path& path) {
        std::string name = path.string() + ".XXXXXX";
        folder_ = fs::absolute(path).parent_path().string();
        if (::mkdtemp(name.data())) path_ = name;
        if (path_.empty()) error_ = errno;
    }
    ~Scratch() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    /// Error: Io where it could not be made.
    Result<fs::path> path() const {
        if (path_.empty()) return Error(Reason::Io, "cannot write to " + folder_ + ": " + std::strerror(error_));
        return path_;
    }

private:
    fs::path path_;
    std::string folder_;
    int error_ = 0;
};

Error io_error(const std::string& what, const fs::path& path, const std::string& why) {
    return Error(Reason::Io, what + " " + path.string() + ": " + why);
}

Result<void> refuse_existing(const fs::path& path) {
    if (!path_exists(path)) return {};
    return Error(Reason::AlreadyExists, path.string() + " already exists: choose another name, or remove it");
}

// --- keys

Result<KeysFile> read_keys(const DataDir& data) {
    KeysFile keys;
    std::error_code error;
    for (fs::directory_iterator entry(data.pki(), error), end; !error && entry != end; entry.increment(error)) {
        if (!entry->is_regular_file(error)) continue;
        TRY(keys.files["pki/" + entry->path().filename().string()], read_file(entry->path()));
    }
    if (error) return io_error("reading", data.pki(), error.message());
    for (const char* name : KeysFile::OtherFiles) {
        if (!path_exists(data.root() / name)) continue;
        TRY(keys.files[name], read_file(data.root() / name));
    }
    TRY(const node_join::Pki pki, node_join::Pki::load(data.pki()));
    TRY(keys.cluster, pki.ca_hash());
    return keys;
}

Result<KeysFile> read_keys_file(const fs::path& file) {
    std::error_code error;
    if (fs::file_size(file, error) > KeysFile::Largest || error)
        return io_error("reading", file, error ? error.message() : "it is too large for a file of keys");
    TRY(const std::string text, read_file(file));
    auto keys = KeysFile::parse(text);
    if (!keys) return std::move(keys).error().with_context(file.string());
    return keys;
}

Result<void> write_keys(const DataDir& data, const KeysFile& keys) {
    for (const auto& [name, content] : keys.files) TRY_VOID(write_durably(data.root() / name, content));
    return {};
}

// --- stores

Result<std::unique_ptr<store::Engine>> open_store(const DataDir& data) { return store::open_embedded_engine(data.store().string()); }

Result<store::BackupInfo> write_objects(const DataDir& data, const fs::path& file, SystemTime now, const ReadObjects& read) {
    TRY(const node_join::Pki pki, node_join::Pki::load(data.pki()));
    store::BackupInfo info{.created = Timestamp(now), .program = PortholeVersion};
    TRY(info.cluster, pki.ca_hash());
    TRY(auto writer, store::BackupWriter::create(file.string()));
    const auto add = [&](const store::Row& row) { return writer.add(row); };
    TRY(info.revision, read ? read(add) : store::read_embedded_store(data.store().string(), add));
    TRY_VOID(writer.finish(info));
    return info;
}

constexpr const char* NotAnOption = "keys: cluster.json has an option that `up` does not take";

/// They become part of a command that people type.
Result<void> check_options(const ClusterOptions& options) {
    TRY_VOID(check_servers(options.servers));
    TRY_VOID(check_networks(options));
    std::vector<std::string> texts{options.backend,   options.cluster_cidr, options.service_cidr,
                                   options.node_cidr, options.cluster_dns,  options.cluster_domain};
    for (const WindowsNode& node : options.windows_nodes) {
        texts.push_back(node.profile);
        if (!check_wine_root_text(node.wine_root)) return Error(Reason::BadRequest, NotAnOption);
    }
    for (const std::string& text : texts) {
        const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == ':' || c == '/' || c == '-'; };
        if (!std::ranges::all_of(text, is_plain)) return Error(Reason::BadRequest, NotAnOption);
    }
    return {};
}

/// Into `data`, whose folder is made here.
Result<Restored> restore_into(const DataDir& data, const fs::path& file, const fs::path& keys_file, SystemTime now) {
    std::error_code error;
    if (!fs::exists(file, error)) return Error(Reason::NotFound, file.string() + " does not exist");
    if (!fs::exists(keys_file, error) && file.extension() == KeysExtension)
        return Error(Reason::BadRequest,
                     file.string() + " is the file of a backup's keys: name the file of its objects, without " + KeysExtension);
    if (!fs::exists(keys_file, error))
        return Error(Reason::NotFound, keys_file.string() + ", with the backup's keys, does not exist; --keys names it");
    TRY(const KeysFile keys, read_keys_file(keys_file));
    fs::create_directories(data.pki(), error);
    if (!error) fs::permissions(data.root(), fs::perms::owner_all, error);
    if (!error) fs::permissions(data.pki(), fs::perms::owner_all, error);
    if (error) return io_error("making", data.pki(), error.message());
    TRY_VOID(write_keys(data, keys));

    Restored restored;
    {
        TRY(const auto engine, open_store(data));
        TRY(restored.info, store::restore_backup(file.string(), *engine, Timestamp(now)));
    }
    TRY(const auto again, open_store(data));
    TRY_VOID(store::verify_restored(*again, restored.info, Timestamp(now)));
    TRY(const node_join::Pki pki, node_join::Pki::load(data.pki()));
    TRY(const std::string cluster, pki.ca_hash());
    if (cluster != restored.info.cluster || cluster != keys.cluster)
        return Error(Reason::Conflict, keys_file.string() + " has the keys of another cluster than " + file.string());
    if (path_exists(data.state_file())) {
        TRY(Cluster known, Cluster::load(data));
        TRY_VOID(check_options(known.options));
        restored.options = known.options;
        known.options.servers = 1;  // the objects are in the embedded store: `up` moves them where there are to be several
        TRY_VOID(Cluster{.options = std::move(known.options)}.save(data));  // its processes were another machine's
    }
    return restored;
}

/// The locks that starts have left which were refused. They are no contents.
std::vector<fs::path> locks(const DataDir& data) { return {data.root() / "lock", data.up_lock(), data.supervisor_lock()}; }

bool has_contents(const DataDir& data) {
    if (!path_exists(data.root())) return false;
    std::error_code error;
    const std::vector<fs::path> left = locks(data);
    const auto is_content = [&](const fs::directory_entry& entry) { return std::ranges::find(left, entry.path()) == left.end(); };
    const fs::directory_iterator entries(data.root(), error);
    return error || std::any_of(begin(entries), end(entries), is_content);
}

/// Error: Conflict where a start is about to make a cluster there.
Result<void> remove_locks(const DataDir& data) {
    for (const fs::path& path : locks(data)) {
        if (!path_exists(path)) continue;
        TRY(const auto lock, FileLock::try_take(path.string()));
        if (!lock) return Error(Reason::Conflict, "a cluster is being started in " + data.root().string() + ": end it first");
        std::error_code error;
        fs::remove(path, error);
        if (error) return io_error("removing", path, error.message());
    }
    return {};
}

}  // namespace

fs::path keys_file_of(const fs::path& file) { return file.string() + KeysExtension; }

Result<Backup> back_up(const DataDir& data, const fs::path& file, SystemTime now, const ReadObjects& read) {
    const fs::path keys = keys_file_of(file);
    TRY_VOID(refuse_existing(file));
    TRY_VOID(refuse_existing(keys));
    if (!path_exists(data.pki()))
        return Error(Reason::NotFound, "no control plane in " + data.root().string() + ": name its data directory with --data");
    const Scratch scratch(file);
    TRY(const fs::path folder, scratch.path());
    const fs::path objects = folder / "objects", secrets = folder / "keys";
    TRY(const KeysFile before, read_keys(data));
    TRY_VOID(write_durably(secrets, before.text()));
    Backup backup{.has_encryption_key = path_exists(data.encryption_file())};
    TRY(backup.info, write_objects(data, objects, now, read));
    TRY(const KeysFile after, read_keys(data));
    if (after != before)  // or the objects could be of a key that is not among them
        return Error(Reason::Conflict, "keys or configuration in " + data.root().string() + " changed during the command: run it again");
    TRY_VOID(restore_into(DataDir(folder / "restored"), objects, secrets, now));
    std::error_code error;
    backup.bytes = fs::file_size(objects, error);
    Result<void> moved = move_durably(secrets, keys);
    if (moved) moved = move_durably(objects, file);
    if (moved) return backup;
    fs::remove(keys, error);
    fs::remove(file, error);
    return moved.error();
}

Result<Restored> restore(const DataDir& data, const fs::path& file, const fs::path& keys, SystemTime now, const PlaceObjects& place) {
    std::error_code error;
    if (has_contents(data))
        return Error(Reason::AlreadyExists,
                     data.root().string() +
                         " is not empty: choose another --data, or delete the cluster there with `porthole down --purge" + data.flag() +
                         "`");
    const Scratch scratch(data.root());
    TRY(const fs::path folder, scratch.path());
    TRY(Restored restored, restore_into(DataDir(folder / "data"), file, keys, now));
    if (place) {
        TRY_VOID(place(DataDir(folder / "data"), restored.info));
        fs::remove_all(DataDir(folder / "data").store(), error);
        if (error) return io_error("removing", DataDir(folder / "data").store(), error.message());
    }
    TRY_VOID(remove_locks(data));
    const auto moved = move_durably(folder / "data", data.root());
    if (!moved) return Error(moved.error()).with_context("it is a mount point; choose a directory below it with --data");
    return restored;
}

}  // namespace porthole::local_cluster
