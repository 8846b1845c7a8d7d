#pragma once
#include <optional>
#include <string>

#include "api/core_v1.h"
#include "client/informers/informer.h"

namespace porthole::controllers {

/// A bootstrap token as stored in a Secret `kube-system/bootstrap-token-<id>`.
struct BootstrapToken {
    std::string id, secret;
    bool may_sign = false;
    std::optional<SystemTime> expires;  ///< never, when empty
};
/// nullopt for a Secret that is not a well-formed token: of another type, misnamed, or with an expiry that cannot be parsed.
std::optional<BootstrapToken> read_bootstrap_token(const api::core::v1::Secret& secret);

/// The Secrets that may be tokens.
client::Informer<api::core::v1::Secret>& bootstrap_token_secrets(client::Informers& informers);

}  // namespace porthole::controllers
