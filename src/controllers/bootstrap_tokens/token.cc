#include "controllers/bootstrap_tokens/token.h"

namespace porthole::controllers {

using api::core::v1::Secret;

namespace {

constexpr const char* TokenNamespace = "kube-system";
constexpr const char* Type = "bootstrap.kubernetes.io/token";
constexpr const char* NamePrefix = "bootstrap-token-";

std::string datum(const Secret& secret, const char* key) {
    const auto found = secret.data.find(key);
    return found == secret.data.end() ? "" : found->second;
}

}  // namespace

std::optional<BootstrapToken> read_bootstrap_token(const Secret& secret) {
    BootstrapToken token{.id = datum(secret, "token-id"),
                         .secret = datum(secret, "token-secret"),
                         .may_sign = datum(secret, "usage-bootstrap-signing") == "true",
                         .expires = {}};
    if (secret.type != Type || token.id.empty() || token.secret.empty() || secret.metadata.name != NamePrefix + token.id)
        return std::nullopt;
    if (const std::string text = datum(secret, "expiration"); !text.empty()) {
        const auto time = Timestamp::parse(text);
        if (!time) return std::nullopt;
        token.expires = time->to_system_time();
    }
    return token;
}

client::Informer<Secret>& bootstrap_token_secrets(client::Informers& informers) {
    return informers.get<Secret>({.namespace_ = TokenNamespace, .field_selector = std::string("type=") + Type});
}

}  // namespace porthole::controllers
