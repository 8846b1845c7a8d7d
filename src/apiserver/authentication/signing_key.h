#pragma once
#include "apiserver/authentication/service_account_tokens.h"
#include "net/tls/crypto.h"

namespace porthole::apiserver {

/// Signs tokens with ES256 or RS256, depending on the key's type. Requires a private key.
TokenKey make_token_key(net::JwsKey key);

}  // namespace porthole::apiserver
