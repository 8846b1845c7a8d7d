#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "node_join/shared_secrets/shared_secrets.h"
#include "runtime/event_loop.h"
#include "runtime/worker_pool.h"
#include "store/etcd/client.h"

namespace porthole::node_join {

/// How servers that share an etcd agree on their SharedSecrets: these are in one key there, sealed with a token that all servers are
/// started with. The first server creates the key, by a transaction that does nothing where it exists; the others take what it says. Each
/// has them as files of its data directory, as a server of its own has.
///
/// Files that `porthole certs` changes on one machine reach the others: a server whose files are not those of the last agreement replaces
/// the key, where no other server has done so since. Anyone who has new ones, from here or from etcd, accepts what they have signed at
/// once, and signs with them once the others have had the time to take them up. Where two machines change them at a time, the first one's
/// are kept.
///
/// Lives on `loop`. What it refers to outlives it.
class SecretsAgreement {
public:
    struct Seams {
        EventLoop& loop;
        WorkerPool& pool;
        Logger log;
    };
    struct Options {
        std::string etcd_prefix = "/registry";  ///< without a slash at its end
        std::filesystem::path data;
        std::string token;              ///< "": this server shares nothing
        SharedSecrets::Texts settings;  ///< that must be the same on every server
        bool local_key = true;          ///< secrets are encrypted with encryption.yaml of the data directory
        std::string new_encryption;     ///< that file, should a new cluster need one; "" without local_key
        /// The data directory never had any: where it has authorities without that file, a first start was cut off, and nothing is
        /// encrypted that a new file could not read.
        bool no_objects = false;
        /// Of a text of that file, before it is put into etcd or taken from there. Empty: all are good.
        std::function<Result<void>(const std::string&)> check_encryption;
    };
    /// In which all others have taken up what is in etcd: each looks more often than every 10 s.
    static constexpr Duration OthersFollow = std::chrono::seconds(20);

    SecretsAgreement(Seams seams, std::unique_ptr<store::etcd::Client> client, Options options);

    /// What may be done with the secrets in the data directory.
    enum class Use {
        None,    ///< nothing yet: other servers do not have them
        Accept,  ///< what they have signed is to be accepted, but nothing signed with them
        Sign,
    };

    /// Before anything of the data directory is used, which can be signed with then. After an error nothing has been written. Errors:
    /// Forbidden for another token; Conflict for a data directory or settings of another cluster, a newer version, a token that is missing,
    /// or a data directory that is missing while the cluster has objects; those of files and of etcd. All say what to do.
    Task<> agree();
    /// One look at what has changed, here or in etcd. Requires: agree().
    Task<Use> look();
    Task<> close() { return client_->close(); }

private:
    struct Stored {
        SharedSecrets secrets;
        std::int64_t mod_revision = 0;
    };
    struct Found {
        std::optional<store::etcd::KeyValue> sealed;
        bool has_cluster = false;      ///< a server has written here
        std::int64_t fresh_lease = 0;  ///< that of a change which not all servers may have; 0: there was none
    };
    Task<Found> find();
    Task<Stored> open(store::etcd::KeyValue sealed);
    /// What this server would begin with. `fresh`: made just now.
    Result<SharedSecrets> own(bool has_cluster) const;
    /// Puts `secrets` into etcd where the key is still at `expected` (0: absent). Yields what is there then.
    Task<Stored> put(SharedSecrets secrets, std::int64_t expected);
    Result<void> check_settings(const SharedSecrets& stored) const;
    /// That the data directory, with `files`, is of the stored cluster. Error: Conflict.
    Result<void> check_cluster(const SharedSecrets& stored, const SharedSecrets& files, const std::optional<SharedMark>& mark) const;
    /// That encryption.yaml of `secrets`, which are `where`, can be used. Error: Conflict.
    Result<void> check_encryption(const SharedSecrets& secrets, const std::string& where) const;
    /// The files of the data directory; nullopt where those of `stored` are to be taken. Errors: Io; Conflict for what is of another
    /// cluster or is being changed.
    Result<std::optional<SharedSecrets>> read_files(const SharedSecrets& stored, const std::optional<SharedMark>& mark) const;
    /// Makes the data directory like `stored`, or etcd like the data directory where only that has changed. True: etcd has been changed.
    Task<bool> settle(Stored stored);
    /// That `stored` is not older than what the data directory has had. Error: Conflict.
    Result<void> check_generation(const SharedSecrets& stored, const std::optional<SharedMark>& mark) const;
    Result<void> take(const SharedSecrets& stored) const;
    Task<> look_at_etcd();
    void warn_once(const Error& error);

    const Seams seams_;
    const std::unique_ptr<store::etcd::Client> client_;
    const Options options_;
    const std::string key_;
    Stored stored_;  ///< as last opened
    MonotonicTime hold_until_{};
    std::string warned_;
};

}  // namespace porthole::node_join
