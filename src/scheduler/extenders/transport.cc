#include "scheduler/extenders/transport.h"

#include <utility>

#include "base/result.h"
#include "client/kubeconfig.h"
#include "net/http/http_client.h"
#include "runtime/asio_loop.h"

namespace porthole::scheduler {

namespace {

Task<net::HttpResponse> exchange(std::shared_ptr<net::HttpClient> http, net::HttpRequest request, std::size_t most) {
    CO_TRY(const auto body, co_await http->open(std::move(request)));
    net::HttpResponse response{.code = body->code(), .headers = body->headers(), .body = {}};
    for (;;) {
        CO_TRY(const auto piece, co_await body->next());
        if (!piece) co_return response;
        if (response.body.size() + piece->size() > most)
            co_return Error(Reason::RequestEntityTooLarge, "the answer is longer than " + std::to_string(most) + " bytes");
        response.body += *piece;
    }
}

class HttpTransport final : public ExtenderTransport {
public:
    HttpTransport(std::shared_ptr<net::HttpClient> http, client::ServerUrl url, Duration timeout)
        : http_(std::move(http)), url_(std::move(url)), timeout_(timeout) {}

    Task<net::HttpResponse> post(std::string verb, std::string body, std::size_t answer_bytes) override {
        net::HttpRequest request{.method = "POST", .path = url_.prefix + "/" + verb, .body = std::move(body)};
        request.headers.add("host", url_.authority());
        request.headers.add("content-type", "application/json");
        request.headers.add("user-agent", "kube-scheduler");
        co_return co_await with_timeout(exchange(http_, std::move(request), answer_bytes), timeout_, "extender");
    }

private:
    std::shared_ptr<net::HttpClient> http_;
    client::ServerUrl url_;
    Duration timeout_;
};

}  // namespace

std::unique_ptr<ExtenderTransport> HttpExtenderTransports::open(const ExtenderConfiguration& extender) {
    client::ServerUrl url = client::parse_server_url(extender.url_prefix).value();  // checked when the file was read
    opened_.push_back(std::make_shared<net::HttpClient>(loop_, net::Endpoint{.host = url.host, .port = url.port}, extender.tls));
    return std::make_unique<HttpTransport>(opened_.back(), std::move(url), extender.timeout);
}

Task<> HttpExtenderTransports::close() {
    for (const auto& http : std::exchange(opened_, {})) CO_TRY_VOID(co_await http->close());
    co_return {};
}

}  // namespace porthole::scheduler
