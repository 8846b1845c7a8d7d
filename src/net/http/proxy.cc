#include "net/http/proxy.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/base64.h"
#include "base/strings.h"
#include "net/http/http1_client.h"
#include "net/tls/tls_stream.h"
#include "runtime/asio_loop.h"

namespace porthole::net {
namespace {

struct HostAndPort {
    std::string host;  ///< without brackets
    std::uint16_t port = 0;
};

std::optional<std::uint16_t> port_of(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
    return port;
}

/// "host", "host:port", "[::1]:port", "::1". nullopt for a port that is none, and for a host with what no host has.
std::optional<HostAndPort> split_port(std::string_view text) {
    HostAndPort found;
    std::string_view port;
    const std::size_t colon = text.rfind(':');
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == text.npos) return std::nullopt;
        found.host = text.substr(1, end - 1);
        port = text.substr(end + 1);
    } else if (colon != text.npos && colon == text.find(':')) {
        found.host = text.substr(0, colon);
        port = text.substr(colon);
    } else {
        found.host = text;
    }
    if (!port.empty()) {
        const auto number = port.starts_with(':') ? port_of(port.substr(1)) : std::nullopt;
        if (!number) return std::nullopt;
        found.port = *number;
    }
    const auto is_foreign = [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '/' || c == '@' || c == '[' || c == ']'; };
    if (found.host.empty() || std::ranges::any_of(found.host, is_foreign)) return std::nullopt;
    return found;
}

/// As RFC 3986 has them; messages show it.
bool is_scheme(std::string_view text) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto belongs = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'; };
    return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, belongs);
}

std::uint16_t usual_port(std::string_view scheme) { return scheme == "https" ? 443 : scheme.starts_with("socks5") ? 1080 : 80; }

/// "http://user:password@proxy.example.com:3128/", "proxy.example.com:3128".
std::optional<Proxy> parse_proxy(std::string_view text) {
    Proxy proxy{.scheme = "http", .host = {}, .port = 0, .authorization = {}};
    if (const std::size_t scheme = text.find("://"); scheme != text.npos) {
        if (!is_scheme(text.substr(0, scheme))) return std::nullopt;
        proxy.scheme = to_lower(text.substr(0, scheme));
        text.remove_prefix(scheme + 3);
    }
    text = text.substr(0, text.find_first_of("/?#"));
    if (const std::size_t at = text.rfind('@'); at != text.npos) {
        const std::string_view user = text.substr(0, at);
        const std::size_t colon = std::min(user.find(':'), user.size());
        const std::string password(user.substr(std::min(colon + 1, user.size())));
        proxy.authorization = "Basic " + encode_base64(percent_decode(user.substr(0, colon)) + ":" + percent_decode(password));
        text.remove_prefix(at + 1);
    }
    const auto place = split_port(text);
    if (!place) return std::nullopt;
    proxy.host = place->host;
    proxy.port = place->port ? place->port : usual_port(proxy.scheme);
    return proxy;
}

/// ::ffff:10.0.0.1 is the same server as 10.0.0.1.
std::optional<IpAddress> address_of(const std::string& host) {
    const auto parsed = IpAddress::parse(host);
    if (!parsed) return std::nullopt;
    constexpr IpAddress Mapped = IpAddress::v6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff});
    if (!IpPrefix(Mapped, 96).contains(*parsed)) return *parsed;
    const auto& bytes = parsed->bytes();
    return IpAddress::v4(std::uint32_t{bytes[12]} << 24 | std::uint32_t{bytes[13]} << 16 | std::uint32_t{bytes[14]} << 8 | bytes[15]);
}

std::string variable(const char* upper, const char* lower) {
    for (const char* name : {upper, lower})
        if (const char* value = std::getenv(name); value && *value) return value;
    return "";
}

}  // namespace

std::string Proxy::to_string() const { return scheme + "://" + host_and_port(host, port); }

ProxySettings::ProxySettings(std::string_view http_proxy, std::string_view https_proxy, std::string_view no_proxy)
    : http_(parse_proxy(trim(http_proxy))), https_(parse_proxy(trim(https_proxy))) {
    for (const std::string& part : split_list(no_proxy)) add_exception(part);
}

ProxySettings ProxySettings::of_environment() {
    return {variable("HTTP_PROXY", "http_proxy"), variable("HTTPS_PROXY", "https_proxy"), variable("NO_PROXY", "no_proxy")};
}

void ProxySettings::add_exception(std::string_view text) {
    if (text == "*") nothing_ = true;
    if (const auto range = IpPrefix::parse(text)) {
        addresses_.push_back({*range, 0});
        return;
    }
    const auto place = split_port(text);
    if (!place) return;
    if (const auto address = address_of(place->host)) {
        addresses_.push_back({IpPrefix(*address, address->bits()), place->port});
        return;
    }
    std::string name = to_lower(place->host);
    if (name.starts_with("*.")) name.erase(0, 1);
    const bool with_itself = !name.starts_with('.');
    names_.push_back({(with_itself ? "." : "") + name, place->port, with_itself});
}

bool ProxySettings::is_exempt(const std::string& host, std::uint16_t port) const {
    const std::string name = to_lower(host);
    const auto address = address_of(name);
    if (nothing_ || name == "localhost" || (address && address->is_loopback())) return true;
    const auto fits = [&](std::uint16_t wanted) { return wanted == 0 || wanted == port; };
    if (address && std::ranges::any_of(addresses_, [&](const Address& one) { return one.range.contains(*address) && fits(one.port); }))
        return true;
    return std::ranges::any_of(names_, [&](const Name& one) {
        return fits(one.port) && (name.ends_with(one.suffix) || (one.with_itself && name == one.suffix.substr(1)));
    });
}

std::optional<Proxy> ProxySettings::find(bool tls, const std::string& host, std::uint16_t port) const {
    const std::optional<Proxy>& proxy = tls ? https_ : http_;
    return !proxy || is_exempt(host, port) ? std::nullopt : proxy;
}

std::string add_exceptions(std::string_view no_proxy, const std::vector<std::string>& more) {
    std::vector<std::string> all = split_list(no_proxy);
    for (const std::string& one : more)
        if (!one.empty() && std::ranges::find(all, one) == all.end()) all.push_back(one);
    return join(all, ",");
}

std::map<std::string, std::string> proxy_environment(const std::vector<std::string>& exceptions) {
    std::map<std::string, std::string> all{{"HTTP_PROXY", variable("HTTP_PROXY", "http_proxy")},
                                           {"HTTPS_PROXY", variable("HTTPS_PROXY", "https_proxy")}};
    std::erase_if(all, [](const auto& entry) { return entry.second.empty(); });
    if (!all.empty()) all["NO_PROXY"] = add_exceptions(variable("NO_PROXY", "no_proxy"), exceptions);
    return all;
}

namespace {

Task<std::unique_ptr<ByteStream>> connect_to_proxy(AsioLoop& loop, const Proxy& proxy) {
    if (proxy.scheme != "http" && proxy.scheme != "https")
        co_return Error(Reason::Unavailable, "the proxy's scheme " + proxy.scheme + " is not supported; use http or https");
    CO_TRY(auto stream, co_await connect_socket(loop, Endpoint{.host = proxy.host, .port = proxy.port, .unix_path = {}}));
    if (proxy.scheme == "http") co_return std::move(stream);
    CO_TRY(auto trust, TlsClientContext::create({}));
    CO_TRY(auto secured, co_await tls_connect(std::move(stream), std::move(trust), proxy.host, {"http/1.1"}));
    co_return std::move(secured.stream);
}

}  // namespace

Task<std::unique_ptr<ByteStream>> open_tunnel(EventLoop& loop, std::unique_ptr<ByteStream> to_proxy, Proxy proxy, std::string server) {
    Headers headers{{"host", server}};
    if (!proxy.authorization.empty()) headers.add("proxy-authorization", proxy.authorization);
    Http1ClientConnection connection(loop, std::move(to_proxy));
    bool answered = false;
    // As after HEAD, no body follows what lets the connection through.
    CO_TRY(const auto parser, co_await connection.exchange(http1_request_head("CONNECT", server, headers),
                                                           std::make_shared<const std::string>(), true, answered));
    const int code = parser->head.code;
    if (code >= 200 && code < 300) co_return std::move(connection).into_stream();
    co_return Error(Reason::Unavailable, "the proxy answered " + std::to_string(code) + " to CONNECT" +
                                             (code == 407 ? ", it requires a user and password in its URL" : "") +
                                             "; add a server that is reached directly to NO_PROXY");
}

Task<std::unique_ptr<ByteStream>> connect_through(AsioLoop& loop, Proxy proxy, Endpoint server) {
    auto stream = co_await connect_to_proxy(loop, proxy);
    if (stream) stream = co_await open_tunnel(loop, std::move(*stream), proxy, host_and_port(server.host, server.port));
    if (stream || is_cancelled(stream)) co_return std::move(stream);
    co_return Error(Reason::Unavailable, "through the proxy " + proxy.to_string() + ": " + stream.error().message);
}

}  // namespace porthole::net
