#pragma once
#include "apiserver/authentication/service_account_tokens.h"
#include "net/x509.h"

namespace porthole::apiserver {

/// Signs tokens with ES256; the key's id is the base64url of the SHA-256 of its public half. Requires a P-256 key.
TokenKey es256_token_key(net::PrivateKey key);

}  // namespace porthole::apiserver
