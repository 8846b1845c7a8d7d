#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/authentication/jwt_issuer.h"
#include "apiserver/authentication/request_header.h"
#include "apiserver/authentication/token_webhook.h"

namespace porthole::apiserver {

/// Everything about authentication that an administrator chooses.
struct AuthenticationOptions {
    AnonymousPolicy anonymous;
    std::vector<JwtIssuer> issuers;
    std::optional<TokenWebhookOptions> webhook;
    RequestHeaderOptions request_header;
};

/// The content of --authentication-config.
struct AuthenticationFile {
    std::optional<AnonymousPolicy> anonymous;  ///< nullopt leaves it to --anonymous-auth
    std::vector<JwtIssuer> issuers;
};
/// An AuthenticationConfiguration of apiserver.config.k8s.io/v1 (or v1beta1). `own_issuers` are those of service accounts' tokens, which no
/// other issuer may be. Error: BadRequest with all errors, after `source`.
Result<AuthenticationFile> parse_authentication_config(std::string_view text, std::string_view source,
                                                       const std::vector<std::string>& own_issuers);

/// The flags from before there was a file: --oidc-issuer-url and its like.
struct OidcFlags {
    std::string issuer_url, client_id, ca_pem, username_claim = "sub", username_prefix, groups_claim, groups_prefix;
    std::vector<std::string> signing_algorithms{"RS256"};
    std::map<std::string, std::string> required_claims;
};
/// Error: BadRequest with upstream's message.
Result<JwtIssuer> issuer_of_flags(const OidcFlags& flags, const std::vector<std::string>& own_issuers);

}  // namespace porthole::apiserver
