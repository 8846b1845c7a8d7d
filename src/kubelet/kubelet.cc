#include "kubelet/kubelet.h"

#include <utility>

#include "base/result.h"
#include "kubelet/api_objects.h"
#include "kubelet/api_pods.h"
#include "kubelet/devices/device_health.h"
#include "kubelet/eviction.h"
#include "kubelet/images/pulled_image_volumes.h"
#include "kubelet/log_rotation.h"
#include "kubelet/node/kernel_defaults.h"
#include "kubelet/plugins/plugin_registry.h"
#include "kubelet/pod_housekeeping.h"
#include "kubelet/pod_lifecycle.h"
#include "kubelet/pod_resources/pod_resources_server.h"
#include "kubelet/runtime_check.h"
#include "kubelet/volumes/block_devices/device_volumes.h"
#include "kubelet/volumes/csi/csi_limits.h"
#include "kubelet/volumes/csi/csi_volumes.h"
#include "kubelet/volumes/flex_volume/flex_volumes.h"
#include "kubelet/volumes/local_volume/local_volume_reclaimer.h"
#include "kubelet/volumes/object_volumes/pod_certificates.h"
#include "kubelet/volumes/selinux/selinux_contexts.h"
#include "runtime/files/closed_directory.h"
#include "windows/builds.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

Platform platform_of(const HostFacts& facts) { return {facts.operating_system == "windows", facts.processors, facts.memory}; }

ContainerPreparer::Settings container_settings(const KubeletConfig& config, const HostFacts& facts, const Cgroups& cgroups, bool selinux) {
    return {.seccomp_root = config.root_directory + "/seccomp",
            .platform = platform_of(facts),
            .cgroup_v2 = cgroups.is_v2(),
            .seccomp_default = config.seccomp_default,
            .selinux = selinux};
}

cri::DNSConfig host_dns(const KubeletConfig& config, const HostFacts& facts, FileSystem& files) {
    if (config.resolv_conf.empty()) return {};
    if (config.resolv_conf != "Host") return parse_resolv_conf(files.read(config.resolv_conf).value_or(""));
    return {.servers = facts.dns_servers, .searches = facts.dns_searches};
}

NodeFacts node_facts(const KubeletConfig& config, const HostFacts& facts, FileSystem& files) {
    NodeFacts node;
    node.node_name = config.node.name;
    node.host_addresses = config.node.addresses;
    node.allocatable = node_allocatable(config.node, node_capacity(config.node, facts, files));
    node.dns.servers = config.cluster_dns;
    node.dns.domain = config.cluster_domain;
    node.dns.host = host_dns(config, facts, files);
    node.cgroup_root = config.cgroup_root;
    node.pod_pids_limit = config.pod_pids_limit;
    node.log_root = config.log_root;
    node.windows = platform_of(facts).windows;
    node.gates = config.feature_gates;
    return node;
}

std::unique_ptr<SelinuxContexts> selinux_contexts(const KubeletConfig& config, FileSystem& files) {
    auto selinux = Selinux::find(files);
    return selinux ? std::make_unique<SelinuxContexts>(std::move(selinux), config.selinux_mount) : nullptr;
}

/// Whether the kernel confines by AppArmor; that changes with its next start only.
bool enforces_app_armor(FileSystem& files) {
    return files.exists("/sys/kernel/security/apparmor") &&
           files.read("/sys/module/apparmor/parameters/enabled").value_or("").starts_with('Y');
}

/// The plugins of the node, and what is done with them.
struct Plugins {
    Plugins(const KubeletConfig& config, KubeletDependencies& deps, const VolumeHost& volume_host, const VolumeApi& volume_api,
            CsiNodeInfo& csi_node, CsiVolumes::DriverObjects& csi_driver_objects, std::function<std::shared_ptr<const core::Node>()> node,
            std::function<void()> report_node, std::function<void(const std::string& pod_uid)> wake_pod)
        : drivers(deps.loop, deps.client, *deps.plugins, deps.log.named("devices"), config.node.name),
          devices(deps.client, deps.files, drivers, deps.log.named("devices"), config.root_directory + "/dra_manager_state"),
          health(deps.loop, drivers, deps.log.named("devices"),
                 [this, wake_pod](const std::string& driver) {
                     for (const auto& [uid, claim] : devices.claims())
                         if (claim.drivers.contains(driver)) std::ranges::for_each(claim.pods, wake_pod);
                 }),
          device_plugins({.loop = deps.loop,
                          .files = deps.files,
                          .connector = *deps.plugins,
                          .log = deps.log.named("device-plugins"),
                          .report_node = report_node,
                          .wake_pod = wake_pod},
                         config.root_directory + "/device-plugins"),
          registry(deps.loop, deps.files, *deps.plugins, deps.log.named("plugins"), config.root_directory + "/plugins_registry",
                   {.files_may_be_sockets = volume_host.windows}),
          csi_drivers(deps.loop, *deps.plugins, csi_node),
          csi_volumes({.host = volume_host,
                       .api = volume_api,
                       .drivers = csi_drivers,
                       .driver_objects = csi_driver_objects,
                       .log = deps.log.named("volumes"),
                       .node_name = config.node.name,
                       .root = config.root_directory,
                       .node = std::move(node),
                       .report_node = std::move(report_node),
                       .has_csi_proxy = deps.system.has_csi_proxy}),
          csi_limits(deps.loop, csi_drivers, csi_driver_objects, deps.log.named("volumes")) {
        // Drivers of devices give the runtime CDI devices, which Windows does not have.
        if (!volume_host.windows) registry.add_handler(DriverPlugins::Type, drivers);
        registry.add_handler(CsiDrivers::Type, csi_drivers);
        registry.add_handler(DevicePlugins::Type, device_plugins);
        devices.set_health(&health);
    }

    DriverPlugins drivers;
    ClaimPreparer devices;
    DeviceHealth health;
    DevicePlugins device_plugins;
    PluginRegistry registry;
    CsiDrivers csi_drivers;
    CsiVolumes csi_volumes;
    CsiLimits csi_limits;
};

}  // namespace

struct Kubelet::Impl {
    Impl(KubeletConfig given_config, KubeletDependencies given)
        : config(std::move(given_config)),
          deps(std::move(given)),
          facts(deps.system.host->describe()),
          node(node_facts(config, facts, deps.files)),
          app_armor(!node.windows && enforces_app_armor(deps.files)),
          events(deps.loop, deps.client, deps.log.named("events"), "kubelet", config.node.name),
          informers({deps.loop, deps.client, deps.random, deps.log.named("informer")}),
          services(informers.get<core::Service>()),
          own_node(informers.get<core::Node>({.field_selector = "metadata.name=" + config.node.name})),
          objects(deps.loop, deps.client),
          tokens(deps.loop, deps.client),
          certificates(deps.loop, deps.random, deps.workers, deps.client, events, config.node.name),
          probes({.loop = deps.loop, .random = deps.random, .runtime = deps.runtime, .network = deps.prober, .events = events},
                 [this](const std::string& uid) { pods.wake(uid); }),
          puller(deps.loop, deps.images, events, config.parallel_image_pulls),
          image_volumes(deps.image_mounts ? std::make_unique<PulledImageVolumes>(puller, objects, *deps.image_mounts) : nullptr),
          local_volumes(deps.loop, deps.workers, deps.files, deps.system.image_disks.get(), config.root_directory),
          selinux(node.windows ? nullptr : selinux_contexts(config, deps.files)),
          volume_host{.loop = deps.loop,
                      .random = deps.random,
                      .files = deps.files,
                      .workers = deps.workers,
                      .mounter = *deps.system.mounter,
                      .programs = deps.programs,
                      .selinux = selinux.get(),
                      .windows = node.windows,
                      .object_volumes_refusal = windows::object_volumes_refusal(facts.windows_build)},
          volume_api{.client = deps.client, .events = events, .objects = objects, .tokens = tokens, .certificates = &certificates},
          devices(deps.programs && !node.windows ? make_device_volumes(volume_host, config.root_directory) : nullptr),
          flex(deps.programs ? std::make_unique<FlexVolumes>(volume_host, deps.client,
                                                             FlexVolumes::Settings{.root = config.root_directory,
                                                                                   .directory = config.volume_plugin_directory,
                                                                                   .node_name = config.node.name})
                             : nullptr),
          csi_node(deps.client, deps.log.named("volumes"), config.node.name),
          plugins(deps.plugins ? std::make_unique<Plugins>(
                                     config, deps, volume_host, volume_api, csi_node, informers.get<api::storage::v1::CSIDriver>(),
                                     [this] { return own_node.find({"", config.node.name}); }, [this] { reporter.wake(); },
                                     [this](const std::string& uid) { pods.wake(uid); })
                               : nullptr),
          volumes({.host = volume_host,
                   .api = volume_api,
                   .providers = {.images = image_volumes.get(),
                                 .local = &local_volumes,
                                 .csi = plugins ? &plugins->csi_volumes : nullptr,
                                 .devices = devices.get(),
                                 .flex = flex.get()}},
                  deps.log.named("volumes"), config.root_directory),
          pod_devices(plugins ? &plugins->device_plugins : nullptr, plugins && !node.windows ? &plugins->devices : nullptr, events),
          users(node.windows ? nullptr
                             : std::make_unique<UserNamespaces>(
                                   deps.files, deps.random, deps.log.named("user-namespaces"),
                                   UserNamespaces::Settings{.pods_directory = config.root_directory + "/pods",
                                                            .ids_per_pod = static_cast<std::uint64_t>(config.ids_per_pod),
                                                            .max_pods = config.node.max_pods})),
          footprint(deps.files, *deps.system.cgroups, volumes, node),
          references(deps.client, objects, services, events),
          preparer(node, footprint, pod_devices, references, users.get(), events),
          sandboxes(deps.runtime, node, footprint, references, events),
          container_preparer(deps.files, deps.random, node, volumes, references, pod_devices,
                             container_settings(config, facts, *deps.system.cgroups, selinux != nullptr)),
          hooks(deps.loop, deps.runtime, deps.prober),
          log_links(deps.files, config.log_link_directory, deps.log),
          restarts(deps.loop, events, config.restart_backoff),
          reader(deps.runtime, deps.files, platform_of(facts)),
          starter(deps.runtime, puller, container_preparer, hooks, log_links, events, deps.log),
          killer(deps.loop, deps.runtime, hooks, events, deps.log),
          gc(deps.runtime, deps.files, log_links, deps.log.named("gc"), config.log_root),
          containers(reader, puller, restarts, starter, killer, gc),
          statuses(deps.loop, deps.client, deps.log.named("status")),
          pod_reporter(deps.loop, node, probes, pod_devices, statuses, events),
          pleg(deps.loop, reader,
               {.changed = [this](const std::string& uid) { pods.wake(uid); }, .listed = [this] { pods.end_unknown(); }}),
          pods(
              deps.loop, deps.log, node, pleg, pod_reporter, events, [this](auto pod) { return make_worker(std::move(pod)); },
              [this] { return admission_context(); }),
          housekeeping(deps.loop, deps.log, pods, pleg, gc, footprint, preparer),
          pod_resources(plugins
                            ? std::make_unique<PodResourcesServer>(PodResourcesServer::Services{.files = deps.files,
                                                                                                .connector = *deps.plugins,
                                                                                                .log = deps.log.named("pod-resources"),
                                                                                                .plugins = plugins->device_plugins,
                                                                                                .claims = plugins->devices,
                                                                                                .pods = [this] { return pods.active(); }},
                                                                   config.root_directory + "/pod-resources")
                            : nullptr),
          runtime_check(deps.loop, deps.runtime, node, deps.log, [this] { runtime_changed(); }),
          static_pods(deps.loop, deps.client, deps.files, deps.log.named("static-pods"), config.static_pod_directory, config.node.name,
                      pods, statuses),
          api_pods(informers, config.node.name, pods, static_pods, statuses),
          image_gc(deps.loop, deps.runtime, deps.images, deps.files, deps.log.named("images"), config.root_directory, config.image_gc,
                   [this] { return images_of_volumes(pods.active()); }),
          storage({.loop = deps.loop,
                   .files = deps.files,
                   .workers = deps.workers,
                   .volumes = volumes,
                   .log_root = config.log_root,
                   .pods = [this] { return pods.active(); },
                   .csi = plugins ? &plugins->csi_volumes : nullptr,
                   .events = &events}),
          eviction({.loop = deps.loop,
                    .host = *deps.system.host,
                    .files = deps.files,
                    .runtime = deps.runtime,
                    .pods = pods,
                    .images = image_gc,
                    .storage = storage,
                    .events = events,
                    .log = deps.log.named("eviction")},
                   config.root_directory, config.eviction),
          rotation(deps.runtime, deps.files, deps.log.named("logs"), config.log_max_bytes, config.log_max_files),
          reporter({.loop = deps.loop,
                    .random = deps.random,
                    .log = deps.log.named("node"),
                    .client = deps.client,
                    .events = events,
                    .host = *deps.system.host,
                    .files = deps.files,
                    .images = deps.images,
                    .health = [this] { return health(); }},
                   config.node),
          scope(deps.loop,
                [this](const Error& error) { deps.log.error("a component of the kubelet failed", {{"error", error.message}}); }) {}

    std::unique_ptr<PodWorker> make_worker(std::shared_ptr<const core::Pod> pod) {
        auto syncer = std::make_unique<PodLifecycle>(deps.loop, preparer, sandboxes, containers, probes, pod_reporter, events,
                                                     PodResizer(deps.runtime, footprint, node, events, *pod));
        return std::make_unique<PodWorker>(deps.random, deps.log, std::move(syncer), std::move(pod));
    }

    AdmissionContext admission_context() {
        AdmissionContext context;
        context.allocatable = node.allocatable;
        context.operating_system = facts.operating_system;
        context.node_labels = config.node.labels;
        context.node_labels["kubernetes.io/os"] = facts.operating_system;
        context.node_labels["kubernetes.io/hostname"] = config.node.name;
        if (const auto found = own_node.find({"", config.node.name})) {
            context.node_labels = found->metadata.labels;
            context.allocatable.merge(extended_resources(found->status.allocatable));
        }
        // The devices themselves are counted when they are allocated.
        if (plugins)
            for (const auto& [resource, amounts] : plugins->device_plugins.amounts()) context.allocatable.erase(resource);
        context.active = pods.active();
        context.memory_pressure = eviction.memory_pressure();
        context.prepares_devices = plugins && !node.windows;
        context.identify_pod_os = config.identify_pod_os;
        context.app_armor = app_armor;
        return context;
    }

    NodeHealth health() const {
        NodeHealth health;
        if (!runtime_check.problem().empty()) health.problems.push_back(runtime_check.problem());
        if (runtime_check.problem().empty() && !node.network_problem.empty())
            health.problems.push_back("container runtime network not ready: " + node.network_problem);
        if (std::string problem = pleg.problem(); !problem.empty()) health.problems.push_back(std::move(problem));
        if (!csi_node.is_initialized()) health.problems.push_back("CSINode is not yet initialized");
        if (plugins) health.volumes_in_use = plugins->csi_volumes.volumes_in_use();
        if (plugins) health.devices = plugins->device_plugins.amounts();
        health.runtime_version = runtime_check.version();
        for (const cri::RuntimeHandler& handler : node.runtime_handlers) {
            core::NodeRuntimeHandler& shown = health.runtime_handlers.emplace_back();
            shown.name = handler.name;
            shown.features.emplace().recursive_read_only_mounts = handler.features && handler.features->recursive_read_only_mounts;
            shown.features->user_namespaces = handler.features && handler.features->user_namespaces;
        }
        health.memory_pressure = eviction.memory_pressure();
        health.disk_pressure = eviction.disk_pressure();
        return health;
    }

    void runtime_changed() {
        reporter.wake();
        if (!runtime_check.is_well()) return;
        pods.wake_all();
        compare_sandbox_images();
    }

    /// The runtime's counts, and is the one that garbage collection leaves alone.
    void compare_sandbox_images() {
        const std::string &given = config.sandbox_image, &used = runtime_check.sandbox_image();
        if (given.empty() || used.empty() || given == used) return;
        events.warning(reporter.reference(), "SandboxImageMismatch",
                       "--pod-infra-container-image is " + given + ", but the container runtime makes sandboxes of " + used +
                           ": it is set in the runtime's own configuration");
    }

    Task<> run_log_rotation() {
        for (;;) {
            CO_TRY_VOID(co_await deps.loop.sleep(10s));
            auto rotated = co_await rotation.rotate();
            if (is_cancelled(rotated)) co_return std::move(rotated).error();
        }
    }

    Task<> run_image_gc() {
        for (;;) {
            CO_TRY_VOID(co_await deps.loop.sleep(5min));
            auto collected = co_await image_gc.collect();
            if (is_cancelled(collected)) co_return std::move(collected).error();
            if (!collected) events.warning(reporter.reference(), "FreeDiskSpaceFailed", collected.error().message);
        }
    }

    Task<> run() {
        if (config.protect_kernel_defaults) CO_TRY_VOID(check_kernel_defaults(deps.files));
        events.limit_rate(static_cast<double>(config.event_qps), static_cast<double>(config.event_burst));
        if (const auto made = prepare_directories(); !made) {
            deps.log.error("kubelet cannot use its directories", {{"error", made.error().message}});
            co_return made.error();
        }
        if (users) users->restore(footprint.pods_on_disk());
        scope.spawn(events.run());
        scope.spawn(statuses.run());
        CO_TRY_VOID(co_await pleg.relist());
        if (plugins) {
            scope.spawn(plugins->registry.run());
            scope.spawn(plugins->drivers.run());
            scope.spawn(plugins->health.run());
            scope.spawn(plugins->device_plugins.run());
            scope.spawn(pod_resources->run());
            scope.spawn(plugins->csi_limits.run());
        }
        own_node.on_change([this](const core::Node& seen) { csi_node.node_seen(seen.metadata.uid); });
        scope.spawn(csi_node.run([this] { reporter.wake(); }));
        scope.spawn(runtime_check.run());
        scope.spawn(pleg.run());
        scope.spawn(housekeeping.run());
        scope.spawn(static_pods.run());
        scope.spawn(reporter.run_status());
        scope.spawn(reporter.run_lease());
        scope.spawn(run_log_rotation());
        scope.spawn(run_image_gc());
        scope.spawn(storage.run());
        scope.spawn(eviction.run());
        informers.start();
        scope.spawn(api_pods.run(services));
        scope.spawn(reclaim_local_volumes());
        Event never;
        co_return co_await never.wait();
    }

    Task<> reclaim_local_volumes() {
        CO_TRY_VOID(co_await wait_until_local_volumes_may_be_seen(deps.loop, deps.client, config.node.name));
        reclaimer.emplace(deps.loop, deps.client, informers, events, deps.log.named("volumes"), local_volumes, config.node.name);
        co_return co_await reclaimer->run();
    }

    Result<void> prepare_directories() {
        TRY_VOID(deps.files.create_directories(config.root_directory + "/pods", 0750));
        for (const std::string& directory : {config.log_root, config.log_link_directory}) {
            if (directory.empty()) continue;
            TRY_VOID(deps.files.create_directories(directory, 0755));
            close_directory(deps.files, directory, deps.log);  // as upstream: CVE-2024-5321
        }
        return deps.system.cgroups->ensure_tiers(config.cgroup_root);
    }

    Task<> close() {
        CO_TRY_VOID(co_await scope.close());
        CO_TRY_VOID(co_await housekeeping.close());
        CO_TRY_VOID(co_await pods.close());
        if (plugins) CO_TRY_VOID(co_await plugins->csi_volumes.close());
        CO_TRY_VOID(co_await probes.close());
        co_return co_await informers.close();
    }

    KubeletConfig config;
    KubeletDependencies deps;
    HostFacts facts;
    NodeFacts node;
    bool app_armor;
    client::EventRecorder events;
    client::Informers informers;
    client::Informer<core::Service>& services;
    client::Informer<core::Node>& own_node;
    ApiObjects objects;
    ApiTokens tokens;
    PodCertificates certificates;
    ProbeManager probes;
    ImagePuller puller;
    std::unique_ptr<ImageVolumes> image_volumes;
    LocalVolumes local_volumes;
    std::unique_ptr<SelinuxContexts> selinux;  ///< null where SELinux is off, and on Windows
    VolumeHost volume_host;
    VolumeApi volume_api;
    std::unique_ptr<DeviceVolumes> devices;  ///< null without programs, and on Windows
    std::unique_ptr<FlexVolumes> flex;       ///< null without programs
    CsiNodeInfo csi_node;
    std::unique_ptr<Plugins> plugins;
    VolumeManager volumes;
    PodDevices pod_devices;
    std::unique_ptr<UserNamespaces> users;  ///< null on Windows
    PodFootprint footprint;
    PodReferences references;
    PodPreparer preparer;
    PodSandboxes sandboxes;
    ContainerPreparer container_preparer;
    ContainerHooks hooks;
    LogLinks log_links;
    RestartBackoff restarts;
    StateReader reader;
    ContainerStarter starter;
    ContainerKiller killer;
    ContainerGc gc;
    PodContainers containers;
    StatusManager statuses;
    PodReporter pod_reporter;
    Pleg pleg;
    PodManager pods;
    PodHousekeeping housekeeping;
    std::unique_ptr<PodResourcesServer> pod_resources;  ///< null without plugins
    RuntimeCheck runtime_check;
    StaticPods static_pods;
    ApiPods api_pods;
    ImageGc image_gc;
    StorageUsage storage;
    Eviction eviction;
    LogRotation rotation;
    NodeReporter reporter;
    std::optional<LocalVolumeReclaimer> reclaimer;
    Scope scope;
};

Kubelet::Kubelet(KubeletConfig config, KubeletDependencies dependencies)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(dependencies))) {}
Kubelet::~Kubelet() = default;

Task<> Kubelet::run() {
    auto ended = co_await impl_->run();
    CO_TRY_VOID(co_await impl_->close());
    co_return ended;
}

PodManager& Kubelet::pods() { return impl_->pods; }
const Pleg& Kubelet::pleg() const { return impl_->pleg; }
const StatusManager& Kubelet::statuses() const { return impl_->statuses; }
const KubeletConfig& Kubelet::config() const { return impl_->config; }
const KubeletDependencies& Kubelet::dependencies() const { return impl_->deps; }
const NodeFacts& Kubelet::node() const { return impl_->node; }
const StorageUsage& Kubelet::storage() const { return impl_->storage; }
void Kubelet::append_metrics(std::string& out) const {
    impl_->volumes.append_metrics(out);
    impl_->certificates.append_metrics(out);
    impl_->containers.counts().append(out);
}
const CsiMetrics* Kubelet::csi_metrics() const { return impl_->plugins ? &impl_->plugins->csi_drivers.metrics() : nullptr; }

}  // namespace porthole::kubelet
