#include "kubelet/device_plugins/device_plugins.h"

#include <algorithm>

#include "base/result.h"
#include "base/strings.h"
#include "kubelet/pod/resources.h"
#include "objects/pod_resources.h"
#include "runtime/files/closed_directory.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
namespace core = api::core::v1;
namespace plugin = api::deviceplugin::v1beta1;

constexpr const char *Version = "v1beta1", *Healthy = "Healthy";
constexpr const char *KubeletSocket = "kubelet.sock", *Checkpoint = "kubelet_devices";
// Upstream waits without end for some of them.
constexpr Duration AllocateLimit = 60s, PreferenceLimit = 10s, PreStartLimit = 30s;
/// Of the health in a pod's status: what is larger could not be written.
constexpr std::size_t MostHealthBytes = 256 << 10, DeviceOverhead = 64;
constexpr Duration Kept = 5min, DeviceLookPeriod = 10s;

/// What the containers of a pod are to have of plugins.
class WantedDevices {
public:
    explicit WantedDevices(const core::Pod& pod) {
        if (const auto& extended = pod.status.extended_resource_claim_status)
            for (const auto& mapping : extended->request_mappings) of_claim_.emplace(mapping.container_name, mapping.resource_name);
    }
    /// The number for each resource, without those for which the scheduler has made a claim.
    std::map<std::string, std::size_t> of(const core::Container& container) const {
        std::map<std::string, std::size_t> wanted;
        for (const auto& [name, amount] : container.resources.limits)
            if (is_extended_resource(name) && amount.value() > 0 && !of_claim_.contains({container.name, name}))
                wanted[name] = static_cast<std::size_t>(amount.value());
        return wanted;
    }

private:
    std::set<std::pair<std::string, std::string>> of_claim_;  // container and resource
};

/// "vendor.com/device": Kubernetes' own domain is not a vendor's.
bool is_plugin_resource(std::string_view name) {
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos || slash == 0 || name.size() > 253 + 1 + 63 - std::string_view("requests.").size()) return false;
    const auto is_part = [](std::string_view part, std::string_view others) {
        const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
        return !part.empty() && is_alphanumeric(part.front()) && is_alphanumeric(part.back()) &&
               std::ranges::all_of(part, [&](char c) { return is_alphanumeric(c) || others.find(c) != std::string_view::npos; });
    };
    const std::string_view domain = name.substr(0, slash), own = name.substr(slash + 1);
    return is_part(domain, "-.") && own.size() <= 63 && is_part(own, "-_.") && domain != "kubernetes.io" &&
           !domain.ends_with(".kubernetes.io");
}

/// About what the kubelet keeps for them.
std::size_t size_of(const AllocatedDevices& allocated) {
    std::size_t bytes = schema::encode_protobuf(allocated.answer).size();
    for (const std::string& id : allocated.ids) bytes += id.size() + DeviceOverhead;
    return bytes;
}

std::string unexpected(const std::string& why) { return "Allocate failed due to " + why + ", which is unexpected"; }

}  // namespace

DevicePlugins::DevicePlugins(Services services, std::string directory)
    : services_(std::move(services)), directory_(std::move(directory)), followers_(services_.loop) {
    const std::string file = directory_ + "/" + Checkpoint;
    const auto text = services_.files.read(file);
    if (is_not_found(text)) return;
    auto read = text ? parse_device_checkpoint(*text) : Result<DeviceCheckpoint>(text.error());
    if (!read) {
        const auto renamed = services_.files.rename(file, file + ".unreadable");
        services_.log.error("which container has which devices is not known any more",
                            {{"file", file}, {"error", read.error().message}, {"kept", renamed ? "yes" : renamed.error().message}});
        return;
    }
    allocations_ = std::move(read->allocations);
    for (const std::string& resource : read->resources) resources_[resource].lost = services_.loop.now();
}

Result<void> DevicePlugins::save() const {
    DeviceCheckpoint checkpoint{.allocations = allocations_};
    for (const auto& [name, resource] : resources_) checkpoint.resources.insert(name);
    TRY_VOID(services_.files.create_directories(directory_, 0750));
    return services_.files.replace(directory_ + "/" + Checkpoint, checkpoint_text(checkpoint), 0600);
}

Task<> DevicePlugins::run() {
    std::unique_ptr<PluginServer> server;
    if (const auto made = create_closed_directory(services_.files, directory_, services_.log); made) {
        for (const std::string& name : services_.files.list(directory_).value_or(std::vector<std::string>()))
            if (const auto status = services_.files.link_status(directory_ + "/" + name); status && status->type == FileType::Socket)
                (void)services_.files.remove(directory_ + "/" + name);
        auto serving = services_.connector.serve(directory_ + "/" + KubeletSocket,
                                                 {{std::string(plugin::Registration::Register.path),
                                                   [this](std::string request) { return register_plugin(std::move(request)); }}});
        if (serving)
            server = *std::move(serving);
        else
            services_.log.warn("device plugins cannot register", {{"error", serving.error().message}});
    }
    const auto ended = co_await forget_lost();
    CO_TRY_VOID(co_await followers_.close());
    if (server) CO_TRY_VOID(co_await server->close());
    for (auto& [name, resource] : resources_)
        if (const Connection last = std::exchange(resource.plugin, nullptr)) CO_TRY_VOID(co_await last->close());
    co_return ended;
}

/// The devices of plugins that have not come back.
Task<> DevicePlugins::forget_lost() {
    for (;;) {
        CO_TRY_VOID(co_await services_.loop.sleep(DeviceLookPeriod));
        for (auto& [name, resource] : resources_)
            if (!resource.plugin && !resource.devices.empty() && services_.loop.now() - resource.lost >= Kept) {
                resource.devices.clear();
                changed(name);
            }
    }
}

Task<std::string> DevicePlugins::register_plugin(std::string request) {
    CO_TRY(plugin::RegisterRequest asked, schema::decode_protobuf<plugin::RegisterRequest>(request));
    if (asked.version != Version)
        co_return Error(Reason::BadRequest, "requested API version " + quote(asked.version.substr(0, 63)) +
                                                " is not supported by kubelet. Supported version is \"" + Version + "\"");
    // The socket is beside the kubelet's.
    if (asked.endpoint.empty() || asked.endpoint.size() > 255 || asked.endpoint.find_first_of("/\\") != std::string::npos ||
        asked.endpoint == "." || asked.endpoint == ".." || asked.endpoint == KubeletSocket || asked.endpoint == Checkpoint)
        co_return Error(Reason::BadRequest, "invalid endpoint: the name of a socket in " + directory_);
    CO_TRY_VOID(
        use(asked.resource_name, directory_ + "/" + asked.endpoint, asked.options ? *asked.options : plugin::DevicePluginOptions()));
    co_return schema::encode_protobuf(plugin::Empty());
}

Task<> DevicePlugins::add_plugin(PluginInfo info) {
    if (std::ranges::find(info.versions, Version) == info.versions.end())
        co_return Error(Reason::BadRequest, "manager version, " + std::string(Version) + ", is not among plugin supported versions");
    const Connection asked = services_.connector.connect(info.endpoint);
    auto options = co_await asked->call(plugin::DevicePlugin::GetDevicePluginOptions, {}, PreferenceLimit);
    CO_TRY_VOID(co_await asked->close());
    if (!options) co_return std::move(options).error().with_context("failed to get device plugin options");
    co_return use(info.name, info.endpoint, *options);
}

Task<> DevicePlugins::remove_plugin(PluginInfo info) {
    const auto found = resources_.find(info.name);
    if (found == resources_.end() || found->second.socket != info.endpoint || !found->second.plugin) co_return {};
    const Connection connection = found->second.plugin;
    lose(info.name, connection);
    co_return co_await connection->close();
}

/// From now on, the plugin at this socket is the resource's.
Result<void> DevicePlugins::use(const std::string& name, std::string socket, plugin::DevicePluginOptions options) {
    if (!is_plugin_resource(name)) return Error(Reason::BadRequest, "the ResourceName " + quote(name.substr(0, 253)) + " is invalid");
    if (resources_.size() >= MostResources && !resources_.contains(name))
        return Error(Reason::TooManyRequests, "too many resources of device plugins");
    const bool is_new = !resources_.contains(name);
    Resource& resource = resources_[name];
    const Connection replaced = resource.plugin;
    resource.plugin = services_.connector.connect(socket);
    resource.socket = std::move(socket);
    resource.options = options;
    followers_.spawn(follow(name, resource.plugin));
    if (replaced) followers_.spawn(replaced->close());
    services_.log.info("device plugin registered", {{"resource", name}, {"socket", resource.socket}});
    if (is_new) TRY_VOID(save());
    return {};
}

DevicePlugins::Resource* DevicePlugins::find(const std::string& name, const Connection& plugin) {
    const auto found = resources_.find(name);
    return found != resources_.end() && found->second.plugin == plugin ? &found->second : nullptr;
}

Task<> DevicePlugins::follow(std::string name, Connection plugin) {
    const auto ended =
        co_await plugin->watch("/v1beta1.DevicePlugin/ListAndWatch", "", [&](const std::string& message) { heard(name, plugin, message); });
    if (is_cancelled(ended)) co_return ended;
    if (!find(name, plugin)) co_return {};  // another has taken its place
    services_.log.warn("device plugin lost", {{"resource", name}, {"error", ended ? "" : ended.error().message}});
    lose(name, plugin);
    co_return co_await plugin->close();
}

void DevicePlugins::heard(const std::string& name, const Connection& plugin, const std::string& message) {
    Resource* resource = find(name, plugin);
    if (!resource) return;
    const auto told = schema::decode_protobuf<plugin::ListAndWatchResponse>(message);
    if (!told || told->devices.size() > MostDevices) {
        services_.log.warn("a device plugin's list of devices is unreadable or too long", {{"resource", name}});
        return;
    }
    std::map<std::string, bool> devices;
    for (const plugin::Device& one : told->devices)
        if (!one.id.empty() && one.id.size() <= LongestId) devices[one.id] = one.health == Healthy;
    if (devices == resource->devices) return;
    resource->devices = std::move(devices);
    changed(name);
}

void DevicePlugins::lose(const std::string& name, const Connection& plugin) {
    Resource* resource = find(name, plugin);
    if (!resource) return;
    resource->plugin = nullptr;
    resource->lost = services_.loop.now();
    for (auto& [id, healthy] : resource->devices) healthy = false;
    changed(name);
}

void DevicePlugins::changed(const std::string& name) {
    services_.report_node();
    for (const auto& [pod, containers] : allocations_)
        if (std::ranges::any_of(containers, [&](const auto& one) { return one.second.contains(name); })) services_.wake_pod(pod);
}

std::map<std::string, DeviceAmounts> DevicePlugins::amounts() const {
    std::map<std::string, DeviceAmounts> amounts;
    for (const auto& [name, resource] : resources_) {
        const auto healthy = std::ranges::count_if(resource.devices, [](const auto& one) { return one.second; });
        amounts[name] = {static_cast<std::int64_t>(resource.devices.size()), healthy};
    }
    return amounts;
}

std::map<std::string, std::set<std::string>> DevicePlugins::healthy_devices() const {
    std::map<std::string, std::set<std::string>> found;
    for (const auto& [name, resource] : resources_)
        for (const auto& [id, healthy] : resource.devices)
            if (healthy) found[name].insert(id);
    return found;
}

bool DevicePlugins::has_all(const core::Pod& pod) const {
    const auto allocated = allocations_.find(pod.metadata.uid);
    const WantedDevices all(pod);
    const auto has = [&](const core::Container& container) {
        return std::ranges::all_of(all.of(container), [&](const auto& wanted) {
            if (!resources_.contains(wanted.first)) return true;  // not of a plugin
            if (allocated == allocations_.end()) return false;
            const auto resources = allocated->second.find(container.name);
            return resources != allocated->second.end() && resources->second.contains(wanted.first);
        });
    };
    return std::ranges::all_of(pod.spec.init_containers, has) && std::ranges::all_of(pod.spec.containers, has);
}

Task<std::optional<std::string>> DevicePlugins::allocate(std::shared_ptr<const core::Pod> pod) {
    if (has_all(*pod)) co_return std::nullopt;
    CO_TRY(const auto permit, co_await allocating_.acquire());
    const std::string& uid = pod->metadata.uid;
    const auto before = allocations_.find(uid) == allocations_.end() ? PodAllocations() : allocations_[uid];
    const WantedDevices wanted(*pod);
    Reusable reusable;
    std::size_t bytes = 0;
    Result<std::optional<std::string>> outcome = std::optional<std::string>();
    for (const auto* list : {&pod->spec.init_containers, &pod->spec.containers})
        for (const core::Container& container : *list) {
            if (!outcome || *outcome) break;
            outcome = co_await allocate_container(uid, container.name, wanted.of(container), reusable);
            const bool is_init = list == &pod->spec.init_containers && !objects::is_sidecar(container);
            for (const auto& [resource, allocated] : devices_of(uid, container.name)) {
                bytes += size_of(allocated);
                for (const std::string& id : allocated.ids)
                    is_init ? (void)reusable[resource].insert(id) : (void)reusable[resource].erase(id);
            }
            if (bytes > MostBytes && outcome && !*outcome) outcome = std::optional(unexpected("devices of too many containers"));
        }
    if (outcome && !*outcome)
        if (const auto saved = save(); !saved) outcome = saved.error();
    if (!outcome || *outcome) {
        allocations_[uid] = before;
        if (before.empty()) allocations_.erase(uid);
    }
    co_return outcome;
}

Task<std::optional<std::string>> DevicePlugins::allocate_container(std::string pod_uid, std::string container,
                                                                   std::map<std::string, std::size_t> wanted, Reusable& reusable) {
    for (const auto& [resource, count] : wanted) {
        if (!resources_.contains(resource) || devices_of(pod_uid, container).contains(resource)) continue;
        AllocatedDevices allocated;
        CO_TRY(auto failure, co_await allocate_resource(
                                 resource, {.kept = reusable[resource], .free = free_devices(resource), .wanted = count}, allocated));
        if (failure) co_return failure;
        allocations_[pod_uid][container][resource] = std::move(allocated);
    }
    co_return std::nullopt;
}

/// Healthy, and no container's.
std::set<std::string> DevicePlugins::free_devices(const std::string& name) const {
    std::set<std::string> free;
    for (const auto& [id, healthy] : resources_.at(name).devices)
        if (healthy) free.insert(id);
    for (const auto& [pod, containers] : allocations_)
        for (const auto& [container, resources] : containers)
            if (const auto found = resources.find(name); found != resources.end())
                for (const std::string& id : found->second.ids) free.erase(id);
    return free;
}

Task<std::optional<std::string>> DevicePlugins::allocate_resource(std::string name, DeviceChoice choice, AllocatedDevices& allocated) {
    const Resource& resource = resources_.at(name);
    const Connection plugin = resource.plugin;
    if (!plugin) co_return Error(Reason::Unavailable, "the device plugin of " + name + " is not registered");
    if (choice.kept.size() + choice.free.size() < choice.wanted)
        co_return unexpected("requested number of devices unavailable for " + name + ". Requested: " + std::to_string(choice.wanted) +
                             ", Available: " + std::to_string(choice.kept.size() + choice.free.size()));
    std::vector<std::string> preferred;
    if (resource.options.get_preferred_allocation_available && choice.kept.size() < choice.wanted) {
        auto asked = co_await ask_for_preferred(plugin, choice);
        if (is_cancelled(asked)) co_return std::move(asked).error();
        if (!asked) co_return unexpected("error getting preferred allocation for " + name + ": " + asked.error().message);
        preferred = *std::move(asked);
    }
    allocated.ids = chosen_devices(choice, preferred);
    plugin::AllocateRequest request;
    request.container_requests.emplace_back().devices_ids.assign(allocated.ids.begin(), allocated.ids.end());
    auto answer = co_await plugin->call(plugin::DevicePlugin::Allocate, std::move(request), AllocateLimit);
    if (is_cancelled(answer)) co_return std::move(answer).error();
    if (!answer) co_return unexpected("rpc error: " + answer.error().message);
    if (answer->container_responses.size() != 1) co_return unexpected("no containers in allocation response for " + name);
    allocated.answer = std::move(answer->container_responses.front());
    co_return std::nullopt;
}

Task<std::vector<std::string>> DevicePlugins::ask_for_preferred(Connection plugin, DeviceChoice choice) {
    const std::set<std::string> kept = devices_kept(choice);
    plugin::PreferredAllocationRequest request;
    auto& one = request.container_requests.emplace_back();
    one.available_device_ids.assign(choice.free.begin(), choice.free.end());
    one.available_device_ids.insert(one.available_device_ids.end(), kept.begin(), kept.end());
    one.must_include_device_ids.assign(kept.begin(), kept.end());
    one.allocation_size = static_cast<std::int32_t>(choice.wanted);
    CO_TRY(auto answer, co_await plugin->call(plugin::DevicePlugin::GetPreferredAllocation, std::move(request), PreferenceLimit));
    co_return answer.container_responses.empty() ? std::vector<std::string>() : std::move(answer.container_responses.front().device_ids);
}

std::map<std::string, AllocatedDevices> DevicePlugins::devices_of(const std::string& pod_uid, const std::string& container) const {
    const auto pod = allocations_.find(pod_uid);
    if (pod == allocations_.end()) return {};
    const auto found = pod->second.find(container);
    return found == pod->second.end() ? std::map<std::string, AllocatedDevices>() : found->second;
}

Task<> DevicePlugins::prepare_start(std::string pod_uid, std::string container) {
    for (const auto& [name, allocated] : devices_of(pod_uid, container)) {
        const auto found = resources_.find(name);
        if (found == resources_.end() || !found->second.options.pre_start_required) continue;
        const Connection plugin = found->second.plugin;
        if (!plugin) co_return Error(Reason::Unavailable, "the device plugin of " + name + " is not registered");
        plugin::PreStartContainerRequest request;
        request.devices_ids.assign(allocated.ids.begin(), allocated.ids.end());
        auto prepared = co_await plugin->call(plugin::DevicePlugin::PreStartContainer, std::move(request), PreStartLimit);
        if (!prepared) co_return std::move(prepared).error().with_context("device plugin PreStartContainer rpc failed with err");
    }
    co_return {};
}

void DevicePlugins::release(const std::string& pod_uid) {
    if (allocations_.erase(pod_uid) == 0) return;
    if (const auto saved = save(); !saved) services_.log.warn("allocated devices not saved", {{"error", saved.error().message}});
}

void DevicePlugins::release_stale(const std::function<bool(const std::string&)>& is_known) {
    if (std::erase_if(allocations_, [&](const auto& one) { return !is_known(one.first); }) == 0) return;
    if (const auto saved = save(); !saved) services_.log.warn("allocated devices not saved", {{"error", saved.error().message}});
}

void DevicePlugins::add_health(const core::Pod& pod, core::PodStatus& status) const {
    const auto containers = allocations_.find(pod.metadata.uid);
    if (containers == allocations_.end()) return;
    std::size_t bytes = 0;
    for (core::ContainerStatus& container : status.container_statuses) {
        const auto own = containers->second.find(container.name);
        if (own == containers->second.end()) continue;
        for (const auto& [name, allocated] : own->second) {
            core::ResourceStatus& shown = container.allocated_resources_status.emplace_back();
            shown.name = name;
            bytes += name.size() + DeviceOverhead;
            const auto resource = resources_.find(name);
            for (const std::string& id : allocated.ids) {
                bytes += id.size() + DeviceOverhead;
                if (bytes > MostHealthBytes) return;
                core::ResourceHealth& health = shown.resources.emplace_back();
                health.resource_id = id;
                health.health = "Unknown";
                if (resource == resources_.end()) continue;
                if (const auto device = resource->second.devices.find(id); device != resource->second.devices.end())
                    health.health = device->second ? Healthy : "Unhealthy";
            }
        }
    }
}

}  // namespace porthole::kubelet
