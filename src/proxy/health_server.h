#pragma once
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "proxy/health.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::proxy {

/// Answers load balancers: on each health-check node port whether this node has endpoints of that service, and on the proxy's own
/// port (`/healthz`, `/livez`) whether the rules keep up with changes.
class HealthServer final : public HealthListener {
public:
    HealthServer(AsioLoop& loop, Logger log);
    ~HealthServer() override;

    /// The proxy whose own health is told; serves it on `address` and `port` (upstream: 10256). Error: AlreadyExists, Io.
    Result<void> serve_proxy(const ProxyStatus& proxy, const std::string& address, std::uint16_t port);
    void set_health(const std::map<std::uint16_t, ServiceTable::Health>& health) override;
    Task<> close();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole::proxy
