#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::net {
class HttpBody;
struct HttpRequest;
}  // namespace porthole::net

namespace porthole::winhost {

/// As in CRI's AuthConfig, in the order of preference; all empty for an anonymous pull.
struct Credentials {
    std::string username, password;
    std::string identity_token;  ///< exchanged for an access token
    std::string registry_token;  ///< sent unchanged
};

/// The seam to registries: sends one HTTP request to the server of `url`.
class RegistryClient {
public:
    virtual ~RegistryClient() = default;
    /// `url`: scheme://host[:port]/path[?query]; path and query of `request` are ignored. Redirects are data, as all codes are.
    /// Error: Unavailable.
    virtual Task<std::unique_ptr<net::HttpBody>> open(std::string url, net::HttpRequest request) = 0;
    /// The servers for images of `registry` ("docker.io", "registry:5000"), each scheme://host[:port], in order of preference.
    virtual std::vector<std::string> endpoints(const std::string& registry) const = 0;
};

/// The administrator's settings for registries.
struct RegistryOptions {
    struct Mirror {
        std::string registry;                ///< "docker.io"; "*" for all
        std::vector<std::string> endpoints;  ///< "https://mirror.example:5000", asked before the registry itself
    };
    std::vector<Mirror> mirrors;
    std::vector<std::string> plain_http;   ///< registries without TLS, in addition to those on the loopback interface
    std::string ca_pem;                    ///< trusted in addition to the system's roots; may be empty
    std::vector<std::string> skip_verify;  ///< registries whose certificates are not verified
};

/// By HTTP(S). The loop must outlive it.
std::unique_ptr<RegistryClient> make_registry_client(AsioLoop& loop, RegistryOptions options);

}  // namespace porthole::winhost
