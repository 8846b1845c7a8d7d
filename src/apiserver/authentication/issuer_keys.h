#pragma once
#include <memory>
#include <string>
#include <vector>

#include "apiserver/authentication/jwt.h"
#include "apiserver/authentication/jwt_issuer.h"
#include "apiserver/outgoing/outgoing_client.h"
#include "base/log.h"
#include "runtime/sync.h"

namespace porthole::apiserver {

/// The public keys of an issuer, found by OpenID Connect discovery, kept up to date by one task, and used by many.
///
/// The issuer is asked at start (every 10 s until it answers), every hour, and when a token names an unknown key: then at most every 10 s,
/// so that forged tokens do not become requests to the issuer. Lives on `loop`; references outlive it.
class IssuerKeys {
public:
    IssuerKeys(JwtIssuer issuer, OutgoingClients& clients, EventLoop& loop, Logger log);

    /// Keeps the keys up to date until cancelled.
    Task<> follow();
    const std::vector<JsonWebKey>& known() const { return keys_; }
    /// Whether the issuer has answered.
    bool loaded() const { return loaded_; }
    /// Waits until the keys have been requested again: not at all if that was done a short time ago, and at most 10 s.
    Task<> renew();

private:
    Task<> load();
    /// The client of the server at `url`, kept in `server` while the URL stays the same.
    struct Server {
        std::string url;
        std::unique_ptr<OutgoingClient> client;
    };
    Result<void> open(Server& server, const std::string& url);
    Task<std::string> get(OutgoingClient& client);

    const JwtIssuer issuer_;
    OutgoingClients& clients_;
    EventLoop& loop_;
    Logger log_;
    Server discovery_, key_set_;
    std::vector<JsonWebKey> keys_;
    bool loaded_ = false;
    MonotonicTime asked_at_;  ///< time of the last request to the issuer
    Event wanted_;
    WaitList<void> waiting_;
};

/// Where the discovery document is: URL of the server, and the path on it.
std::string discovery_url_of(const JwtIssuer& issuer);
/// The jwks_uri of a discovery document. Error: BadRequest for a document of another issuer, and for a URI that is not https.
Result<std::string> jwks_uri_of(std::string_view document, const std::string& issuer);

}  // namespace porthole::apiserver
