#include "cmd/server/store_location.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "local_cluster/state/store_mark.h"
#include "runtime/files/durable_file.h"

namespace porthole::cmd {
namespace {

using local_cluster::DataDir;

constexpr const char* FirstObject = "_porthole0";  // after the keys of Porthole itself, below /_porthole/

std::string_view without_slash(std::string_view prefix) {
    while (prefix.ends_with('/')) prefix.remove_suffix(1);
    return prefix;
}

std::string record_of(const EtcdFlags& flags) { return join(flags.servers, ",") + ", " + flags.prefix + "\n"; }

/// Of a record "https://10.0.0.1:2379,https://10.0.0.2:2379, /registry"; URLs have no spaces.
std::string_view prefix_of(std::string_view record) {
    const std::size_t space = record.find(' ');
    return without_slash(space == record.npos ? record : record.substr(space + 1));
}

/// Whether the cluster has no keys from `first` on.
Task<bool> is_empty(RealWorld& world, EtcdAccess access, std::string first = "") {
    store::etcd::Client client(world.loop, std::move(access.members));
    const auto found =
        co_await client.range({.key = access.prefix + "/" + first, .range_end = access.prefix + "0", .limit = 1, .keys_only = true});
    CO_TRY_VOID(co_await client.close());
    if (!found) co_return explain_etcd_error(found.error());
    co_return found->kvs.empty();
}

}  // namespace

Result<void> check_not_in_etcd(const DataDir& data) {
    const std::filesystem::path record = data.store_location();
    if (!path_exists(record)) return {};
    TRY(const std::string where, read_file(record));
    return Error(Reason::Conflict, "the objects of the cluster in " + data.root().string() + " are in etcd (" + std::string(trim(where)) +
                                       "): give the --etcd flags, or move them with `porthole store migrate --to data-dir`. To go on "
                                       "without them, remove " +
                                       record.string());
}

Result<void> check_known_location(const DataDir& data, const EtcdFlags& flags) {
    if (flags.servers.empty()) {
        TRY_VOID(check_not_in_etcd(data));
        return local_cluster::check_expected_store(data, "remove " + data.store_mark().string());
    }
    const std::filesystem::path record = data.store_location();
    if (!path_exists(record)) {
        if (!path_exists(data.store() / "store.db")) return {};
        return Error(Reason::Conflict, "the objects of the cluster are in " + data.store().string() +
                                           ", not in an etcd: leave the --etcd flags out, or move the objects with `porthole store migrate "
                                           "--to etcd" +
                                           data.flag() + "`. To use what is in etcd instead, move " + data.store().string() + " away");
    }
    TRY(const std::string text, read_file(record));
    const std::string_view where = trim(text), known = prefix_of(where), given = without_slash(flags.prefix);
    if (known == given) return {};
    return Error(Reason::Conflict, fmt::format("the objects of the cluster in {} are in etcd ({}), not below {}: give --etcd-prefix {}. To "
                                               "use what is below {} instead, remove {}",
                                               data.root().string(), where, given, known, given, record.string()));
}

Task<> check_store_location(RealWorld& world, DataDir data, EtcdFlags flags) {
    CO_TRY_VOID(check_known_location(data, flags));
    if (flags.servers.empty() || !path_exists(data.store_location())) co_return {};
    CO_TRY(EtcdAccess access, etcd_access(world, flags));
    const std::string prefix = access.prefix;
    CO_TRY(const bool empty, co_await is_empty(world, std::move(access)));
    if (!empty) co_return {};
    CO_TRY(const std::string where, read_file(data.store_location()));
    co_return Error(Reason::Conflict, "the objects of the cluster are in etcd (" + std::string(trim(where)) +
                                          "), and the etcd of the flags has nothing below " + prefix +
                                          ": correct the --etcd flags, or restore a backup there. To begin an empty cluster, remove " +
                                          data.store_location().string());
}

Task<> check_encryption_is_known(RealWorld& world, DataDir data, EtcdFlags flags, bool known) {
    if (flags.servers.empty() || known || path_exists(data.encryption_file())) co_return {};
    CO_TRY(EtcdAccess access, etcd_access(world, flags));
    const std::string prefix = access.prefix;
    CO_TRY(const bool empty, co_await is_empty(world, std::move(access), FirstObject));
    if (empty) co_return {};
    co_return Error(Reason::Conflict,
                    "etcd has objects below " + prefix +
                        ", and it is not known how to encrypt them: give --encryption-provider-config with the file of the "
                        "control plane that stored them, or with one whose only provider is identity if it had none. Another "
                        "server of Porthole needs --server-token-file, or the first one's encryption.yaml in " +
                        data.root().string());
}

Result<std::string> required_authorities(const DataDir& data, const EtcdFlags& flags) {
    const std::filesystem::path authorities = data.pki() / "ca.crt";
    if (flags.servers.empty() || !path_exists(authorities)) return std::string();
    const auto noted = read_file(data.store_location());
    return noted && *noted == record_of(flags) ? std::string() : read_file(authorities);
}

Result<void> note_store_location(const DataDir& data, const EtcdFlags& flags) {
    const std::filesystem::path record = data.store_location();
    if (flags.servers.empty()) {
        TRY_VOID(local_cluster::expect_store(data));
        std::error_code error;
        std::filesystem::remove(record, error);
        return error ? Result<void>(Error(Reason::Io, "cannot remove " + record.string() + ": " + error.message())) : Result<void>();
    }
    const std::string text = record_of(flags);
    const auto present = read_file(record);
    if (!present || *present != text) TRY_VOID(write_durably(record, text));
    return local_cluster::expect_no_store(data);  // the last: while both are there, the record decides
}

}  // namespace porthole::cmd
