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

/// An HTTP proxy, through which servers are reached by CONNECT.
struct Proxy {
    std::string scheme;  ///< "http" or "https"; others can be named, but not used
    std::string host;
    std::uint16_t port = 0;
    std::string authorization;  ///< of the header Proxy-Authorization: "Basic …"; "" for none

    /// "http://proxy.example.com:3128", without the password.
    std::string to_string() const;
    bool operator==(const Proxy&) const = default;
};

/// Which servers are reached through which proxy: the meaning that Go's net/http gives to HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
///
/// A proxy is a URL or host[:port]. Exceptions are separated by commas: an address, a range ("10.96.0.0/12"), a name with its
/// subdomains ("example.com"), subdomains alone (".svc", "*.svc"), each but a range with an optional port, or "*" for every server.
/// localhost and loopback addresses are always reached directly. What cannot be understood is left out, as Go does.
class ProxySettings {
public:
    /// Every server is reached directly.
    ProxySettings() = default;
    ProxySettings(std::string_view http_proxy, std::string_view https_proxy, std::string_view no_proxy);
    /// Of this process: the variables in upper case, or in lower case where those are not set or empty.
    static ProxySettings of_environment();

    /// For a server that is asked with (https) or without TLS; nullopt for one that is reached directly. `host` without brackets.
    std::optional<Proxy> find(bool tls, const std::string& host, std::uint16_t port) const;
    /// Whether the exceptions, or the rule of loopback addresses, keep the server from any proxy.
    bool is_exempt(const std::string& host, std::uint16_t port) const;
    /// Whether some proxy is named.
    bool empty() const { return !http_ && !https_; }

private:
    struct Name {
        std::string suffix;  ///< ".example.com"
        std::uint16_t port = 0;
        bool with_itself = false;  ///< "example.com" matches, too
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

/// A list for NO_PROXY: `no_proxy` and what of `more` it does not have.
std::string add_exceptions(std::string_view no_proxy, const std::vector<std::string>& more);

/// The variables with which a program reaches servers as this process does, but `exceptions` directly; none where no proxy is named.
std::map<std::string, std::string> proxy_environment(const std::vector<std::string>& exceptions);

/// A connection to `server` through the proxy. Error: Unavailable, which names the proxy and says what it answered.
Task<std::unique_ptr<ByteStream>> connect_through(AsioLoop& loop, Proxy proxy, Endpoint server);
/// The part of it behind the connection to the proxy: asks for `server` ("host:port") and yields the stream to it.
Task<std::unique_ptr<ByteStream>> open_tunnel(EventLoop& loop, std::unique_ptr<ByteStream> to_proxy, Proxy proxy, std::string server);

}  // namespace porthole::net
