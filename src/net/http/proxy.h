#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/ip.h"
#include "net/socket.h"
#include "runtime/task.h"

namespace porthole::net {

/// An HTTP proxy that connects to servers by CONNECT.
struct Proxy {
    std::string scheme;  ///< "http" or "https"; others can be named, but are not used
    std::string host;
    std::uint16_t port = 0;
    std::string authorization;  ///< of the header Proxy-Authorization: "Basic …"; "" for none

    /// "http://proxy.example.com:3128", without the password.
    std::string to_string() const;
    bool operator==(const Proxy&) const = default;
};

/// Which servers are reached through which proxy, by the rules that Go's net/http applies to HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
///
/// A proxy is a URL or host[:port]. Exceptions are separated by commas: an address, a range ("10.96.0.0/12"), a name with its subdomains
/// ("example.com"), subdomains alone (".svc", "*.svc"), each except a range with an optional port, or "*" for every server. localhost and
/// loopback addresses are always reached directly. Invalid entries are ignored, as in Go.
class ProxySettings {
public:
    /// Every server is reached directly.
    ProxySettings() = default;
    ProxySettings(std::string_view http_proxy, std::string_view https_proxy, std::string_view no_proxy);
    /// The settings of this process: the variables in upper case, or in lower case if the former are unset or empty.
    static ProxySettings of_environment();

    /// The proxy for a server that is reached with (https) or without TLS; nullopt if it is reached directly. `host` has no brackets.
    std::optional<Proxy> find(bool tls, const std::string& host, std::uint16_t port) const;
    /// Whether the exceptions, or the rule for loopback addresses, forbid any proxy for the server.
    bool is_exempt(const std::string& host, std::uint16_t port) const;
    /// Whether no proxy is named.
    bool empty() const { return !http_ && !https_; }

private:
    struct Name {
        std::string suffix;  ///< ".example.com"
        std::uint16_t port = 0;
        bool with_itself = false;  ///< "example.com" matches too
    };
    struct Address {
        IpPrefix range;
        std::uint16_t port = 0;  ///< 0 for all
    };
    void add_exception(std::string_view text);

    std::optional<Proxy> http_, https_;
    bool nothing_ = false;  ///< "*"
    std::vector<Name> names_;
    std::vector<Address> addresses_;
};

/// A list for NO_PROXY: `no_proxy`, and the entries of `more` that it lacks.
std::string add_exceptions(std::string_view no_proxy, const std::vector<std::string>& more);

/// Environment variables that make a program use the same proxies as this process, except for `exceptions`; empty if no proxy is named.
std::map<std::string, std::string> proxy_environment(const std::vector<std::string>& exceptions);

/// A connection to `server` through the proxy. Error: Unavailable, with the proxy's name and its answer.
Task<std::unique_ptr<ByteStream>> connect_through(AsioLoop& loop, Proxy proxy, Endpoint server);
/// The part after connecting to the proxy: asks it for `server` ("host:port") and returns the stream to it.
Task<std::unique_ptr<ByteStream>> open_tunnel(EventLoop& loop, std::unique_ptr<ByteStream> to_proxy, Proxy proxy, std::string server);

}  // namespace porthole::net
