#pragma once
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/authentication_v1.h"
#include "apiserver/authentication/authenticator.h"
#include "apiserver/storage/object_reader.h"
#include "runtime/random.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The key that signs tokens. The seam keeps cryptography out of this folder.
struct TokenKey {
    std::string algorithm;  ///< as in a JWT header: "ES256"
    std::string id;         ///< base64url of the SHA-256 of the public key
    schema::Value jwk;      ///< the public key for /openid/v1/jwks
    std::function<Result<std::string>(std::string_view bytes)> sign;
    std::function<bool(std::string_view bytes, std::string_view signature)> verify;
};

/// Issues and verifies the tokens of service accounts: JWTs bound to the account and, if requested, to a pod, node or secret.
///
/// A token is valid until it expires, as long as the objects that it is bound to exist with the same uid. Lives on the store's loop, as
/// `reader` does; references must outlive it.
class ServiceAccountTokens {
public:
    struct Settings {
        std::vector<std::string> issuers;        ///< the first one is the claim iss of new tokens; tokens of all of them are accepted
        std::vector<std::string> api_audiences;  ///< audiences of tokens for this server; all of them are the default
        bool extend = true;                      ///< tokens of pods are valid for a year, for clients that never read theirs again
    };
    /// The first key signs; tokens of all of them are accepted. Requires: at least one key, issuer and audience.
    ServiceAccountTokens(std::vector<TokenKey> keys, Settings settings, const ObjectReader& reader, const Clock& clock, Random& random)
        : keys_(std::move(keys)), settings_(std::move(settings)), reader_(reader), clock_(clock), random_(random) {}

    /// Fills the status of a TokenRequest for the account. Errors: NotFound, Invalid, Conflict for a wrong uid.
    Result<api::authentication::v1::TokenRequest> issue(const std::string& namespace_, const std::string& account,
                                                        api::authentication::v1::TokenRequest request) const;
    struct Verified {
        User user;
        std::vector<std::string> audiences;  ///< the requested audiences that the token is valid for; at least one
    };
    /// The token's user; nullopt if this server did not issue it. Error: Unauthorized, also for a token of other audiences.
    Result<std::optional<Verified>> verify(std::string_view token, const std::vector<std::string>& audiences) const;

    /// Replaces the keys: tokens signed by any other key are refused.
    void use_keys(std::vector<TokenKey> keys);
    const Settings& settings() const { return settings_; }
    schema::Value jwks() const;
    schema::Value openid_configuration() const;

private:
    /// An object that a token is bound to; "" for none.
    struct Bound {
        std::string name, uid;
    };
    /// What a token says, read once for all requests that carry it.
    struct Claims {
        std::int64_t expires = 0, not_before = 0;  ///< seconds since 1970
        std::vector<std::string> audiences;        ///< sorted, as there may be many
        bool has_account = false;                  ///< whether it is one of a service account at all
        std::string namespace_;
        Bound account, pod, secret, node;
        User user;  ///< whom it stands for, as long as all of these exist
    };
    using ClaimsPtr = std::shared_ptr<const Claims>;

    static Claims claims_in(const schema::Value& payload);
    /// The token's claims if we have signed it; null if this server did not issue it. Error: Unauthorized.
    Result<ClaimsPtr> signed_claims(std::string_view token) const;
    Result<void> check_bound(const api::authentication::v1::BoundObjectReference& bound, const std::string& namespace_,
                             schema::Value& claims) const;
    /// Whether what the token is bound to is still there.
    Result<void> check_alive(const Claims& claims) const;
    template <class T>
    Result<void> check_exists(const std::string& namespace_, const Bound& bound, const char* what) const;

    std::vector<TokenKey> keys_;
    Settings settings_;
    const ObjectReader& reader_;
    const Clock& clock_;
    Random& random_;
    struct VerifiedToken {
        std::string content;  ///< header and payload as they were signed
        ClaimsPtr claims;
    };
    /// By the encoded signature: verifying it costs more than everything else in a request. Facts that can change (time, the objects that a
    /// token is bound to) are checked each time.
    mutable std::unordered_map<std::string, VerifiedToken> verified_;
};

/// "Authorization: Bearer <service account token>".
class ServiceAccountAuthenticator final : public Authenticator {
public:
    explicit ServiceAccountAuthenticator(const ServiceAccountTokens& tokens) : tokens_(tokens) {}
    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;

private:
    const ServiceAccountTokens& tokens_;
};

/// "Authorization: Bearer <id>.<secret>" of a secret kube-system/bootstrap-token-<id> of type bootstrap.kubernetes.io/token.
class BootstrapTokenAuthenticator final : public Authenticator {
public:
    BootstrapTokenAuthenticator(const ObjectReader& reader, const Clock& clock) : reader_(reader), clock_(clock) {}
    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;

private:
    const ObjectReader& reader_;
    const Clock& clock_;
};

/// The bearer token of a request; "" for none. Reads the header, and the WebSocket subprotocol that browsers use.
std::string bearer_token(const net::HttpRequest& request);

}  // namespace porthole::apiserver
