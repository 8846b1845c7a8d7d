#include "kubelet/devices/device_health.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "api/dra_v1.h"
#include "base/result.h"
#include "objects/resource_claims.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
namespace core = api::core::v1;
namespace dra = api::dra::v1;

constexpr Duration Interval = 1s, Retry = 5s;
constexpr Duration UsuallyHolds = 30s, LongestHold = 24h;
constexpr std::size_t MostHealths = 4096, LongestName = 1024, LongestMessage = 1024;
/// Of one pod's status: it is stored with the pod, which may have 1.5 MiB, and cannot be written if it is larger.
constexpr std::size_t MostBytes = 256 << 10, Overhead = 64;

/// Of a HealthStatus.
const char* text_of(std::int32_t health) { return health == 1 ? "Healthy" : health == 2 ? "Unhealthy" : "Unknown"; }

std::string shortened(std::string message) {
    if (message.size() <= LongestMessage) return message;
    return message.substr(0, LongestMessage - 3) + "...";
}

/// Whether so many bytes are left, which are then taken; otherwise nothing is left.
bool take(std::size_t& left, std::size_t bytes) {
    left = left > bytes + Overhead ? left - bytes - Overhead : 0;
    return left > 0;
}

Duration hold_of(std::int64_t seconds) {
    return seconds <= 0 ? UsuallyHolds : std::chrono::seconds(std::min<std::int64_t>(seconds, LongestHold / 1s));
}

}  // namespace

DeviceHealth::DeviceHealth(EventLoop& loop, const DriverPlugins& drivers, Logger log, std::function<void(const std::string&)> changed)
    : loop_(loop), drivers_(drivers), log_(std::move(log)), changed_(std::move(changed)) {}

Task<> DeviceHealth::run() {
    Scope streams(loop_);
    Result<void> waited;
    while (waited) {
        const std::map<std::string, Connection> now = drivers_.connections();
        for (const auto& [driver, connection] : now) {
            Connection& followed = followed_[driver];
            if (followed == connection) continue;
            followed = connection;
            streams.spawn(follow(driver, connection));
        }
        std::erase_if(followed_, [&](const auto& entry) { return !now.contains(entry.first); });
        waited = co_await loop_.sleep(Interval);
    }
    CO_TRY_VOID(co_await streams.close());
    co_return waited;
}

Task<> DeviceHealth::follow(std::string driver, Connection connection) {
    const auto is_current = [&] {
        const auto found = followed_.find(driver);
        return found != followed_.end() && found->second == connection;
    };
    while (is_current()) {
        const auto ended = co_await connection->watch("/v1alpha1.DRAResourceHealth/NodeWatchResources", "",
                                                      [&](const std::string& message) { heard(driver, message); });
        if (is_cancelled(ended)) co_return ended;
        // Another instance of the driver may have taken over.
        if (is_current() || !followed_.contains(driver)) forget(driver);
        if (!ended && ended.error().reason == Reason::MethodNotAllowed) co_return {};
        CO_TRY_VOID(co_await loop_.sleep(Retry));
    }
    co_return {};
}

void DeviceHealth::forget(const std::string& driver) {
    if (devices_.erase(driver) > 0) changed_(driver);
}

void DeviceHealth::heard(const std::string& driver, const std::string& message) {
    auto told = schema::decode_protobuf<dra::NodeWatchResourcesResponse>(message);
    if (!told || told->devices.size() > MostHealths) {
        log_.warn("a driver's report of the health of its devices is unreadable or too long", {{"driver", driver}});
        return;
    }
    Devices& devices = devices_[driver];
    bool is_new = false;
    std::erase_if(devices, [&](const auto& entry) { return entry.second.until <= loop_.now(); });
    for (dra::DeviceHealth& one : told->devices) {
        if (!one.device || one.device->pool_name.size() > LongestName || one.device->device_name.size() > LongestName) continue;
        const std::string key = one.device->pool_name + "/" + one.device->device_name;
        if (devices.size() >= MostHealths && !devices.contains(key)) continue;
        const Duration holds = hold_of(one.health_check_timeout_seconds);
        State now{text_of(one.health), shortened(std::move(one.message)), holds, loop_.now() + holds};
        State& known = devices[key];
        is_new = is_new || known.health != now.health || known.message != now.message || known.holds != now.holds;
        known = std::move(now);
    }
    if (is_new) changed_(driver);
}

core::ResourceHealth DeviceHealth::health_of(const std::string& driver, const PreparedDevice& device) const {
    core::ResourceHealth health;
    health.resource_id = device.cdi_ids.empty() ? driver + "/" + device.pool + "/" + device.device : device.cdi_ids.front();
    health.health = "Unknown";
    const auto devices = devices_.find(driver);
    if (devices == devices_.end()) return health;
    const auto state = devices->second.find(device.pool + "/" + device.device);
    if (state == devices->second.end() || state->second.until <= loop_.now()) return health;
    health.health = state->second.health;
    if (!state->second.message.empty()) health.message = state->second.message;
    return health;
}

void DeviceHealth::add_to(const core::Pod& pod, const PreparedClaims& claims, core::PodStatus& status) const {
    const auto names = objects::resource_claim_names(pod);
    if (names.empty()) return;
    const auto prepared = claims_of(claims, pod.metadata.namespace_);
    std::unordered_map<std::string_view, const core::Container*> specs;
    for (const core::Container& container : pod.spec.containers) specs.try_emplace(container.name, &container);
    std::size_t left = MostBytes;
    for (core::ContainerStatus& container : status.container_statuses) {
        const auto spec = specs.find(container.name);
        if (spec == specs.end()) continue;
        for (const auto& wanted : spec->second->resources.claims) {
            const auto name = names.find(wanted.name);
            const auto claim = name == names.end() || !name->second ? prepared.end() : prepared.find(*name->second);
            if (claim == prepared.end()) continue;
            core::ResourceStatus resource{.name = "claim:" + wanted.name + (wanted.request.empty() ? "" : "/" + wanted.request)};
            if (!take(left, resource.name.size())) return;
            resource.resources = healths_of(*claim->second, wanted.request, left);
            container.allocated_resources_status.push_back(std::move(resource));
        }
    }
}

std::vector<core::ResourceHealth> DeviceHealth::healths_of(const PreparedClaim& claim, const std::string& request,
                                                           std::size_t& left) const {
    std::vector<core::ResourceHealth> healths;
    std::set<std::string> ids;
    for (const auto& [driver, devices] : claim.drivers)
        for (const PreparedDevice& device : devices) {
            if (!is_for(device, request)) continue;
            core::ResourceHealth health = health_of(driver, device);
            if (!ids.insert(health.resource_id).second) continue;
            if (!take(left, health.resource_id.size() + health.message.value_or("").size())) return healths;
            healths.push_back(std::move(health));
        }
    return healths;
}

}  // namespace porthole::kubelet
