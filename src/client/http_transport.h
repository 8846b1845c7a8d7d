#pragma once
#include <functional>
#include <memory>
#include <string>

#include "client/transport.h"
#include "net/http/http_client.h"

namespace porthole::client {

struct ClientConfig;

/// Reaches an API server by HTTP. Authenticates by a client certificate (in `http`) or a bearer token. Owns the client; used on its
/// loop.
class HttpTransport final : public Transport {
public:
    struct Options {
        std::string host;    ///< for the header Host (":authority" of HTTP/2)
        std::string prefix;  ///< of every path; "" or "/something"
        std::string user_agent = "porthole";
        std::function<std::string()> bearer_token;  ///< called for every request, so that it may be renewed; may be empty
        /// The server may be reachable only through a proxy, and the environment names none: until it first answers, errors mention this.
        bool proxy_might_be_missing = false;
    };

    HttpTransport(std::unique_ptr<net::HttpClient> http, Options options);
    ~HttpTransport() override;

    Task<ApiResponse> call(ApiRequest request) override;
    Task<std::unique_ptr<ApiStream>> watch(ApiRequest request) override;

private:
    net::HttpRequest to_http(ApiRequest request) const;

    Error explained(Error error) const;

    std::unique_ptr<net::HttpClient> http_;
    Options options_;
    bool has_answered_ = false;
};

/// A transport for the server of a kubeconfig, through the proxy that the environment names for it. `read_token` reads `config.token_file`,
/// and may be empty if that is. Error: BadRequest for an invalid URL, certificate or key.
Result<std::unique_ptr<Transport>> make_http_transport(AsioLoop& loop, const ClientConfig& config, std::string user_agent,
                                                       std::function<std::string()> read_token = {});

}  // namespace porthole::client
