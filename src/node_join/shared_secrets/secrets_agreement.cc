#include "node_join/shared_secrets/secrets_agreement.h"

#include <algorithm>

#include "net/tls/password_seal.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki_files.h"

namespace porthole::node_join {
namespace {

using namespace store::etcd;

constexpr const char* Key = "/_porthole/shared-secrets";
/// Is there for OthersFollow after a change, by a lease: etcd's clock is the same for all servers.
constexpr const char* FreshKey = "/_porthole/shared-secrets-fresh";
/// Where data of Porthole's are, below the prefix. Of most clusters the first range has nothing; each has roles in the second one from its
/// first start on, and no cluster that only another control plane has served.
constexpr std::pair<const char*, const char*> OwnRanges[] = {{"/_porthole/", "/_porthole0"},
                                                             {"/clusterrolebindings/porthole:", "/clusterrolebindings/porthole;"}};

SharedMark mark_of(const SharedSecrets& secrets) {
    return {.cluster = secrets.cluster, .digest = secrets.digest(), .generation = secrets.generation};
}

Error explained(Error error, const std::string& key) {
    if (error.reason == Reason::Forbidden)
        return Error(Reason::Forbidden,
                     "the token of --server-token-file is not the one with which the servers of this cluster share "
                     "their secrets (" +
                         key + " in etcd): give every server the same file");
    if (error.reason == Reason::Conflict)
        return Error(Reason::Conflict, key + " in etcd: " + error.message + ": start that version on this machine, too");
    return std::move(error).with_context(key + " in etcd");
}

}  // namespace

SecretsAgreement::SecretsAgreement(Seams seams, std::unique_ptr<Client> client, Options options)
    : seams_(std::move(seams)),
      client_(std::move(client)),
      options_(std::move(options)),
      key_(options_.etcd_prefix + Key),
      token_(options_.token) {}

Task<SecretsAgreement::Found> SecretsAgreement::find() {
    // In one transaction: a first start that comes in between would be taken for a cluster without shared secrets.
    TxnRequest request{
        .success = {{.request_range = RangeRequest{.key = key_}}, {.request_range = RangeRequest{.key = options_.etcd_prefix + FreshKey}}}};
    for (const auto& [begin, end] : OwnRanges)
        request.success.push_back(
            {.request_range = RangeRequest{
                 .key = options_.etcd_prefix + begin, .range_end = options_.etcd_prefix + end, .limit = 1, .keys_only = true}});
    const std::size_t asked = request.success.size();
    CO_TRY(const TxnResponse answer, co_await client_->txn(std::move(request)));
    const bool whole = answer.responses.size() == asked &&
                       std::ranges::all_of(answer.responses, [](const ResponseOp& one) { return one.response_range.has_value(); });
    if (!whole) co_return Error(Reason::InternalError, "etcd's answer does not match the request");
    const auto kvs = [&answer](std::size_t at) -> const std::vector<KeyValue>& { return answer.responses[at].response_range->kvs; };
    Found found;
    if (!kvs(0).empty()) found.sealed = kvs(0).front();
    if (!kvs(1).empty()) found.fresh_lease = kvs(1).front().lease;
    found.has_cluster = !kvs(2).empty() || !kvs(3).empty();
    co_return found;
}

Task<SecretsAgreement::Stored> SecretsAgreement::open(KeyValue sealed, std::string token) {
    auto opened = co_await run_blocking<std::string>(seams_.pool, [&] { return net::open_with_password(token, sealed.value); });
    if (is_cancelled(opened)) co_return opened.error();
    if (!opened) co_return explained(opened.error(), key_);
    auto secrets = SharedSecrets::parse(*opened);
    if (!secrets) co_return explained(secrets.error(), key_);
    co_return Stored{std::move(*secrets), sealed.mod_revision};
}

Result<SharedSecrets> SecretsAgreement::own(bool has_cluster) const {
    const std::string data = options_.data.string();
    TRY(auto files, read_shared_files(options_.data));
    if (!files) {
        if (has_cluster)
            return Error(Reason::Conflict, "etcd has a cluster below " + options_.etcd_prefix +
                                               " whose servers share no secrets yet, and " + data +
                                               " has none of its keys: start the server that has them with --server-token-file first");
        SharedSecrets made = SharedSecrets::make(options_.new_encryption, seams_.loop.wall_now());
        made.settings = options_.settings;
        return made;
    }
    if (options_.local_key && options_.no_objects && !has_cluster) files->files.emplace("encryption.yaml", options_.new_encryption);
    if (options_.local_key && !files->files.contains("encryption.yaml"))
        return Error(Reason::Conflict,
                     data +
                         " has authorities but no encryption.yaml to share: restore it from a backup, or start this server "
                         "once without --server-token-file");
    TRY(const auto mark, read_shared_mark(options_.data));
    files->cluster = mark ? mark->cluster : SharedSecrets::make("", seams_.loop.wall_now()).cluster;
    files->settings = options_.settings;
    if (mark) files->generation = mark->generation + 1;
    TRY_VOID(check_encryption(*files, data));
    return *std::move(files);
}

Task<SecretsAgreement::Stored> SecretsAgreement::put(SharedSecrets secrets, std::int64_t expected, std::string token) {
    CO_TRY(std::string sealed, co_await run_blocking<std::string>(seams_.pool, [&token, text = secrets.text()] {
               return Result<std::string>(net::seal_with_password(token, text));
           }));
    TxnRequest request{.compare = {{.target = Compare::Target::Mod, .key = key_, .mod_revision = expected}},
                       .success = {{.request_put = PutRequest{.key = key_, .value = std::move(sealed)}}},
                       .failure = {{.request_range = RangeRequest{.key = key_}}}};
    if (expected > 0) {  // of a new cluster no server has older ones
        CO_TRY(const LeaseGrantResponse lease,
               co_await client_->grant_lease({.ttl = std::chrono::ceil<std::chrono::seconds>(OthersFollow).count()}));
        request.success.push_back({.request_put = PutRequest{.key = options_.etcd_prefix + FreshKey, .lease = lease.id}});
    }
    request.success.push_back({.request_range = RangeRequest{.key = key_}});
    // It can be repeated: the second one finds what the first has put.
    CO_TRY(const TxnResponse answer, co_await client_->txn(std::move(request)));
    const auto& read = answer.responses.empty() ? std::nullopt : answer.responses.back().response_range;
    if (!read || read->kvs.empty()) co_return Error(Reason::Conflict, key_ + " in etcd has been deleted by another program: try again");
    co_return co_await open(read->kvs.front(), std::move(token));
}

Result<void> SecretsAgreement::check_settings(const SharedSecrets& stored) const {
    for (const auto& [name, value] : options_.settings) {
        const auto theirs = stored.settings.find(name);
        if (theirs != stored.settings.end() && theirs->second != value)
            return Error(Reason::Conflict, name + " is " + value + " here and " + theirs->second +
                                               " on the cluster's other servers: it has to be the same on all of them");
    }
    if (options_.local_key && !stored.files.contains("encryption.yaml"))
        return Error(Reason::Conflict,
                     "the cluster's other servers encrypt by a file of --encryption-provider-config: give this one the same");
    return check_encryption(stored, key_ + " of etcd");
}

Result<void> SecretsAgreement::check_cluster(const SharedSecrets& stored, const SharedSecrets& files,
                                             const std::optional<SharedMark>& mark) const {
    const Error other(Reason::Conflict, options_.data.string() + " has the authorities of another cluster than etcd below " +
                                            options_.etcd_prefix +
                                            ": name another --etcd-prefix, or, for this machine to become a server of "
                                            "that cluster, another --data");
    if (mark) return mark->cluster == stored.cluster ? Result<void>() : other;
    TRY(const auto here, authority_ids(files.files.at("pki/ca.crt")));
    TRY(const auto there, authority_ids(stored.files.at("pki/ca.crt")));
    if (std::ranges::find_first_of(here, there) == here.end()) return other;
    const auto ours = files.files.find("encryption.yaml"), theirs = stored.files.find("encryption.yaml");
    if (ours != files.files.end() && theirs != stored.files.end() && ours->second != theirs->second)
        return Error(Reason::Conflict, "encryption.yaml in " + options_.data.string() +
                                           " is not the one that the cluster's servers share: keep it elsewhere, and remove it there");
    return {};
}

Result<void> SecretsAgreement::check_encryption(const SharedSecrets& secrets, const std::string& where) const {
    const auto found = secrets.files.find("encryption.yaml");
    if (found == secrets.files.end() || !options_.check_encryption) return {};
    const auto checked = options_.check_encryption(found->second);
    return checked ? Result<void>()
                   : Error(Reason::Conflict, "encryption.yaml in " + where + " cannot be shared: " + checked.error().message);
}

Result<std::optional<SharedSecrets>> SecretsAgreement::read_files(const SharedSecrets& stored,
                                                                  const std::optional<SharedMark>& mark) const {
    const bool starting = stored_.mod_revision == 0;
    auto files = read_shared_files(options_.data);
    // take() may have been cut off: by a crash, or by an error, after which the mark is still that of what was before. Else another program
    // may be about to change them.
    const bool cut_off = mark && mark->cluster == stored.cluster && (starting || mark->digest != stored.digest());
    const bool torn = !files && files.error().reason == Reason::Conflict && cut_off;
    if (torn) return std::optional<SharedSecrets>();
    if (!files || !*files) return files;
    TRY_VOID(check_cluster(stored, **files, mark));
    if (!options_.local_key || (*files)->files.contains("encryption.yaml")) return files;
    // Editors rename files: without it, no server would start any more.
    if (!starting) return Error(Reason::Conflict, "encryption.yaml is missing in " + options_.data.string());
    return std::optional<SharedSecrets>();
}

Result<void> SecretsAgreement::check_generation(const SharedSecrets& stored, const std::optional<SharedMark>& mark) const {
    if (!mark || mark->cluster != stored.cluster || stored.generation > mark->generation) return {};
    if (stored.generation == mark->generation) {
        if (stored.digest() == mark->digest) return {};
        return Error(Reason::Conflict, "etcd has other keys than this machine, of the same generation (" +
                                           std::to_string(stored.generation) +
                                           "): servers have gone on from different snapshots of etcd. Stop the servers, delete " + key_ +
                                           " with etcdctl, and start the server whose data directory has the keys to keep first");
    }
    return Error(Reason::Conflict, "etcd has older keys than this machine (generation " + std::to_string(stored.generation) + ", and " +
                                       std::to_string(mark->generation) + " in " + options_.data.string() +
                                       "). Where etcd was restored from a snapshot, stop the servers, delete " + key_ +
                                       " with etcdctl, and start the server with the newest data directory first; else find out who has "
                                       "written to etcd");
}

Result<void> SecretsAgreement::take(const SharedSecrets& stored) const {
    seams_.log.info("the keys in the data directory become those of etcd",
                    {{"directory", options_.data.string()}, {"generation", stored.generation}});
    TRY_VOID(write_shared_files(options_.data, stored));
    return write_shared_mark(options_.data, mark_of(stored));
}

Task<bool> SecretsAgreement::settle(Stored stored) {
    CO_TRY_VOID(check_settings(stored.secrets));
    CO_TRY(const auto mark, read_shared_mark(options_.data));
    CO_TRY_VOID(check_generation(stored.secrets, mark));
    CO_TRY(const auto files, read_files(stored.secrets, mark));
    bool changed = false;
    if (files) {
        const std::string here = files->digest(), there = stored.secrets.digest();
        if (mark && here == there && mark->digest == there && mark->generation == stored.secrets.generation) {
            stored_ = std::move(stored);
            co_return false;
        }
        if (mark && here != there && mark->digest == there) {  // only this machine's have changed
            CO_TRY_VOID(check_encryption(*files, options_.data.string()));
            SharedSecrets fresh = *files;
            fresh.cluster = stored.secrets.cluster;
            fresh.settings = stored.secrets.settings;
            fresh.generation = stored.secrets.generation + 1;
            CO_TRY(stored, co_await put(std::move(fresh), stored.mod_revision, token_));
            changed = true;
            seams_.log.info("the keys in the data directory have changed, and are shared with the other servers");
        }
        if (mark && mark->digest != here && stored.secrets.digest() != here)
            seams_.log.warn("keys were changed here and on another server at the same time: the other server's are used");
    }
    // What another program has written since they were read stays: the next look finds that it is newer.
    const bool same = files && files->files == stored.secrets.files;
    CO_TRY_VOID(same ? write_shared_mark(options_.data, mark_of(stored.secrets)) : take(stored.secrets));
    stored_ = std::move(stored);
    co_return changed;
}

Task<> SecretsAgreement::agree() {
    CO_TRY(Found found, co_await find());
    if (options_.token.empty()) {
        if (found.sealed)
            co_return Error(Reason::Conflict, "the servers of the cluster in etcd below " + options_.etcd_prefix +
                                                  " share their secrets: start this one with their --server-token-file");
        CO_TRY(const bool has_keys, has_file(options_.data / "pki/ca.crt"));
        if (found.has_cluster && !has_keys)  // new ones would be refused, and could not read what is encrypted
            co_return Error(Reason::Conflict, "etcd has a cluster below " + options_.etcd_prefix + ", and " + options_.data.string() +
                                                  " has none of its keys: name the --data of its server, or another --etcd-prefix. "
                                                  "Several servers need a --server-token-file");
        co_return remove_shared_mark(options_.data);
    }
    Stored stored;
    if (found.sealed) {
        CO_TRY(stored, co_await open(std::move(*found.sealed), token_));
    } else {
        CO_TRY(const SharedSecrets made, own(found.has_cluster));
        CO_TRY(stored, co_await put(made, 0, token_));
        // What `porthole certs` has written meanwhile is then newer than what was agreed on, and is shared.
        CO_TRY(const bool has_files, has_file(options_.data / "pki/ca.crt"));
        if (has_files && stored.secrets.cluster == made.cluster) CO_TRY_VOID(write_shared_mark(options_.data, mark_of(stored.secrets)));
    }
    CO_TRY(const bool changed, co_await settle(std::move(stored)));
    // Whoever has changed them: not all of the others may have them yet.
    Duration left = changed ? OthersFollow : Duration::zero();
    if (found.fresh_lease != 0 && !changed) {
        CO_TRY(const LeaseTimeToLiveResponse lease, co_await client_->lease_time_to_live({.id = found.fresh_lease}));
        left = std::clamp<Duration>(std::chrono::seconds(lease.ttl), Duration::zero(), OthersFollow);
    }
    co_return co_await seams_.loop.sleep(left);
}

Task<> SecretsAgreement::look_at_etcd() {
    CO_TRY(const RangeResponse answer, co_await client_->range({.key = key_}));
    if (answer.kvs.empty())
        co_return Error(Reason::NotFound, key_ + " has been deleted from etcd: start this server again, so that it shares its secrets");
    std::string token = token_;
    if (options_.read_token) {
        CO_TRY(token, options_.read_token());
    }
    Stored stored = stored_;
    const bool fresh = answer.kvs.front().mod_revision != stored_.mod_revision;
    if (fresh) {
        auto opened = co_await open(answer.kvs.front(), token);
        if (opened) {
            token_ = token;  // another server has sealed them with it
        } else if (token != token_) {
            opened = co_await open(answer.kvs.front(), token_);
        }
        CO_TRY(stored, std::move(opened));
    }
    CO_TRY(const bool changed, co_await settle(std::move(stored)));
    if (changed || fresh) hold_until_ = seams_.loop.now() + OthersFollow;
    if (token != token_) CO_TRY_VOID(co_await change_token(std::move(token)));
    co_return {};
}

Task<> SecretsAgreement::change_token(std::string token) {
    SharedSecrets secrets = stored_.secrets;
    ++secrets.generation;
    CO_TRY(Stored sealed, co_await put(std::move(secrets), stored_.mod_revision, token));
    CO_TRY_VOID(co_await settle(std::move(sealed)));
    token_ = std::move(token);
    seams_.log.info("the secrets that servers share are sealed with the changed token");
    co_return {};
}

Task<SecretsAgreement::Use> SecretsAgreement::look() {
    if (options_.token.empty()) co_return Use::Sign;
    const auto looked = co_await look_at_etcd();
    if (is_cancelled(looked)) co_return looked.error();
    if (!looked) warn_once(looked.error());
    if (looked) warned_.clear();
    const Use use = seams_.loop.now() >= hold_until_ ? Use::Sign : Use::Accept;
    if (looked) co_return use;
    // What was agreed on can be used while etcd is away; what has changed since cannot.
    const auto files = read_shared_files(options_.data);
    const auto mark = read_shared_mark(options_.data);
    const bool agreed_on = files && *files && mark && *mark && (*files)->digest() == (*mark)->digest;
    co_return agreed_on ? use : Use::None;
}

std::string SecretsAgreement::agreed_encryption() const {
    const auto found = stored_.secrets.files.find("encryption.yaml");
    return found != stored_.secrets.files.end() && seams_.loop.now() >= hold_until_ ? found->second : "";
}

void SecretsAgreement::warn_once(const Error& error) {
    if (error.message == warned_) return;
    warned_ = error.message;
    seams_.log.warn("the secrets that servers share cannot be compared with etcd's", {{"error", error.message}});
}

}  // namespace porthole::node_join
