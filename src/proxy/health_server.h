#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "proxy/service_table.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::proxy {

/// Receives the answers for the health-check node ports. On the proxy's loop.
class HealthListener {
public:
    virtual ~HealthListener() = default;
    virtual void set_health(const std::map<std::uint16_t, ServiceTable::Health>& health) = 0;
};

/// The progress of a proxy, on either system.
class ProxyStatus {
public:
    virtual ~ProxyStatus() = default;
    /// When the programmed state last agreed with the API.
    virtual MonotonicTime last_synced() const = 0;
    /// Since when a change waits; nullopt if all is done.
    virtual std::optional<MonotonicTime> pending_since() const = 0;
};

/// Answers load balancers: on each health-check node port whether this node has endpoints of that service, and on the proxy's own
/// port (`/healthz`, `/livez`) whether the rules keep up with changes (none has waited for a minute). Owns its servers; used on `loop`,
/// which must outlive it. close() it before destroying it.
class HealthServer final : public HealthListener {
public:
    HealthServer(AsioLoop& loop, Logger log);
    ~HealthServer() override;

    /// Serves the health of `proxy`, which must outlive close(), on `address` and `port` (upstream: 10256). Call at most once. Error:
    /// AlreadyExists, BadRequest for the address, Io.
    Result<void> serve_proxy(const ProxyStatus& proxy, const std::string& address, std::uint16_t port);
    void set_health(const std::map<std::uint16_t, ServiceTable::Health>& health) override;
    Task<> close();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole::proxy
