#include "kubelet/devices/driver_plugins.h"

#include <algorithm>

#include "api/resource_v1.h"
#include "base/result.h"
#include "net/http/http.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
namespace dra = api::dra::v1;

constexpr Duration DriverCallLimit = 45s;  // upstream's
constexpr Duration SlicesKept = 30s;       // after a driver is gone: it may be being replaced
constexpr Duration RemovalRetry = 10s;
// Of one claim; more than any claim can hold.
constexpr std::size_t MostDevices = 1024, MostIds = 1024, LongestText = 1024;

/// The versions of the drivers' interface, the one that is preferred first. Their messages are the same.
constexpr struct {
    const char *announced, *service;
} Versions[] = {
    {"v1.DRAPlugin", "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"},
    {"v1beta1.DRAPlugin", "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin"},
};

dra::Claim message_of(const ClaimName& claim) {
    dra::Claim message;
    message.namespace_ = claim.namespace_;
    message.name = claim.name;
    message.uid = claim.uid;
    return message;
}

Result<std::vector<PreparedDevice>> checked_devices(std::vector<dra::Device> devices) {
    const auto too_long = [](const std::vector<std::string>& texts) {
        return texts.size() > MostIds || std::ranges::any_of(texts, [](const std::string& text) { return text.size() > LongestText; });
    };
    if (devices.size() > MostDevices) return Error(Reason::BadRequest, "NodePrepareResources returned too many devices");
    std::vector<PreparedDevice> made;
    std::size_t ids = 0;
    for (dra::Device& device : devices) {
        ids += device.cdi_device_ids.size();
        if (too_long(device.cdi_device_ids) || too_long(device.request_names) || device.pool_name.size() > LongestText ||
            device.device_name.size() > LongestText || ids > MostIds)
            return Error(Reason::BadRequest, "NodePrepareResources returned too much for a device");
        made.push_back({std::move(device.pool_name), std::move(device.device_name), std::move(device.request_names),
                        std::move(device.cdi_device_ids)});
    }
    return made;
}

}  // namespace

DriverPlugins::DriverPlugins(EventLoop& loop, client::Client& client, PluginConnector& connector, Logger log, std::string node_name)
    : loop_(loop), client_(client), connector_(connector), log_(std::move(log)), node_name_(std::move(node_name)) {
    gone_since_[""] = loop_.now() - SlicesKept;
}

Task<> DriverPlugins::add_plugin(PluginInfo info) {
    const auto version = std::ranges::find_if(
        Versions, [&](const auto& one) { return std::ranges::find(info.versions, one.announced) != info.versions.end(); });
    if (version == std::end(Versions))
        co_return Error(Reason::BadRequest, "invalid versions of plugin " + info.name + ": none of the supported gRPC services found");
    auto& instances = drivers_[info.name];
    std::shared_ptr<PluginConnection> replaced;
    const auto old = std::ranges::find_if(instances, [&](const Instance& one) { return one.info.socket == info.socket; });
    if (old != instances.end()) {
        replaced = old->connection;
        instances.erase(old);
    }
    std::shared_ptr<PluginConnection> connection = connector_.connect(info.endpoint);
    gone_since_.erase(info.name);
    instances.push_back({std::move(info), version->service, std::move(connection)});
    if (!replaced) co_return {};
    const auto closed = co_await replaced->close();
    if (is_cancelled(closed)) co_return closed;
    co_return {};
}

Task<> DriverPlugins::remove_plugin(PluginInfo info) {
    const auto found = drivers_.find(info.name);
    if (found == drivers_.end()) co_return {};
    const auto instance = std::ranges::find_if(found->second, [&](const Instance& one) { return one.info.socket == info.socket; });
    if (instance == found->second.end()) co_return {};
    const std::shared_ptr<PluginConnection> connection = instance->connection;
    found->second.erase(instance);
    if (found->second.empty()) {
        drivers_.erase(found);
        gone_since_[info.name] = loop_.now();
        changed_.set();
    }
    co_return co_await connection->close();
}

Task<> DriverPlugins::run() {
    for (;;) {
        changed_.reset();
        std::vector<std::pair<std::string, MonotonicTime>> due;
        for (const auto& [driver, since] : gone_since_)
            if (loop_.now() - since >= SlicesKept) due.emplace_back(driver, since);
        for (const auto& [driver, since] : due) {
            // Earlier ones took their time.
            const auto is_still_gone = [&] {
                const auto now = gone_since_.find(driver);
                return now != gone_since_.end() && now->second == since;
            };
            if (!is_still_gone()) continue;
            const auto removed = co_await remove_slices(driver);
            if (is_cancelled(removed)) co_return removed;
            if (!removed) log_.warn("resource slices not deleted", {{"driver", driver}, {"error", removed.error().message}});
            if (!is_still_gone()) continue;  // it came back and went again: its new slices have their own time
            if (removed)
                gone_since_.erase(driver);
            else
                gone_since_[driver] = loop_.now() - SlicesKept + RemovalRetry;
        }
        Duration pause = 1h;
        for (const auto& [driver, since] : gone_since_) pause = std::min(pause, since + SlicesKept - loop_.now());
        const auto woken = co_await with_timeout(changed_.wait(), std::max<Duration>(pause, 100ms), "drivers' slices");
        if (is_cancelled(woken)) co_return woken;
    }
}

/// Of one driver, or of all.
Task<> DriverPlugins::remove_slices(std::string driver) {
    std::string selector = "spec.nodeName=" + node_name_;
    if (!driver.empty()) selector += ",spec.driver=" + driver;
    return client_.remove_raw(client::Client::collection_path(api::resource::v1::ResourceSlice::kind(), ""), {},
                              "fieldSelector=" + net::percent_encode(selector));
}

Result<const DriverPlugins::Instance*> DriverPlugins::find(const std::string& driver) const {
    const auto found = drivers_.find(driver);
    if (found == drivers_.end()) return Error(Reason::NotFound, "DRA driver " + driver + " is not registered");
    return &found->second.back();
}

std::map<std::string, std::shared_ptr<PluginConnection>> DriverPlugins::connections() const {
    std::map<std::string, std::shared_ptr<PluginConnection>> found;
    for (const auto& [driver, instances] : drivers_)
        if (!instances.empty()) found[driver] = instances.back().connection;
    return found;
}

Result<void> DriverPlugins::check_registered(const std::string& driver) const {
    TRY_VOID(find(driver));
    return {};
}

Task<std::map<std::string, std::vector<PreparedDevice>>> DriverPlugins::prepare(std::string driver, std::vector<ClaimName> claims) {
    CO_TRY(const Instance* instance, find(driver));
    const std::shared_ptr<PluginConnection> connection = instance->connection;
    dra::NodePrepareResourcesRequest request;
    for (const ClaimName& claim : claims) request.claims.push_back(message_of(claim));
    auto answered = co_await connection->call(dra::DRAPlugin::NodePrepareResources, std::move(request), DriverCallLimit,
                                              "/" + instance->service + "/NodePrepareResources");
    if (!answered) co_return std::move(answered).error().with_context("NodePrepareResources");
    std::map<std::string, std::vector<PreparedDevice>> prepared;
    for (const ClaimName& claim : claims) {
        const auto answer = answered->claims.find(claim.uid);
        if (answer == answered->claims.end())
            co_return Error(Reason::InternalError, "NodePrepareResources skipped ResourceClaim " + claim.name);
        if (!answer->second.error.empty())
            co_return Error(Reason::InternalError, "NodePrepareResources failed for ResourceClaim " + claim.name + ": " +
                                                       answer->second.error.substr(0, LongestText));
        CO_TRY(prepared[claim.uid], checked_devices(std::move(answer->second.devices)));
    }
    co_return prepared;
}

Task<> DriverPlugins::unprepare(std::string driver, std::vector<ClaimName> claims) {
    CO_TRY(const Instance* instance, find(driver));
    const std::shared_ptr<PluginConnection> connection = instance->connection;
    dra::NodeUnprepareResourcesRequest request;
    for (const ClaimName& claim : claims) request.claims.push_back(message_of(claim));
    auto answered = co_await connection->call(dra::DRAPlugin::NodeUnprepareResources, std::move(request), DriverCallLimit,
                                              "/" + instance->service + "/NodeUnprepareResources");
    if (!answered) co_return std::move(answered).error().with_context("NodeUnprepareResources");
    for (const ClaimName& claim : claims) {
        const auto answer = answered->claims.find(claim.uid);
        if (answer == answered->claims.end())
            co_return Error(Reason::InternalError, "NodeUnprepareResources skipped ResourceClaim " + claim.name);
        if (!answer->second.error.empty())
            co_return Error(Reason::InternalError, "NodeUnprepareResources failed for ResourceClaim " + claim.name + ": " +
                                                       answer->second.error.substr(0, LongestText));
    }
    co_return {};
}

}  // namespace porthole::kubelet
