#include <cstdio>

#include "api/core_v1.h"
#include "apiserver/encryption/local_key.h"
#include "base/result.h"
#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/state/data_dir.h"
#include "node_join/shared_secrets/secrets_agreement.h"
#include "runtime/files/file_lock.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

using namespace std::chrono_literals;
using api::core::v1::Secret;
using apiserver::LocalKeyFile;

constexpr Duration TakeUpLimit = 30s;         ///< for the server to use a changed file
constexpr Duration SharedTakeUpLimit = 2min;  ///< the same, after the other servers have it
constexpr int Rounds = 5;                     ///< of writing what is stale; secrets that are made meanwhile need none

/// Two rotations at a time could drop each other's key.
Result<FileLock> lock_rotation(const std::filesystem::path& file) {
    TRY(auto lock, FileLock::try_take(file.string() + ".lock"));
    if (!lock) return Error(Reason::Conflict, "the key is being rotated by another process");
    return *std::move(lock);
}

/// The text after `name` in the server's metrics, up to the end of the line; "" when there is none.
Task<std::string> metric(AdminClient& admin, std::string name) {
    CO_TRY(const net::Bytes text, co_await admin.client.get_raw("/metrics"));
    const std::size_t at = text->find("\n" + name);
    if (at == std::string::npos) co_return std::string();
    const std::size_t begin = at + 1 + name.size();
    co_return text->substr(begin, text->find('\n', begin) - begin);
}

Task<> wait_until_used(EventLoop& loop, AdminClient& admin, const LocalKeyFile& file, Duration limit) {
    CO_TRY(const std::string hash, file.hash());
    const MonotonicTime deadline = loop.now() + limit;
    for (;;) {
        CO_TRY(const std::string used, co_await metric(admin, "apiserver_encryption_config_controller_last_config_info"));
        if (used.contains(hash)) co_return {};
        if (loop.now() > deadline)
            co_return Error(Reason::Timeout,
                            "the server does not use " + file.path().string() +
                                ": it has another --encryption-provider-config, or belongs to another cluster; see its log");
        CO_TRY_VOID(co_await loop.sleep(200ms));
    }
}

/// Writes every secret as it is. One that has gone meanwhile, or was written by others, needs it no longer.
Task<std::size_t> write_all(AdminClient& admin) {
    CO_TRY(const auto secrets, co_await admin.client.list<Secret>());
    for (const Secret& secret : secrets.items) {
        const std::string path = "/api/v1/namespaces/" + secret.metadata.namespace_ + "/secrets/" + secret.metadata.name;
        const auto written = co_await admin.client.patch_raw(path, client::PatchType::Merge, "{}");
        if (!written && !is_not_found(written)) co_return Error(written.error()).with_context("writing " + path);
    }
    co_return secrets.items.size();
}

/// Each step may be the last one of a process that dies: the next rotation goes on from what the file says. Of servers that share the file,
/// each reads a new key before one writes with it, and the one that is asked may be the first to write.
Task<> rotate(EventLoop& loop, AdminClient& admin, const LocalKeyFile& file, bool shared) {
    const Duration limit = shared ? SharedTakeUpLimit : TakeUpLimit;
    CO_TRY(std::vector<std::string> names, file.key_names());
    CO_TRY_VOID(co_await wait_until_used(loop, admin, file, limit));
    if (names.size() == 1) {
        CO_TRY_VOID(file.add_key());
        CO_TRY(names, file.key_names());
        if (shared) std::puts("a new key has been made; it takes about a minute until all servers have it");
        CO_TRY_VOID(co_await wait_until_used(loop, admin, file, limit));
        if (shared) CO_TRY_VOID(co_await loop.sleep(node_join::SecretsAgreement::OthersFollow));
        std::printf("the new key %s encrypts from now on\n", names.front().c_str());
    } else {
        std::printf("continuing the rotation to the key %s\n", names.front().c_str());
        if (shared) CO_TRY_VOID(co_await loop.sleep(node_join::SecretsAgreement::OthersFollow));
    }
    std::size_t count = 0;
    for (int round = 1;; ++round) {
        CO_TRY(count, co_await write_all(admin));
        CO_TRY(const std::string stale, co_await metric(admin, "porthole_storage_stale_values "));
        if (stale == "0") break;
        if (round == Rounds)
            co_return Error(Reason::Timeout, "after " + std::to_string(Rounds) + " rounds " + stale +
                                                 " values are still encrypted with an old key, which is kept: run this again");
        CO_TRY_VOID(co_await loop.sleep(1s));  // an etcd may not have answered to all that was sent with the old key
    }
    std::printf(count == 1 ? "%zu secret is encrypted with it\n" : "%zu secrets are encrypted with it\n", count);
    CO_TRY_VOID(file.drop_old_keys());
    CO_TRY_VOID(co_await wait_until_used(loop, admin, file, limit));
    std::puts("the old key has been removed");
    co_return {};
}

}  // namespace

int run_secrets(std::vector<std::string> arguments) {
    std::string data = default_data_dir();
    CLI::App app("Manage the encryption of secrets on disk, for the cluster whose control plane is on this machine.", "secrets");
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("--data", data, "data directory of the cluster")->capture_default_str();
    CLI::App* rotate_command = app.add_subcommand("rotate", "encrypt all secrets with a new key, and remove the old one");
    rotate_command->footer(
        "The cluster must be running. The key is in encryption.yaml in the data directory. To continue an interrupted rotation, run the\n"
        "command again; until it has ended, the file has both keys, and secrets can be read. Secrets that were stored before there was a\n"
        "key are encrypted too. Where several servers share the key, run it on one of their machines; it takes about two minutes.");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    const LocalKeyFile file(DataDir(data).encryption_file());
    std::error_code error;
    if (!std::filesystem::exists(DataDir(data).pki(), error))
        return fail("no control plane in " + DataDir(data).root().string() + ": name its data directory with --data");
    if (!std::filesystem::exists(file.path(), error))
        return fail("there is no " + file.path().string() +
                    ": if the server has --encryption-provider-config, its keys are in the file of that flag; docs/guide/records.md "
                    "describes how to replace one");
    const auto shared = node_join::read_shared_mark(DataDir(data).root());
    if (!shared) return fail(shared.error().message);
    const auto lock = lock_rotation(file.path());
    if (!lock) return fail(lock.error().message);
    RealWorld world;
    const auto admin = connect_as_admin(world.loop, "", data);
    if (!admin) return fail(admin.error().message);
    const auto done = world.run(rotate(world.loop, **admin, file, shared->has_value()));
    return done ? 0 : fail(done.error().message);
}

}  // namespace porthole::cmd
