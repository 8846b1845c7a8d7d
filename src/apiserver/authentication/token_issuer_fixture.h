#pragma once
#include "apiserver/authentication/jwt_issuer.h"
#include "apiserver/outgoing/outgoing_fixture.h"
#include "base/base64.h"
#include "net/tls/crypto.h"
#include "schema/json/json.h"

namespace porthole::apiserver {

/// An issuer of tokens that tests play: its discovery document, its keys, and tokens that it signs.
class FakeIssuer {
public:
    explicit FakeIssuer(FakeServers& servers, std::string url = "https://issuer.test") : servers_(servers), url_(std::move(url)) {
        servers_.at(url_ + "/.well-known/openid-configuration").answer = [this](const net::HttpRequest&) { return reply(discovery); };
        servers_.at("https://keys.test/jwks").answer = [this](const net::HttpRequest&) { return reply(jwks); };
        discovery = R"({"issuer":")" + url_ + R"(","jwks_uri":"https://keys.test/jwks"})";
        publish(key);
    }

    void publish(const net::JwsKey& published) { jwks = R"({"keys":[)" + published.jwk_json() + "]}"; }
    static net::HttpResponse reply(std::string body) { return {.code = 200, .headers = {}, .body = std::move(body)}; }

    /// Signed by `by`; `header` replaces the default header.
    static std::string sign(const net::JwsKey& by, const std::string& claims, std::string header = "") {
        if (header.empty()) header = R"({"alg":")" + std::string(by.algorithm()) + R"(","kid":")" + by.key_id() + R"("})";
        const std::string part = encode_base64url(header) + "." + encode_base64url(claims);
        return part + "." + encode_base64url(by.sign(part));
    }
    std::string token(const std::string& claims) const { return sign(key, claims); }
    /// {"iss", "aud", "exp"} and `more`, for a token that expires at `end`.
    std::string claims(std::int64_t end, const std::string& more = R"("sub":"jane")") const {
        return R"({"iss":")" + url_ + R"(","aud":"porthole","exp":)" + std::to_string(end) + "," + more + "}";
    }
    std::size_t asked() const { return servers_.at("https://keys.test/jwks").requests.size(); }
    const std::string& url() const { return url_; }
    JwtIssuer settings() const {
        JwtIssuer issuer;
        issuer.url = url_;
        issuer.audiences = {"porthole", "other"};
        return issuer;
    }

    net::JwsKey key = net::JwsKey::generate_rsa();
    std::string discovery, jwks;

private:
    FakeServers& servers_;
    std::string url_;
};

/// A request with a bearer token; none for "".
inline net::HttpRequest bearer_request(const std::string& token) {
    net::HttpRequest request{.method = "GET", .path = "/api"};
    if (!token.empty()) request.headers.add("authorization", "Bearer " + token);
    return request;
}

}  // namespace porthole::apiserver
