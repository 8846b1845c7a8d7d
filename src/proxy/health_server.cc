#include "proxy/health_server.h"

#include "base/time/time.h"
#include "net/http/http_server.h"
#include "runtime/asio_loop.h"
#include "runtime/scope.h"
#include "schema/json/json.h"

namespace porthole::proxy {

namespace {

using schema::Value;

Task<> answer(net::HttpResponder& responder, int code, const Value& body, net::Headers headers) {
    headers.add("content-type", "application/json");
    headers.add("x-content-type-options", "nosniff");
    std::vector<net::Bytes> parts{std::make_shared<const std::string>(schema::to_json(body))};
    return responder.respond(code, std::move(headers), std::move(parts));
}

/// A change that has waited longer than this means that the proxy does not keep up: twice upstream's sync period.
constexpr Duration LongestDelay = std::chrono::seconds(60);

bool keeps_up(const ProxyStatus* proxy, const Clock& clock) {
    return !proxy || !proxy->pending_since() || clock.now() - *proxy->pending_since() < LongestDelay;
}

class ServiceHandler final : public net::HttpHandler {
public:
    ServiceHandler(const Clock& clock, const ProxyStatus* const& proxy) : clock_(clock), proxy_(proxy) {}
    void set(ServiceTable::Health health) { health_ = std::move(health); }

    Task<> handle(net::HttpRequest, net::HttpResponder& responder) override {
        const bool healthy = keeps_up(proxy_, clock_);
        const std::size_t slash = health_.service.find('/');
        const Value body = Value::object(
            {{"service", Value::object({{"namespace", health_.service.substr(0, slash)}, {"name", health_.service.substr(slash + 1)}})},
             {"localEndpoints", health_.local_endpoints},
             {"serviceProxyHealthy", healthy}});
        net::Headers headers{{"x-load-balancing-endpoint-weight", std::to_string(health_.local_endpoints)}};
        return answer(responder, health_.local_endpoints > 0 && healthy ? 200 : 503, body, std::move(headers));
    }

private:
    const Clock& clock_;
    const ProxyStatus* const& proxy_;
    ServiceTable::Health health_;
};

class ProxyHandler final : public net::HttpHandler {
public:
    ProxyHandler(const Clock& clock, const ProxyStatus* const& proxy) : clock_(clock), proxy_(proxy) {}

    Task<> handle(net::HttpRequest request, net::HttpResponder& responder) override {
        if (request.path != "/healthz" && request.path != "/livez") {
            return answer(responder, 404, Value::object({{"error", "not found"}}), {});
        }
        const bool healthy = keeps_up(proxy_, clock_);
        const SystemTime now = clock_.wall_now();
        const SystemTime updated = now - (clock_.now() - proxy_->last_synced());
        const auto text = [](SystemTime time) { return MicroTimestamp(time).to_string(); };
        const Value body =
            Value::object({{"lastUpdated", text(updated)},
                           {"currentTime", text(now)},
                           {"healthy", healthy},
                           {"status", Value::object({{"IPv4", Value::object({{"lastUpdated", text(updated)}, {"healthy", healthy}})}})}});
        return answer(responder, healthy ? 200 : 503, body, {});
    }

private:
    const Clock& clock_;
    const ProxyStatus* const& proxy_;
};

}  // namespace

struct HealthServer::Impl {
    struct Port {
        std::unique_ptr<ServiceHandler> handler;
        std::unique_ptr<net::HttpServer> server;
    };
    Impl(AsioLoop& loop, Logger log) : loop(loop), log(std::move(log)), closing(loop) {}

    AsioLoop& loop;
    Logger log;
    const ProxyStatus* proxy = nullptr;
    std::unique_ptr<ProxyHandler> proxy_handler;
    std::unique_ptr<net::HttpServer> proxy_server;
    std::map<std::uint16_t, Port> ports;
    Scope closing;  // servers of ports no longer wanted

    static Task<> close_port(Port port) {
        CO_TRY_VOID(co_await port.server->close());
        co_return {};
    }
};

HealthServer::HealthServer(AsioLoop& loop, Logger log) : impl_(std::make_unique<Impl>(loop, std::move(log))) {}
HealthServer::~HealthServer() = default;

Result<void> HealthServer::serve_proxy(const ProxyStatus& proxy, const std::string& address, std::uint16_t port) {
    impl_->proxy = &proxy;
    impl_->proxy_handler = std::make_unique<ProxyHandler>(impl_->loop, impl_->proxy);
    impl_->proxy_server = std::make_unique<net::HttpServer>(impl_->loop, *impl_->proxy_handler, net::HttpServerOptions{}, impl_->log);
    TRY_VOID(impl_->proxy_server->listen(address, port));
    return {};
}

void HealthServer::set_health(const std::map<std::uint16_t, ServiceTable::Health>& health) {
    for (auto port = impl_->ports.begin(); port != impl_->ports.end();) {
        if (health.contains(port->first)) {
            ++port;
        } else {
            impl_->closing.spawn(Impl::close_port(std::move(port->second)));
            port = impl_->ports.erase(port);
        }
    }
    for (const auto& [number, said] : health) {
        Impl::Port& port = impl_->ports[number];
        if (!port.server) {
            port.handler = std::make_unique<ServiceHandler>(impl_->loop, impl_->proxy);
            port.server = std::make_unique<net::HttpServer>(impl_->loop, *port.handler, net::HttpServerOptions{}, impl_->log);
            if (const auto listening = port.server->listen("0.0.0.0", number); !listening) {
                impl_->log.warn("health-check node port not served", {{"port", number}, {"error", listening.error().message}});
            }
        }
        port.handler->set(said);
    }
}

Task<> HealthServer::close() {
    for (auto& [number, port] : impl_->ports) CO_TRY_VOID(co_await port.server->close());
    if (impl_->proxy_server) CO_TRY_VOID(co_await impl_->proxy_server->close());
    CO_TRY_VOID(co_await impl_->closing.close());
    co_return {};
}

}  // namespace porthole::proxy
