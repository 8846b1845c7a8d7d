#include "apiserver/authentication/issuer_keys.h"

#include "base/result.h"
#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

constexpr Duration Period = 1h, RetryPeriod = 10s, LeastPeriod = 10s, LongestWait = 10s;
constexpr OutgoingLimits Limits{.time = 10s, .answer_bytes = 1 << 20};
constexpr std::size_t DocumentDepth = 32;

}  // namespace

std::string discovery_url_of(const JwtIssuer& issuer) {
    if (!issuer.discovery_url.empty()) return issuer.discovery_url;
    std::string url = issuer.url;
    if (url.ends_with('/')) url.pop_back();
    return url + "/.well-known/openid-configuration";
}

Result<std::string> jwks_uri_of(std::string_view document, const std::string& issuer) {
    TRY(const schema::Value found, schema::parse_json(document, {.depth = DocumentDepth}));
    if (found.string_at({"issuer"}) != issuer)
        return Error(Reason::BadRequest, "the discovery document is of issuer " + quote(found.string_at({"issuer"})));
    std::string uri(found.string_at({"jwks_uri"}));
    if (!uri.starts_with("https://")) return Error(Reason::BadRequest, "jwks_uri " + quote(uri) + " is not an https URL");
    return uri;
}

IssuerKeys::IssuerKeys(JwtIssuer issuer, OutgoingClients& clients, EventLoop& loop, Logger log)
    : issuer_(std::move(issuer)), clients_(clients), loop_(loop), log_(std::move(log)) {}

Task<> IssuerKeys::follow() {
    for (;;) {
        asked_at_ = loop_.now();
        wanted_.reset();
        auto outcome = co_await load();
        if (is_cancelled(outcome)) co_return std::move(outcome);
        if (!outcome)
            log_.warn("the keys of an issuer of tokens cannot be read", {{"issuer", issuer_.url}, {"error", outcome.error().message}});
        waiting_.wake_all({});
        auto waited = co_await with_timeout(wanted_.wait(), loaded_ ? Period : RetryPeriod, "wish");
        if (is_cancelled(waited)) co_return std::move(waited);
    }
}

Task<> IssuerKeys::renew() {
    if (loaded_) {
        if (loop_.now() - asked_at_ < LeastPeriod) co_return {};
        wanted_.set();
    }
    auto waited = co_await with_timeout(waiting_.wait(), LongestWait, "keys of the issuer");
    if (is_cancelled(waited)) co_return std::move(waited);
    co_return {};
}

Task<> IssuerKeys::load() {
    CO_TRY_VOID(open(discovery_, discovery_url_of(issuer_)));
    CO_TRY(const std::string document, co_await get(*discovery_.client));
    CO_TRY(const std::string uri, jwks_uri_of(document, issuer_.url));
    CO_TRY_VOID(open(key_set_, uri));
    CO_TRY(const std::string text, co_await get(*key_set_.client));
    CO_TRY(keys_, parse_json_web_keys(text));
    loaded_ = true;
    co_return {};
}

Result<void> IssuerKeys::open(Server& server, const std::string& url) {
    if (server.client && server.url == url) return {};
    TRY(server.client, clients_.open({.server = url, .ca_pem = issuer_.ca_pem}));
    server.url = url;
    return {};
}

Task<std::string> IssuerKeys::get(OutgoingClient& client) {
    net::HttpRequest request{.method = "GET", .path = ""};
    request.headers.add("accept", "application/json");
    CO_TRY(net::HttpResponse answer, co_await client.send(std::move(request), Limits));
    if (answer.code != 200) co_return Error(Reason::Unavailable, "the issuer answered " + std::to_string(answer.code));
    co_return std::move(answer.body);
}

}  // namespace porthole::apiserver
