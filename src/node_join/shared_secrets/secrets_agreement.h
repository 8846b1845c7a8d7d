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

/// Makes servers that share an etcd agree on their SharedSecrets: these are stored in one key there, sealed with a token that all servers
/// are started with. The first server creates the key, by a transaction that has no effect if it exists; the others use its content. Each
/// server has them as files of its data directory, like a stand-alone server.
///
/// Changes of these files by `porthole certs` on one machine reach the others: a server whose files differ from the last agreement replaces
/// the key, unless another server has done so since. A server with new secrets, from its files or from etcd, accepts what they have signed
/// immediately, and signs and encrypts with them once the others have had time to follow. If two machines change them concurrently, the
/// first change is kept.
///
/// Lives on `loop`. References outlive it.
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
        std::string token;  ///< "": this server shares nothing
        /// The token that is wanted now: where it has changed, the secrets are sealed with it. Empty: it does not change.
        std::function<Result<std::string>()> read_token;
        SharedSecrets::Texts settings;  ///< that must be the same on every server
        bool local_key = true;          ///< secrets are encrypted with encryption.yaml of the data directory
        std::string new_encryption;     ///< that file, should a new cluster need one; "" without local_key
        /// The data directory never had objects: if it has authorities without that file, a first start was interrupted, and no data are
        /// encrypted that a new file could not decrypt.
        bool no_objects = false;
        /// Checks a text of that file, before it is written to etcd or taken from there. Empty: all are valid.
        std::function<Result<void>(const std::string&)> check_encryption;
    };
    /// The time within which all others follow a change in etcd: each checks more often than every 10 s.
    static constexpr Duration OthersFollow = std::chrono::seconds(20);

    SecretsAgreement(Seams seams, std::unique_ptr<store::etcd::Client> client, Options options);

    /// How the secrets in the data directory may be used.
    enum class Use {
        None,    ///< not yet: other servers do not have them
        Accept,  ///< accept what they have signed, but do not sign with them
        Sign,
    };

    /// Called before anything of the data directory is used; afterwards it can be used for signing. After an error nothing has been
    /// written. Errors: Forbidden for another token; Conflict for a data directory or settings of another cluster, a newer version, a
    /// missing token, or a missing data directory while the cluster has objects; those of files and of etcd. All have a remedy.
    Task<> agree();
    /// One check for changes, in the files or in etcd. Requires: agree().
    Task<Use> look();
    /// encryption.yaml as all servers have it: what is encrypted by it can be read by each of them. "" until all have had time to follow
    /// the last change.
    std::string agreed_encryption() const;
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
    Task<Stored> open(store::etcd::KeyValue sealed, std::string token);
    /// This server's initial secrets. `fresh`: just created.
    Result<SharedSecrets> own(bool has_cluster) const;
    /// Writes `secrets` to etcd if the key is still at `expected` (0: absent). Returns the content afterwards.
    Task<Stored> put(SharedSecrets secrets, std::int64_t expected, std::string token);
    Result<void> check_settings(const SharedSecrets& stored) const;
    /// That the data directory, with `files`, is of the stored cluster. Error: Conflict.
    Result<void> check_cluster(const SharedSecrets& stored, const SharedSecrets& files, const std::optional<SharedMark>& mark) const;
    /// That encryption.yaml of `secrets`, which are `where`, can be used. Error: Conflict.
    Result<void> check_encryption(const SharedSecrets& secrets, const std::string& where) const;
    /// The files of the data directory; nullopt if those of `stored` are to be used. Errors: Io; Conflict if they belong to another cluster
    /// or are being changed.
    Result<std::optional<SharedSecrets>> read_files(const SharedSecrets& stored, const std::optional<SharedMark>& mark) const;
    /// Makes the data directory equal to `stored`, or etcd equal to the data directory if only that has changed. True: etcd has been
    /// changed.
    Task<bool> settle(Stored stored);
    /// Checks that `stored` is not older than what the data directory has had. Error: Conflict.
    Result<void> check_generation(const SharedSecrets& stored, const std::optional<SharedMark>& mark) const;
    Result<void> take(const SharedSecrets& stored) const;
    Task<> look_at_etcd();
    /// Seals what is agreed on with another token.
    Task<> change_token(std::string token);
    void warn_once(const Error& error);

    const Seams seams_;
    const std::unique_ptr<store::etcd::Client> client_;
    const Options options_;
    const std::string key_;
    std::string token_;
    Stored stored_;  ///< as last opened
    MonotonicTime hold_until_{};
    std::string warned_;
};

}  // namespace porthole::node_join
