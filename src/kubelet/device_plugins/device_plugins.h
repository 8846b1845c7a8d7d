#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"
#include "base/log.h"
#include "kubelet/device_plugins/device_allocations.h"
#include "kubelet/device_plugins/device_choice.h"
#include "kubelet/node/node_health.h"
#include "kubelet/plugins/plugin_registry.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// Kubernetes' device plugins, interface v1beta1: programs on the node that offer devices as an extended resource each.
///
/// A plugin registers at `directory`/kubelet.sock, or as a plugin of the PluginRegistry. Its list of devices is followed until its
/// connection is lost: then none of them is healthy, and after five minutes there are none. The devices of a pod are chosen and allocated
/// before its sandbox is made, those of its init containers are used again, and all are free when it has ended. Allocations are kept in a
/// file, so that containers that restart have the same devices, also after a restart of the kubelet. Lives on `loop`; the services outlive
/// it.
class DevicePlugins final : public PluginHandler {
public:
    static constexpr const char* Type = "DevicePlugin";
    static constexpr std::size_t MostResources = 256, MostDevices = 16'384, LongestId = 1024;
    /// Of what is kept for one pod: each of thousands of init containers may have all devices of the node.
    static constexpr std::size_t MostBytes = 8 << 20;

    struct Services {
        EventLoop& loop;
        FileSystem& files;
        PluginConnector& connector;
        Logger log;
        std::function<void()> report_node;                         ///< the amounts have changed
        std::function<void(const std::string& pod_uid)> wake_pod;  ///< the health of its devices has changed
    };
    /// Reads the checkpoint in `directory`, if there is one; an unreadable one is kept as `….unreadable`.
    DevicePlugins(Services services, std::string directory);

    /// Serves registrations, until cancelled. Removes what an earlier kubelet and its plugins have left in the directory: a plugin sees
    /// from that that it has to register again. Where there can be no socket, only the PluginRegistry's plugins are used.
    Task<> run();
    Task<> add_plugin(PluginInfo info) override;
    Task<> remove_plugin(PluginInfo info) override;

    /// For the node's status: of all resources that have or had plugins.
    std::map<std::string, DeviceAmounts> amounts() const;
    /// Their ids, by resource.
    std::map<std::string, std::set<std::string>> healthy_devices() const;

    /// Allocates what the pod's containers request and do not have yet. Why it cannot, in upstream's words: the pod is to be rejected;
    /// nullopt if all is allocated. Error: a plugin is not there; to be retried.
    Task<std::optional<std::string>> allocate(std::shared_ptr<const api::core::v1::Pod> pod);
    /// What is allocated to the container, by resource.
    std::map<std::string, AllocatedDevices> devices_of(const std::string& pod_uid, const std::string& container) const;
    /// Lets the plugins that ask for it prepare the container's devices; before each of its starts. Error: of a plugin.
    Task<> prepare_start(std::string pod_uid, std::string container);
    /// The pod has ended.
    void release(const std::string& pod_uid);
    void release_stale(const std::function<bool(const std::string& pod_uid)>& is_known);
    /// Adds the health of its devices to each container.
    void add_health(const api::core::v1::Pod& pod, api::core::v1::PodStatus& status) const;

    const DeviceAllocations& allocations() const { return allocations_; }

private:
    using Connection = std::shared_ptr<PluginConnection>;
    struct Resource {
        Connection plugin;  ///< null: there is none now
        std::string socket;
        api::deviceplugin::v1beta1::DevicePluginOptions options;
        std::map<std::string, bool> devices;  ///< by id: whether it is healthy
        MonotonicTime lost{};                 ///< when the last plugin was
    };
    /// What the containers of a pod that were seen so far leave to the next ones, by resource.
    using Reusable = std::map<std::string, std::set<std::string>>;

    Task<std::string> register_plugin(std::string request);
    Result<void> use(const std::string& resource, std::string socket, api::deviceplugin::v1beta1::DevicePluginOptions options);
    Task<> follow(std::string resource, Connection plugin);
    void heard(const std::string& resource, const Connection& plugin, const std::string& message);
    void lose(const std::string& resource, const Connection& plugin);
    Task<> forget_lost();
    void changed(const std::string& resource);
    Resource* find(const std::string& resource, const Connection& plugin);

    Task<std::optional<std::string>> allocate_container(std::string pod_uid, std::string container,
                                                        std::map<std::string, std::size_t> wanted, Reusable& reusable);
    Task<std::optional<std::string>> allocate_resource(std::string resource, DeviceChoice choice, AllocatedDevices& allocated);
    Task<std::vector<std::string>> ask_for_preferred(Connection plugin, DeviceChoice choice);
    std::set<std::string> free_devices(const std::string& resource) const;
    bool has_all(const api::core::v1::Pod& pod) const;
    Result<void> save() const;

    Services services_;
    std::string directory_;
    std::map<std::string, Resource> resources_;
    DeviceAllocations allocations_;
    Semaphore allocating_{1};
    Scope followers_;
};

}  // namespace porthole::kubelet
