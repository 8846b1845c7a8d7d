#include "kubelet/volumes/csi/csi_limits.h"

#include <algorithm>

#include "base/result.h"
#include "base/time/bounded_seconds.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration LookAgain = 10s;  // the shortest period that the API allows: a driver that is new is not seen later

}  // namespace

std::optional<Duration> CsiLimits::period_of(const std::string& driver) const {
    const auto object = driver_objects_.find({"", driver});
    if (!object || object->spec.node_allocatable_update_period_seconds.value_or(0) <= 0) return std::nullopt;
    return bounded_seconds(*object->spec.node_allocatable_update_period_seconds);
}

Task<> CsiLimits::run() {
    CO_TRY_VOID(co_await driver_objects_.wait_for_sync());
    for (;;) {
        CO_TRY(const Duration pause, co_await refresh_due());
        CO_TRY_VOID(co_await loop_.sleep(pause));
    }
}

Task<Duration> CsiLimits::refresh_due() {
    Duration pause = LookAgain;
    const std::vector<std::string> names = drivers_.names();
    std::erase_if(asked_, [&](const auto& entry) { return std::ranges::find(names, entry.first) == names.end(); });
    for (const std::string& name : names) {
        const auto period = period_of(name);
        if (!period) {
            asked_.erase(name);
            continue;
        }
        const auto [last, is_new] = asked_.try_emplace(name, loop_.now());
        if (!is_new && loop_.now() - last->second >= *period) {
            last->second = loop_.now();
            const auto refreshed = co_await drivers_.refresh_limit(name);
            if (is_cancelled(refreshed)) co_return refreshed.error();
            if (!refreshed) log_.warn("limit of volumes not updated", {{"driver", name}, {"error", refreshed.error().message}});
        }
        pause = std::min(pause, *period);
    }
    co_return pause;
}

}  // namespace porthole::kubelet
