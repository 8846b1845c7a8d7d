#include "net/streams/stream_upgrade.h"

#include <algorithm>

#include "net/streams/websocket.h"

namespace porthole::net {
namespace {

constexpr char VersionHeader[] = "x-stream-protocol-version";

bool is_spdy_request(const HttpRequest& request) {
    return header_has_word(request.headers, "connection", "upgrade") && header_has_word(request.headers, "upgrade", "spdy/3.1");
}

Result<std::string> choose(const HttpRequest& request, const std::vector<std::string>& protocols) {
    const auto offered = header_words(request.headers, VersionHeader);
    if (offered.empty() && std::ranges::find(protocols, "") != protocols.end()) return std::string();
    for (const std::string& protocol : protocols) {
        if (std::ranges::find(offered, protocol) != offered.end()) return protocol;
    }
    std::string names;
    for (const std::string& protocol : protocols) names += (names.empty() || protocol.empty() ? "" : ", ") + protocol;
    return Error(Reason::Forbidden, "unable to upgrade: the server understands only " + names);
}

}  // namespace

Task<std::unique_ptr<ByteStream>> accept_spdy(const HttpRequest& request, HttpResponder& responder, std::vector<std::string> protocols,
                                              std::string& chosen) {
    if (!is_spdy_request(request)) {
        co_return Error(Reason::BadRequest, "unable to upgrade: the request needs an upgrade to WebSocket or SPDY/3.1");
    }
    CO_TRY(chosen, choose(request, protocols));
    Headers headers{{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}};
    if (!chosen.empty()) headers.add(VersionHeader, chosen);
    co_return co_await responder.upgrade(std::move(headers));
}

Task<std::unique_ptr<ByteStream>> connect_spdy(HttpClient& client, std::string target, std::vector<std::string> protocols,
                                               std::string& chosen) {
    HttpRequest request = request_for("POST", target);
    request.headers.add("connection", "Upgrade");
    request.headers.add("upgrade", "SPDY/3.1");
    for (std::string& protocol : protocols) request.headers.add(VersionHeader, std::move(protocol));
    CO_TRY(auto upgraded, co_await client.upgrade(std::move(request)));
    if (!upgraded.stream) co_return refused_upgrade(upgraded.response);
    chosen = upgraded.response.headers.get(VersionHeader);
    co_return std::move(upgraded.stream);
}

Error refused_upgrade(const HttpResponse& response) {
    constexpr std::size_t LongestText = 1000;
    std::string text = response.body.substr(0, LongestText);
    while (text.ends_with('\n')) text.pop_back();
    if (text.empty()) text = "the server answered the upgrade with " + std::to_string(response.code);
    return Error(response.code >= 400 ? reason_of_http_code(response.code) : Reason::InternalError, std::move(text));
}

HttpRequest request_for(std::string method, std::string_view target) {
    HttpRequest request;
    request.method = std::move(method);
    const auto question = target.find('?');
    request.path = target.substr(0, question);
    if (question != target.npos) request.query = target.substr(question + 1);
    return request;
}

}  // namespace porthole::net
