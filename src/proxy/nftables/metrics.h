#pragma once
#include <string>

#include "net/http/http.h"
#include "runtime/event_loop.h"

namespace porthole::proxy::nftables {

class NftablesProxy;

/// The proxy's own port (upstream: 10249): `/metrics` in Prometheus' text form, `/healthz` and `/proxyMode`. Without TLS and
/// authentication: serve it on loopback only. On the proxy's loop.
class MetricsHandler final : public net::HttpHandler {
public:
    MetricsHandler(const NftablesProxy& proxy, const Clock& clock) : proxy_(proxy), clock_(clock) {}
    Task<> handle(net::HttpRequest request, net::HttpResponder& responder) override;

private:
    std::string metrics() const;

    const NftablesProxy& proxy_;
    const Clock& clock_;
};

}  // namespace porthole::proxy::nftables
