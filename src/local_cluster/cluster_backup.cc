#include "local_cluster/cluster_backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/base64.h"
#include "base/time/time.h"
#include "base/version.h"
#include "node_join/pki.h"
#include "runtime/files/durable_file.h"
#include "schema/json/json.h"
#include "schema/value.h"
#include "store/embedded/embedded_engine.h"

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;
using schema::Value;

constexpr std::string_view KeysFormat = "porthole-keys/1";
constexpr std::size_t LargestKeysFile = 4 << 20;

/// Files of the data directory beside the store and `pki`, as far as they are there.
constexpr const char* OtherFiles[] = {"encryption.yaml", "authentication.yaml", "admission.yaml", "cluster.json"};

/// Removes a path, with everything below, unless it was kept.
class Scratch {
public:
    explicit Scratch(fs::path path) : path_(std::move(path)) {}
    ~Scratch() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    const fs::path& path() const { return path_; }
    void keep() { path_.clear(); }

private:
    fs::path path_;
};

Error io_error(const std::string& what, const fs::path& path, const std::string& why) {
    return Error(Reason::Io, what + " " + path.string() + ": " + why);
}

/// A rename that the machine's power cannot undo.
Result<void> move_durably(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error) return io_error("making", to, error.message());
    const std::string folder = fs::absolute(to).parent_path().string();
    const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = opened >= 0 && ::fsync(opened) == 0;
    const std::string why = std::strerror(errno);
    if (opened >= 0) ::close(opened);
    return synced ? Result<void>() : io_error("writing", folder, why);
}

/// What a new file or folder in `path`'s place is named until it is whole.
fs::path unfinished(const fs::path& path) { return path.string() + ".unfinished"; }

Result<void> refuse_existing(const fs::path& path) {
    if (!path_exists(path)) return {};
    return Error(Reason::AlreadyExists, path.string() + " exists: choose another name, or remove it");
}

// --- keys

Result<std::string> read_keys(const DataDir& data) {
    Value files = Value::object();
    std::error_code error;
    for (fs::directory_iterator entry(data.pki(), error), end; !error && entry != end; entry.increment(error)) {
        if (!entry->is_regular_file(error)) continue;
        TRY(const std::string text, read_file(entry->path()));
        files["pki/" + entry->path().filename().string()] = encode_base64(text);
    }
    if (error) return io_error("reading", data.pki(), error.message());
    for (const char* name : OtherFiles) {
        if (!path_exists(data.root() / name)) continue;
        TRY(const std::string text, read_file(data.root() / name));
        files[name] = encode_base64(text);
    }
    TRY(const node_join::Pki pki, node_join::Pki::load(data.pki()));
    TRY(std::string cluster, pki.ca_hash());
    return schema::to_json(
               Value::object({{"format", std::string(KeysFormat)}, {"cluster", std::move(cluster)}, {"files", std::move(files)}})) +
           "\n";
}

/// Names that read_keys() writes, so that nothing is made anywhere else.
bool is_name_of_keys(std::string_view name) {
    if (std::ranges::find(OtherFiles, name) != std::end(OtherFiles)) return true;
    if (!name.starts_with("pki/")) return false;
    name.remove_prefix(4);
    return !name.empty() && name.size() <= 64 && name != "." && name != ".." && name.find('/') == name.npos && name.find('\0') == name.npos;
}

Result<Value> parse_keys(const fs::path& file) {
    std::error_code error;
    if (fs::file_size(file, error) > LargestKeysFile || error)
        return io_error("reading", file, error ? error.message() : "it is too large for a file of keys");
    TRY(const std::string text, read_file(file));
    Result<Value> keys = schema::parse_json(text);
    const Value* files = keys && keys->is_object() ? keys->find("files") : nullptr;
    if (!files || !files->is_object() || keys->string_at({"format"}) != KeysFormat)
        return Error(Reason::BadRequest, file.string() + " is not the keys file of a backup");
    return keys;
}

Result<void> write_keys(const DataDir& data, const Value& keys) {
    for (const auto& member : keys.find("files")->as_object()) {
        if (!is_name_of_keys(member.key)) return Error(Reason::BadRequest, "keys: \"" + member.key + "\" is not a file of a control plane");
        TRY(const std::string text, decode_base64(member.value.string_or("")));
        TRY_VOID(write_durably(data.root() / member.key, text));
    }
    return {};
}

// --- stores

Result<std::unique_ptr<store::Engine>> open_store(const DataDir& data) { return store::open_embedded_engine(data.store().string()); }

Result<store::BackupInfo> write_objects(const DataDir& data, const fs::path& file, SystemTime now) {
    TRY(const node_join::Pki pki, node_join::Pki::load(data.pki()));
    store::BackupInfo info{.created = Timestamp(now).to_string(), .program = PortholeVersion};
    TRY(info.cluster, pki.ca_hash());
    TRY(auto writer, store::BackupWriter::create(file.string()));
    TRY(info.revision, store::read_embedded_store(data.store().string(), [&](const store::Row& row) { return writer.add(row); }));
    TRY_VOID(writer.finish(info));
    return info;
}

/// Into `data`, whose folder is made here.
Result<Restored> restore_into(const DataDir& data, const fs::path& file, const fs::path& keys_file) {
    TRY(const Value keys, parse_keys(keys_file));
    std::error_code error;
    fs::create_directories(data.pki(), error);
    if (!error) fs::permissions(data.root(), fs::perms::owner_all, error);
    if (!error) fs::permissions(data.pki(), fs::perms::owner_all, error);
    if (error) return io_error("making", data.pki(), error.message());
    TRY_VOID(write_keys(data, keys));

    Restored restored;
    {
        TRY(const auto engine, open_store(data));
        TRY(restored.info, store::restore_backup(file.string(), *engine));
    }
    TRY(const auto again, open_store(data));
    TRY_VOID(store::verify_restored(*again, restored.info));
    TRY(const node_join::Pki pki, node_join::Pki::load(data.pki()));
    TRY(const std::string cluster, pki.ca_hash());
    if (cluster != restored.info.cluster || cluster != keys.string_at({"cluster"}))
        return Error(Reason::Conflict, keys_file.string() + " has the keys of another cluster than " + file.string());
    if (path_exists(data.state_file())) {
        TRY(Cluster known, Cluster::load(data));
        restored.options = known.options;
        TRY_VOID(Cluster{.options = std::move(known.options)}.save(data));  // its processes were another machine's
    }
    return restored;
}

}  // namespace

fs::path keys_file_of(const fs::path& file) { return file.string() + ".keys"; }

Result<Backup> back_up(const DataDir& data, const fs::path& file, SystemTime now) {
    const fs::path keys = keys_file_of(file);
    TRY_VOID(refuse_existing(file));
    TRY_VOID(refuse_existing(keys));
    if (!path_exists(data.pki()))
        return Error(Reason::NotFound, "there is no control plane in " + data.root().string() + ": name its data directory with --data");
    Scratch written(unfinished(file)), written_keys(unfinished(keys)), scratch(file.string() + ".verification");
    std::error_code error;
    for (const fs::path& left : {written.path(), written_keys.path(), scratch.path()}) fs::remove_all(left, error);

    TRY(const std::string secrets, read_keys(data));
    TRY_VOID(write_durably(written_keys.path(), secrets));
    Backup backup{.has_encryption_key = path_exists(data.encryption_file())};
    TRY(backup.info, write_objects(data, written.path(), now));
    TRY(const std::string secrets_then, read_keys(data));
    if (secrets_then != secrets)  // or the objects could be of a key that is not among them
        return Error(Reason::Conflict, "keys or configuration in " + data.root().string() + " changed meanwhile: run this again");
    TRY_VOID(restore_into(DataDir(scratch.path()), written.path(), written_keys.path()));
    backup.bytes = fs::file_size(written.path(), error);
    TRY_VOID(move_durably(written_keys.path(), keys));
    if (const auto moved = move_durably(written.path(), file); !moved) {
        fs::remove(keys, error);
        return moved.error();
    }
    return backup;
}

Result<Restored> restore(const DataDir& data, const fs::path& file, const fs::path& keys) {
    std::error_code error;
    if (path_exists(data.root()) && !fs::is_empty(data.root(), error))
        return Error(Reason::AlreadyExists,
                     data.root().string() + " is not empty: choose another --data, or end the cluster there with `porthole down --purge" +
                         data.flag() + "`");
    const fs::path root = fs::absolute(data.root());
    Scratch made(unfinished(root));
    fs::remove_all(made.path(), error);
    TRY(Restored restored, restore_into(DataDir(made.path()), file, keys));
    TRY_VOID(move_durably(made.path(), root));
    made.keep();
    return restored;
}

}  // namespace porthole::local_cluster
