#pragma once
#include <map>
#include <optional>

#include "proxy/service_table.h"
#include "runtime/event_loop.h"

namespace porthole::proxy {

/// Gets told what the health-check node ports have to say.
class HealthListener {
public:
    virtual ~HealthListener() = default;
    virtual void set_health(const std::map<std::uint16_t, ServiceTable::Health>& health) = 0;
};

/// How far a proxy has got, whatever it programs.
class ProxyStatus {
public:
    virtual ~ProxyStatus() = default;
    /// When what is programmed last was in step with the API.
    virtual MonotonicTime last_synced() const = 0;
    /// Since when a change waits; nothing when all is done.
    virtual std::optional<MonotonicTime> pending_since() const = 0;
};

}  // namespace porthole::proxy
