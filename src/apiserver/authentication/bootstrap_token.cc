#include <algorithm>
#include <sstream>

#include "api/core_v1.h"
#include "apiserver/authentication/service_account_tokens.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Secret;

constexpr std::size_t IdLength = 6, SecretLength = 16;

bool is_token_text(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

std::string datum(const Secret& secret, const char* key) {
    const auto found = secret.data.find(key);
    return found == secret.data.end() ? "" : found->second;
}

/// Takes the same time wherever the difference is.
bool same_secret(std::string_view a, std::string_view b) {
    unsigned difference = a.size() != b.size();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
    return difference == 0;
}

}  // namespace

Task<std::optional<User>> BootstrapTokenAuthenticator::authenticate(const net::HttpRequest& request) {
    const std::string token = bearer_token(request);
    if (token.size() != IdLength + 1 + SecretLength || token[IdLength] != '.') co_return std::optional<User>();
    const std::string id = token.substr(0, IdLength), secret_part = token.substr(IdLength + 1);
    if (!is_token_text(id) || !is_token_text(secret_part)) co_return std::optional<User>();

    CO_TRY(const auto secret, reader_.find<Secret>("kube-system", "bootstrap-token-" + id));
    const bool valid = secret && !secret->metadata.deletion_timestamp && secret->type == "bootstrap.kubernetes.io/token" &&
                       datum(*secret, "token-id") == id && same_secret(datum(*secret, "token-secret"), secret_part) &&
                       datum(*secret, "usage-bootstrap-authentication") == "true";
    if (!valid) co_return Error(Reason::Unauthorized, "invalid bearer token");
    if (const std::string expiration = datum(*secret, "expiration"); !expiration.empty()) {
        const auto until = Timestamp::parse(expiration);
        if (!until || until->to_system_time() <= clock_.wall_now())
            co_return Error(Reason::Unauthorized, "the bootstrap token has expired");
    }
    User user{.name = "system:bootstrap:" + id, .groups = {"system:bootstrappers"}};
    std::istringstream groups(datum(*secret, "auth-extra-groups"));
    for (std::string group; std::getline(groups, group, ',');) {
        if (group.starts_with("system:bootstrappers:")) user.groups.push_back(group);
    }
    co_return std::optional(std::move(user));
}

}  // namespace porthole::apiserver
