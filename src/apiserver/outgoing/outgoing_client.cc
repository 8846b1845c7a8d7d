#include "apiserver/outgoing/outgoing_client.h"

#include <algorithm>
#include <vector>

#include "net/http/http_client.h"
#include "net/tls/tls.h"
#include "runtime/asio_loop.h"

namespace porthole::apiserver {
namespace {

/// How long a token that was read from a file is used before the file is read again, as upstream's clients do.
constexpr Duration TokenFileAge = std::chrono::minutes(1);
constexpr std::size_t LargestTokenFile = 64 << 10;

Task<net::HttpResponse> exchange(std::shared_ptr<net::HttpClient> http, net::HttpRequest request, std::size_t most) {
    CO_TRY(const auto body, co_await http->open(std::move(request)));
    net::HttpResponse response{.code = body->code(), .headers = body->headers(), .body = {}};
    for (;;) {
        CO_TRY(auto piece, co_await body->next());
        if (!piece) co_return response;
        if (response.body.size() + piece->size() > most)
            co_return Error(Reason::RequestEntityTooLarge, "the answer is longer than " + std::to_string(most) + " bytes");
        response.body += *piece;
    }
}

class HttpOutgoingClient final : public OutgoingClient {
public:
    HttpOutgoingClient(std::shared_ptr<net::HttpClient> http, client::ClientConfig server, client::ServerUrl url, FileSystem& files,
                       const Clock& clock)
        : http_(std::move(http)), server_(std::move(server)), url_(std::move(url)), files_(files), clock_(clock) {}

    Task<net::HttpResponse> send(net::HttpRequest request, OutgoingLimits limits) override {
        CO_TRY_VOID(complete(request));
        co_return co_await with_timeout(exchange(http_, std::move(request), limits.answer_bytes), limits.time, "answer of the server");
    }
    Task<std::unique_ptr<net::HttpBody>> open(net::HttpRequest request) override {
        CO_TRY_VOID(complete(request));
        co_return co_await http_->open(std::move(request));
    }
    Task<net::Upgraded> upgrade(net::HttpRequest request) override {
        CO_TRY_VOID(complete(request));
        co_return co_await http_->upgrade(std::move(request));
    }

private:
    /// Where it goes, and as whom.
    Result<void> complete(net::HttpRequest& request) {
        request.path = url_.prefix + request.path;
        if (request.path.empty()) request.path = "/";
        if (!request.headers.has("host")) request.headers.add("host", url_.authority());
        if (!request.headers.has("user-agent")) request.headers.add("user-agent", "kube-apiserver");
        TRY(const std::string token, bearer_token());
        if (!token.empty()) request.headers.add("authorization", "Bearer " + token);
        return {};
    }
    Result<std::string> bearer_token() {
        if (server_.token_file.empty()) return server_.token;
        if (token_.empty() || clock_.now() - read_at_ >= TokenFileAge) {
            TRY(const std::string text, files_.read(server_.token_file, LargestTokenFile));
            token_ = text;
            while (!token_.empty() && (token_.back() == '\n' || token_.back() == '\r')) token_.pop_back();
            read_at_ = clock_.now();
        }
        return token_;
    }

    std::shared_ptr<net::HttpClient> http_;
    client::ClientConfig server_;
    client::ServerUrl url_;
    FileSystem& files_;
    const Clock& clock_;
    std::string token_;
    MonotonicTime read_at_;
};

class HttpOutgoingClients final : public OutgoingClients {
public:
    HttpOutgoingClients(AsioLoop& loop, FileSystem& files) : loop_(loop), files_(files) {}

    Result<std::unique_ptr<OutgoingClient>> open(const client::ClientConfig& server) override {
        if (closed_) return Error(Reason::Unavailable, "the server is shutting down");
        TRY(client::ServerUrl url, client::parse_server_url(server.server));
        std::shared_ptr<const net::TlsClientContext> tls;
        if (url.tls) {
            TRY(tls, net::TlsClientContext::create({.ca_pem = server.ca_pem,
                                                    .certificate_pem = server.certificate_pem,
                                                    .key_pem = server.key_pem,
                                                    .server_name = server.server_name,
                                                    .insecure_skip_verify = server.insecure_skip_verify}));
        }
        auto http = std::make_shared<net::HttpClient>(loop_, net::Endpoint{url.host, url.port, "", server.global_only}, std::move(tls));
        std::erase_if(opened_, [](const auto& one) { return one.expired(); });
        opened_.push_back(http);
        return std::unique_ptr<OutgoingClient>(
            std::make_unique<HttpOutgoingClient>(std::move(http), server, std::move(url), files_, loop_));
    }
    FileSystem& files() override { return files_; }
    Task<> close() override {
        closed_ = true;
        for (const auto& one : std::exchange(opened_, {}))
            if (const auto http = one.lock()) CO_TRY_VOID(co_await http->close());
        co_return {};
    }

private:
    AsioLoop& loop_;
    FileSystem& files_;
    std::vector<std::weak_ptr<net::HttpClient>> opened_;  ///< those that are still in use, to be closed
    bool closed_ = false;
};

}  // namespace

std::unique_ptr<OutgoingClients> make_outgoing_clients(AsioLoop& loop, FileSystem& files) {
    return std::make_unique<HttpOutgoingClients>(loop, files);
}

Result<std::unique_ptr<OutgoingClient>> open_by_kubeconfig(OutgoingClients& clients, const std::string& path) {
    const auto opened = [&]() -> Result<std::unique_ptr<OutgoingClient>> {
        // read_kubeconfig would advise to join, which is for the kubeconfig of a node.
        if (!clients.files().exists(path)) return Error(Reason::NotFound, "no such file");
        TRY(const client::Kubeconfig kubeconfig, client::read_kubeconfig(clients.files(), path));
        TRY(const client::ClientConfig server, kubeconfig.resolve(clients.files()));
        return clients.open(server);
    };
    auto client = opened();
    if (!client) return std::move(client).error().with_context(path);
    return client;
}

}  // namespace porthole::apiserver
