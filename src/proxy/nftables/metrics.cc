#include "proxy/nftables/metrics.h"

#include <cstdio>
#include <memory>

#include "base/metrics_text.h"
#include "proxy/nftables/nftables_proxy.h"

namespace porthole::proxy::nftables {
namespace {

void append_count(std::string& out, const char* name, const char* help, std::uint64_t count) {
    MetricFamily(out, name, "counter", help).add("", count);
}

std::string seconds(Duration since_epoch) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", std::chrono::duration<double>(since_epoch).count());
    return text;
}

Task<> answer(net::HttpResponder& responder, int code, std::string text) {
    net::Headers headers{{"content-type", "text/plain; charset=utf-8"}, {"x-content-type-options", "nosniff"}};
    std::vector<net::Bytes> parts{std::make_shared<const std::string>(std::move(text))};
    return responder.respond(code, std::move(headers), std::move(parts));
}

}  // namespace

std::string MetricsHandler::metrics() const {
    const SyncCounts& counts = proxy_.counts();
    const SystemTime synced = clock_.wall_now() - (clock_.now() - proxy_.last_synced());
    std::string out;
    MetricFamily(out, "kubeproxy_sync_proxy_rules_last_timestamp_seconds", "gauge", "When the rules were last in step with the API.")
        .add("", seconds(synced.time_since_epoch()));
    append_count(out, "kubeproxy_sync_proxy_rules_nftables_sync_failures_total", "Transactions that the kernel refused.", counts.failures);
    append_count(out, "porthole_proxy_full_syncs_total", "Times that the whole table was written.", counts.full_syncs);
    append_count(out, "porthole_proxy_partial_syncs_total", "Times that only differences were written.", counts.partial_syncs);
    append_count(out, "porthole_proxy_repairs_total", "Times that another program had changed the table.", counts.repairs);
    return out;
}

Task<> MetricsHandler::handle(net::HttpRequest request, net::HttpResponder& responder) {
    if (request.path == "/metrics") return answer(responder, 200, metrics());
    if (request.path == "/proxyMode") return answer(responder, 200, "nftables");
    if (request.path == "/healthz") return answer(responder, 200, "ok");
    return answer(responder, 404, "404 page not found\n");
}

}  // namespace porthole::proxy::nftables
