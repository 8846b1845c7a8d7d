#include "winhost/images/registry/registry_client.h"

#include <algorithm>
#include <map>

#include "net/http/http_client.h"
#include "net/tls/tls.h"
#include "runtime/asio_loop.h"
#include "winhost/images/registry/url.h"

namespace porthole::winhost {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

/// Registries on the loopback interface speak plain HTTP, as containerd has it.
bool is_loopback(const std::string& registry) {
    const auto url = Url::parse("http://" + registry);
    return url && (url->host == "localhost" || url->host == "::1" || url->host.starts_with("127."));
}

class HttpRegistryClient final : public RegistryClient {
public:
    HttpRegistryClient(AsioLoop& loop, RegistryOptions options) : loop_(loop), options_(std::move(options)) {}

    Task<std::unique_ptr<net::HttpBody>> open(std::string text, net::HttpRequest request) override {
        CO_TRY(const Url url, Url::parse(text));
        CO_TRY(const auto client, client_for(url));
        request.path = url.path;
        request.query = url.query;
        if (!request.headers.has("host")) request.headers.add("host", url.authority());
        co_return co_await client->open(std::move(request));
    }

    std::vector<std::string> endpoints(const std::string& registry) const override {
        std::vector<std::string> all;
        for (const auto& mirror : options_.mirrors) {
            if (mirror.registry == registry || mirror.registry == "*")
                all.insert(all.end(), mirror.endpoints.begin(), mirror.endpoints.end());
        }
        const std::string host = registry == "docker.io" ? "registry-1.docker.io" : registry;
        const bool plain = is_loopback(registry) || contains(options_.plain_http, registry);
        all.push_back((plain ? "http://" : "https://") + host);
        return all;
    }

private:
    Result<std::shared_ptr<net::HttpClient>> client_for(const Url& url) {
        auto& client = clients_[url.origin()];
        if (client) return client;
        std::shared_ptr<const net::TlsClientContext> tls;
        if (url.scheme == "https") {
            TRY(tls, net::TlsClientContext::create(
                         {.ca_pem = options_.ca_pem, .insecure_skip_verify = contains(options_.skip_verify, url.authority())}));
        }
        client = std::make_shared<net::HttpClient>(loop_, net::Endpoint{.host = url.host, .port = url.port}, std::move(tls),
                                                   proxies_.find(url.scheme == "https", url.host, url.port));
        return client;
    }

    AsioLoop& loop_;
    RegistryOptions options_;
    const net::ProxySettings proxies_ = net::ProxySettings::of_environment();
    std::map<std::string, std::shared_ptr<net::HttpClient>> clients_;  ///< by origin
};

}  // namespace

std::unique_ptr<RegistryClient> make_registry_client(AsioLoop& loop, RegistryOptions options) {
    return std::make_unique<HttpRegistryClient>(loop, std::move(options));
}

}  // namespace porthole::winhost
