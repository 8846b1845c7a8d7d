#include "client/http_transport.h"

#include "base/proxy_hint.h"
#include "client/client.h"
#include "client/kubeconfig.h"

namespace porthole::client {
namespace {

constexpr std::size_t LongestEvent = 16 << 20;

/// Events of a watch, one a line.
class LineStream final : public ApiStream {
public:
    explicit LineStream(std::unique_ptr<net::HttpBody> body) : body_(std::move(body)) {}

    Task<std::optional<net::Bytes>> next() override {
        for (;;) {
            const std::size_t end = buffer_.find('\n', searched_);
            if (end != buffer_.npos) {
                std::string line = buffer_.substr(start_, end - start_);
                start_ = searched_ = end + 1;
                if (line.empty()) continue;
                co_return std::optional<net::Bytes>(std::make_shared<const std::string>(std::move(line)));
            }
            buffer_.erase(0, start_);
            start_ = 0;
            searched_ = buffer_.size();
            if (buffer_.size() > LongestEvent) co_return Error(Reason::RequestEntityTooLarge, "a watch event is longer than 16 MiB");
            CO_TRY(std::optional<std::string> piece, co_await body_->next());
            // An event that was cut off is no event: the watch is resumed before it.
            if (!piece) co_return std::optional<net::Bytes>();
            buffer_ += *piece;
        }
    }

private:
    std::unique_ptr<net::HttpBody> body_;
    std::string buffer_;
    std::size_t start_ = 0, searched_ = 0;
};

Task<std::string> read_all(net::HttpBody& body) {
    std::string text;
    for (;;) {
        CO_TRY(std::optional<std::string> piece, co_await body.next());
        if (!piece) co_return std::move(text);
        if (text.size() < 65536) text += *piece;
    }
}

}  // namespace

HttpTransport::HttpTransport(std::unique_ptr<net::HttpClient> http, Options options)
    : http_(std::move(http)), options_(std::move(options)) {}
HttpTransport::~HttpTransport() = default;

net::HttpRequest HttpTransport::to_http(ApiRequest request) const {
    net::HttpRequest http;
    http.headers.add("host", options_.host);
    http.headers.add("user-agent", options_.user_agent);
    http.headers.add("accept", request.accept.empty() ? "application/json" : std::move(request.accept));
    if (!request.body.empty())
        http.headers.add("content-type", request.content_type.empty() ? "application/json" : std::move(request.content_type));
    if (options_.bearer_token) {
        if (const std::string token = options_.bearer_token(); !token.empty()) http.headers.add("authorization", "Bearer " + token);
    }
    http.method = std::move(request.method);
    http.path = options_.prefix + request.path;
    http.query = std::move(request.query);
    http.body = std::move(request.body);
    return http;
}

Task<ApiResponse> HttpTransport::call(ApiRequest request) {
    auto response = co_await http_->send(to_http(std::move(request)));
    if (!response) co_return explained(std::move(response).error());
    has_answered_ = true;
    co_return ApiResponse{response->code, std::make_shared<const std::string>(std::move(response->body))};
}

Task<std::unique_ptr<ApiStream>> HttpTransport::watch(ApiRequest request) {
    auto opened = co_await http_->open(to_http(std::move(request)));
    if (!opened) co_return explained(std::move(opened).error());
    has_answered_ = true;
    std::unique_ptr<net::HttpBody> body = *std::move(opened);
    if (body->code() != 200) {
        CO_TRY(const std::string text, co_await read_all(*body));
        co_return error_of_status(body->code(), text);
    }
    co_return std::unique_ptr<ApiStream>(std::make_unique<LineStream>(std::move(body)));
}

Error HttpTransport::explained(Error error) const {
    if (error.reason == Reason::Unavailable && options_.proxy_might_be_missing && !has_answered_)
        error.message = with_proxy_hint(std::move(error.message));
    return error;
}

Result<std::unique_ptr<Transport>> make_http_transport(AsioLoop& loop, const ClientConfig& config, std::string user_agent,
                                                       std::function<std::string()> read_token) {
    TRY(const ServerUrl url, parse_server_url(config.server));
    std::shared_ptr<const net::TlsClientContext> tls;
    if (url.tls) {
        net::TlsClientOptions options;
        options.ca_pem = config.ca_pem;
        options.certificate_pem = config.certificate_pem;
        options.key_pem = config.key_pem;
        options.server_name = config.server_name;
        options.insecure_skip_verify = config.insecure_skip_verify;
        TRY(tls, net::TlsClientContext::create(options));
    }
    HttpTransport::Options options;
    options.host = url.authority();
    options.prefix = url.prefix;
    options.user_agent = std::move(user_agent);
    if (!config.token_file.empty() && read_token)
        options.bearer_token = std::move(read_token);
    else if (!config.token.empty())
        options.bearer_token = [token = config.token] { return token; };
    const net::ProxySettings proxies = config.direct ? net::ProxySettings() : net::ProxySettings::of_environment();
    options.proxy_might_be_missing = proxies.empty() && !config.direct && !proxies.is_exempt(url.host, url.port);
    auto http = std::make_unique<net::HttpClient>(loop, net::Endpoint{url.host, url.port, ""}, std::move(tls),
                                                  proxies.find(url.tls, url.host, url.port));
    return std::unique_ptr<Transport>(std::make_unique<HttpTransport>(std::move(http), std::move(options)));
}

}  // namespace porthole::client
