#include "node_join/bootstrap_token.h"

#include "api/core_v1.h"
#include "base/result.h"
#include "base/time/time.h"
#include "runtime/random.h"

namespace porthole::node_join {
namespace {

constexpr Duration JoinLimit = std::chrono::minutes(5);  // a join that takes as long has failed

}  // namespace

Task<std::string> create_bootstrap_token(client::Client& client, std::optional<SystemTime> expires, std::string description) {
    constexpr const char* Alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
    SystemRandom random;
    const std::string id = random.pick(6, Alphabet), key = random.pick(16, Alphabet);
    api::core::v1::Secret secret;
    secret.metadata.name = BootstrapTokenPrefix + id;
    secret.metadata.namespace_ = BootstrapTokenNamespace;
    secret.type = "bootstrap.kubernetes.io/token";
    secret.data = {{"token-id", id},
                   {"token-secret", key},
                   {"usage-bootstrap-authentication", "true"},
                   {"usage-bootstrap-signing", "true"},
                   {"auth-extra-groups", "system:bootstrappers:porthole:default-node-token"}};
    if (!description.empty()) secret.data["description"] = std::move(description);
    if (expires) secret.data["expiration"] = Timestamp(*expires).to_string();
    CO_TRY_VOID(co_await client.create(std::move(secret)));
    co_return id + "." + key;
}

Task<> remove_bootstrap_token(client::Client& client, std::string token) {
    const std::string id = token.substr(0, token.find('.'));
    CO_TRY_VOID(co_await client.remove<api::core::v1::Secret>({BootstrapTokenNamespace, BootstrapTokenPrefix + id}));
    co_return {};
}

Task<> join_by_token(EventLoop& loop, client::Client& client, std::string node, Logger log, std::function<Task<>(std::string token)> join) {
    CO_TRY(const std::string token, co_await create_bootstrap_token(client, loop.wall_now() + JoinLimit, "join of " + node));
    auto joined = co_await join(token);
    if (is_cancelled(joined)) co_return joined;
    const auto removed = co_await remove_bootstrap_token(client, token);
    if (!removed && removed.error().reason != Reason::NotFound)
        log.warn("the token of a join is left until it expires", {{"node", node}, {"error", removed.error().message}});
    co_return joined;
}

}  // namespace porthole::node_join
