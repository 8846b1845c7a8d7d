#pragma once
#include <map>
#include <memory>
#include <string>

#include "api/csi_v1.h"
#include "base/log.h"
#include "kubelet/plugins/plugin_registry.h"
#include "kubelet/volumes/csi/csi_metrics.h"
#include "kubelet/volumes/csi/csi_node_info.h"

namespace porthole::kubelet {

/// The capabilities of a driver's node service.
struct CsiCapabilities {
    bool stage = false, stats = false, expand = false, condition = false, single_node_multi_writer = false, mount_group = false;
};

/// The drivers of volumes on this node, by the CSI of version 1. A second instance of a driver is refused while the first is there. Lives
/// on the kubelet's loop; all references outlive it.
class CsiDrivers final : public PluginHandler {
public:
    static constexpr const char* Type = "CSIPlugin";
    static constexpr Duration CallLimit = std::chrono::minutes(2);  ///< upstream's

    CsiDrivers(EventLoop& loop, PluginConnector& connector, CsiNodeInfo& node) : loop_(loop), connector_(connector), node_(node) {}

    /// Publishes the driver in the CSINode. Error: with upstream's message.
    Task<> add_plugin(PluginInfo info) override;
    Task<> remove_plugin(PluginInfo info) override;

    /// The registered drivers.
    std::vector<std::string> names() const;
    /// Asks the driver again how many volumes the node can have, and publishes it. Error: as of call().
    Task<> refresh_limit(std::string driver);

    /// Error: NotFound, "driver name x not found in the list of registered CSI drivers".
    Result<void> check_registered(const std::string& driver) const;
    /// Read once for each instance. Error: as of call().
    Task<CsiCapabilities> capabilities(std::string driver);
    /// Error: as check_registered(); otherwise the driver's error, as "rpc error: code = Internal desc = ...".
    template <class Method>
    Task<typename Method::Response> call(std::string driver, const Method& method, typename Method::Request request,
                                         Duration limit = CallLimit) {
        CO_TRY(const std::shared_ptr<Instance> instance, find(driver));
        const MonotonicTime begin = loop_.now();
        auto answer = co_await instance->connection->call(method, std::move(request), limit);
        record(driver, method.path, answer ? nullptr : &answer.error(), begin);
        if (!answer) co_return told(std::move(answer).error());
        co_return answer;
    }
    const CsiMetrics& metrics() const { return metrics_; }

private:
    struct Instance {
        PluginInfo info;
        std::pair<int, int> version;
        std::shared_ptr<PluginConnection> connection;
        std::optional<CsiCapabilities> capabilities;
    };
    Result<std::shared_ptr<Instance>> find(const std::string& driver) const;
    Task<> introduce(std::shared_ptr<Instance> instance);
    static Error told(Error error);
    /// `error`: null if there is none.
    void record(const std::string& driver, std::string_view method, const Error* error, MonotonicTime begin);

    EventLoop& loop_;
    PluginConnector& connector_;
    CsiNodeInfo& node_;
    std::map<std::string, std::shared_ptr<Instance>> drivers_;
    CsiMetrics metrics_;
};

/// Whether the driver has certainly done nothing, or reverted it: after other errors it may still be working.
bool is_final_csi_error(const Error& error);

/// Whether it may be part of a path, and is a driver's name as the API allows it.
bool is_csi_driver_name(const std::string& name);

}  // namespace porthole::kubelet
