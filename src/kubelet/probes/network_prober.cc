#include "kubelet/probes/network_prober.h"

#include "base/result.h"
#include "base/strings.h"
#include "base/time/time.h"
#include "net/grpc/grpc.h"
#include "net/http/http_client.h"
#include "runtime/asio_loop.h"

namespace porthole::kubelet {
namespace {

constexpr std::size_t BodyLimit = 10 << 10, LargestHealth = 64 << 10;
constexpr int RedirectLimit = 10;
constexpr const char* UserAgent = "kube-probe/1.36";

std::string host_port(const std::string& host, std::uint16_t port) {
    const bool ipv6 = host.find(':') != std::string::npos;
    return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

/// "connection refused: 10.0.0.1:80" → as Go's dialer says it.
std::string dial_text(const std::string& host, std::uint16_t port, std::string message) {
    const std::string address = host_port(host, port);
    for (const std::string& suffix : {": " + address, ": " + host + ":" + std::to_string(port)})
        if (message.ends_with(suffix)) message.resize(message.size() - suffix.size());
    return "dial tcp " + address + ": " + (message == "i/o timeout" ? message : "connect: " + message);
}

bool is_redirect(int code) { return code == 301 || code == 302 || code == 303 || code == 307 || code == 308; }

/// "scheme://host[:port]/path", or "/path" on the same host.
std::optional<HttpTarget> redirect_of(const HttpTarget& from, std::string_view location) {
    HttpTarget to = from;
    if (location.starts_with('/')) {
        to.path = location;
        return to;
    }
    const std::size_t scheme = location.find("://");
    if (scheme == std::string_view::npos) return std::nullopt;
    to.https = location.substr(0, scheme) == "https";
    location.remove_prefix(scheme + 3);
    const std::size_t slash = std::min(location.find('/'), location.size());
    const std::string_view authority = location.substr(0, slash);
    const std::size_t colon = authority.rfind(':');
    const bool has_port = colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
    to.host = authority.substr(0, has_port ? colon : authority.size());
    to.port = has_port ? static_cast<std::uint16_t>(std::atoi(std::string(authority.substr(colon + 1)).c_str())) : to.https ? 443 : 80;
    to.path = slash < location.size() ? std::string(location.substr(slash)) : "/";
    return to;
}

net::HttpRequest request_for(const HttpTarget& target) {
    net::HttpRequest request;
    request.method = "GET";
    const std::size_t question = target.path.find('?');
    request.path = target.path.substr(0, question);
    if (question != std::string::npos) request.query = target.path.substr(question + 1);
    bool has_agent = false, has_accept = false;
    for (const auto& [given, value] : target.headers) {
        const std::string name = to_lower(given);
        has_agent = has_agent || name == "user-agent";
        has_accept = has_accept || name == "accept";
        if (!value.empty()) request.headers.add(name, value);
    }
    if (!has_agent) request.headers.add("user-agent", UserAgent);
    if (!has_accept) request.headers.add("accept", "*/*");
    request.headers.add("connection", "close");
    return request;
}

class AsioProber final : public NetworkProber {
public:
    explicit AsioProber(AsioLoop& loop) : loop_(loop) {}

    Task<ProbeOutcome> http(HttpTarget target, Duration timeout) override {
        const std::string url = target.url();
        auto outcome = co_await with_timeout(http_with_redirects(target), timeout, "probe");
        if (outcome) co_return std::move(outcome);
        if (is_cancelled(outcome)) co_return std::move(outcome).error();
        const bool late = outcome.error().reason == Reason::Timeout;
        const std::string why = late ? "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
                                     : dial_text(target.host, target.port, outcome.error().message);
        co_return ProbeOutcome{.output = "Get \"" + url + "\": " + why};
    }

    Task<ProbeOutcome> tcp(std::string host, std::uint16_t port, Duration timeout) override {
        net::Endpoint endpoint{.host = host, .port = port};
        auto connected = co_await with_timeout(net::connect(loop_, std::move(endpoint)), timeout, "probe");
        if (connected) {
            (*connected)->close();
            co_return ProbeOutcome{.success = true};
        }
        if (is_cancelled(connected)) co_return std::move(connected).error();
        const bool late = connected.error().reason == Reason::Timeout;
        co_return ProbeOutcome{.output = dial_text(host, port, late ? "i/o timeout" : connected.error().message)};
    }

    Task<ProbeOutcome> grpc(std::string host, std::uint16_t port, std::string service, Duration timeout) override {
        net::GrpcChannel channel(loop_, net::Endpoint{.host = host, .port = port}, nullptr, LargestHealth);
        // HealthCheckRequest {string service = 1}
        std::string message;
        if (!service.empty()) {
            message = "\n";
            std::size_t length = service.size();  // seven bits a byte, the lowest first
            for (; length > 0x7f; length >>= 7) message.push_back(static_cast<char>(length | 0x80));
            message += static_cast<char>(length) + service;
        }
        auto reply = co_await channel.call("/grpc.health.v1.Health/Check", std::move(message), timeout);
        CO_TRY_VOID(co_await channel.close());
        const std::string address = host_port(host, port);
        if (!reply) {
            if (is_cancelled(reply)) co_return std::move(reply).error();
            const bool unreachable = reply.error().reason == Reason::Timeout || reply.error().reason == Reason::Unavailable;
            co_return ProbeOutcome{.output = unreachable ? "timeout: failed to connect service \"" + address + "\" within " +
                                                               format_duration(timeout) + ": " + reply.error().message
                                                         : "error: health rpc probe failed: " + reply.error().message};
        }
        // HealthCheckResponse {ServingStatus status = 1}: 1 is SERVING
        const int status = reply->size() >= 2 && (*reply)[0] == 8 ? (*reply)[1] : 0;
        if (status == 1) co_return ProbeOutcome{.success = true, .output = "service healthy"};
        static constexpr const char* Names[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
        co_return ProbeOutcome{.output = std::string("service unhealthy (responded with \"") +
                                         Names[status >= 0 && status < 4 ? status : 0] + "\")"};
    }

private:
    Task<ProbeOutcome> http_with_redirects(HttpTarget target) {
        for (int redirects = 0; redirects <= RedirectLimit; ++redirects) {
            CO_TRY(const net::HttpResponse response, co_await get(target));
            std::string body = response.body;
            if (is_redirect(response.code)) {
                const auto next = redirect_of(target, response.headers.get("location"));
                if (next && next->host == target.host) {
                    target = *next;
                    continue;
                }
                co_return ProbeOutcome{.success = true, .warning = true, .output = "Probe terminated redirects, Response body: " + body};
            }
            if (response.code >= 200 && response.code < 400) co_return ProbeOutcome{.success = true, .output = std::move(body)};
            co_return ProbeOutcome{.output = "HTTP probe failed with statuscode: " + std::to_string(response.code)};
        }
        co_return ProbeOutcome{.output = "stopped after 10 redirects"};
    }

    Task<net::HttpResponse> get(HttpTarget target) {
        std::shared_ptr<const net::TlsClientContext> tls;
        if (target.https) {
            CO_TRY(tls, net::TlsClientContext::create({.insecure_skip_verify = true}));
        }
        net::HttpClient client(loop_, net::Endpoint{.host = target.host, .port = target.port}, tls);
        auto response = co_await read_start(client.open(request_for(target)));
        CO_TRY_VOID(co_await client.close());
        co_return response;
    }

    /// A container answers what it likes, without an end too: no more is read than is shown.
    static Task<net::HttpResponse> read_start(Task<std::unique_ptr<net::HttpBody>> opening) {
        CO_TRY(const auto body, co_await std::move(opening));
        net::HttpResponse response{.code = body->code(), .headers = body->headers(), .body = {}};
        while (response.body.size() < BodyLimit) {
            CO_TRY(const auto piece, co_await body->next());
            if (!piece) break;
            response.body.append(*piece, 0, BodyLimit - response.body.size());
        }
        co_return response;
    }

    AsioLoop& loop_;
};

}  // namespace

std::unique_ptr<NetworkProber> make_network_prober(AsioLoop& loop) { return std::make_unique<AsioProber>(loop); }

}  // namespace porthole::kubelet
