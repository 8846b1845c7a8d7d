#include "kubelet/probes/network_prober.h"

#include "net/grpc.h"
#include "net/http_client.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t OutputLimit = 10 << 10;
constexpr int MostRedirects = 10;

ProbeOutcome failure(std::string why) { return {.output = std::move(why)}; }

bool is_redirect(int code) { return code == 301 || code == 302 || code == 303 || code == 307 || code == 308; }

/// Where a redirect leads, if it stays on the same host; nullopt if it leaves it.
std::optional<HttpTarget> follow(const HttpTarget& target, std::string_view location) {
    HttpTarget next = target;
    const std::size_t scheme = location.find("://");
    if (scheme == location.npos) {
        next.path = location.starts_with('/') ? std::string(location) : "/" + std::string(location);
        return next;
    }
    next.https = location.substr(0, scheme) == "https";
    const std::string_view rest = location.substr(scheme + 3);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view authority = rest.substr(0, slash);
    const std::string own = target.host + ":" + std::to_string(target.port);
    if (authority != own && authority != target.host) return std::nullopt;
    next.path = slash == rest.size() ? "/" : std::string(rest.substr(slash));
    return next;
}

class SocketProber final : public NetworkProber {
public:
    explicit SocketProber(AsioLoop& loop) : loop_(loop) {}

    Task<ProbeOutcome> http(HttpTarget target, Duration timeout) override {
        for (int i = 0; i <= MostRedirects; ++i) {
            auto answered = co_await with_timeout(get(target), timeout, "probe");
            if (!answered && answered.error().reason == Reason::Cancelled) co_return std::move(answered).error();
            if (!answered && answered.error().reason == Reason::Timeout) {
                co_return failure("Get \"" + target.url() + "\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
            }
            if (!answered) co_return failure("Get \"" + target.url() + "\": " + answered.error().message);
            net::HttpResponse& response = *answered;
            if (is_redirect(response.code)) {
                auto next = follow(target, response.headers.get("location"));
                if (!next) co_return ProbeOutcome{.success = true, .warning = true, .output = "Probe terminated redirects, Response body: " + response.body};
                target = std::move(*next);
                continue;
            }
            response.body.resize(std::min(response.body.size(), OutputLimit));
            if (response.code >= 200 && response.code < 400) co_return ProbeOutcome{.success = true, .output = std::move(response.body)};
            co_return failure("HTTP probe failed with statuscode: " + std::to_string(response.code));
        }
        co_return failure("Get \"" + target.url() + "\": stopped after 10 redirects");
    }

    Task<ProbeOutcome> tcp(std::string host, std::uint16_t port, Duration timeout) override {
        auto connected = co_await with_timeout(net::connect(loop_, {.host = host, .port = port}), timeout, "probe");
        if (connected) co_return ProbeOutcome{.success = true};
        if (connected.error().reason == Reason::Cancelled) co_return std::move(connected).error();
        const std::string why = connected.error().reason == Reason::Timeout ? "i/o timeout" : connected.error().message;
        co_return failure("dial tcp " + host + ":" + std::to_string(port) + ": " + why);
    }

    Task<ProbeOutcome> grpc(std::string host, std::uint16_t port, std::string service, Duration timeout) override {
        net::GrpcChannel channel(loop_, {.host = host, .port = port});
        auto answered = co_await channel.call("/grpc.health.v1.Health/Check", health_request(service), timeout);
        auto closed = co_await channel.close();
        if (!closed) co_return std::move(closed).error();
        if (!answered && answered.error().reason == Reason::Cancelled) co_return std::move(answered).error();
        const std::string where = "service \"" + host + ":" + std::to_string(port) + "\"";
        if (!answered && answered.error().reason == Reason::Timeout) co_return failure("timeout: failed to connect " + where + " within " + std::to_string(timeout / 1s) + "s: context deadline exceeded");
        if (!answered && net::grpc_status_of(answered.error()) == net::GrpcStatus::Unimplemented) {
            co_return failure("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " + answered.error().message);
        }
        if (!answered) co_return failure("error: health rpc probe failed: " + answered.error().message);
        if (*answered == Serving) co_return ProbeOutcome{.success = true, .output = "service healthy"};
        co_return failure("service unhealthy (responded with \"" + std::string(answered->empty() ? "UNKNOWN" : "NOT_SERVING") + "\")");
    }

private:
    /// HealthCheckResponse{status: SERVING}: field 1, varint 1.
    static constexpr std::string_view Serving = "\x08\x01";

    /// HealthCheckRequest{service}: field 1, a string. Service names are short: one byte of length, or two.
    static std::string health_request(const std::string& service) {
        if (service.empty()) return "";
        std::string message = "\x0a";
        std::size_t length = service.size();
        for (; length >= 0x80; length >>= 7) message += static_cast<char>(length | 0x80);
        message += static_cast<char>(length);
        return message + service;
    }

    Task<net::HttpResponse> get(HttpTarget target) {
        std::shared_ptr<const net::TlsClientContext> tls;
        if (target.https) {
            CO_TRY(tls, net::TlsClientContext::create({.server_name = target.host, .insecure_skip_verify = true}));
        }
        net::HttpClient client(loop_, {.host = target.host, .port = target.port}, std::move(tls));
        net::HttpRequest request;
        request.method = "GET";
        const std::size_t question = std::min(target.path.find('?'), target.path.size());
        request.path = target.path.substr(0, question);
        request.query = question < target.path.size() ? target.path.substr(question + 1) : "";
        bool has_host = false, has_agent = false;
        for (const auto& [name, value] : target.headers) {
            std::string lower = name;
            for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            has_host = has_host || lower == "host";
            has_agent = has_agent || lower == "user-agent";
            request.headers.add(std::move(lower), value);
        }
        if (!has_host) request.headers.add("host", target.host + ":" + std::to_string(target.port));
        if (!has_agent) request.headers.add("user-agent", "kube-probe/1.36");
        auto response = co_await client.send(std::move(request));
        auto closed = co_await client.close();
        if (!closed) co_return std::move(closed).error();
        co_return response;
    }

    AsioLoop& loop_;
};

}  // namespace

std::unique_ptr<NetworkProber> make_network_prober(AsioLoop& loop) { return std::make_unique<SocketProber>(loop); }

}  // namespace porthole::kubelet
