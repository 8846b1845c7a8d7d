#include "kubelet/kubelet.h"

#include <cstdio>
#include <utility>

#include "base/error_reasons.h"
#include "kubelet/api_objects.h"
#include "kubelet/eviction.h"
#include "kubelet/log_rotation.h"
#include "kubelet/static_pods.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration RuntimeCheckPeriod = 5s, RuntimeRetryPeriod = 500ms, RuntimeAnswerLimit = 15s;

Platform platform_of(const HostFacts& facts) { return {facts.operating_system == "windows", facts.processors, facts.memory}; }

StarterConfig starter_config(const KubeletConfig& config, const HostFacts& facts, const Cgroups& cgroups) {
    StarterConfig made;
    made.root_directory = config.root_directory;
    made.log_root = config.log_root;
    made.log_link_directory = config.log_link_directory;
    made.platform = platform_of(facts);
    made.cgroup_v2 = cgroups.is_v2();
    return made;
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
    node.log_root = config.log_root;
    node.windows = platform_of(facts).windows;
    return node;
}

client::InformerOptions only_field(std::string selector) {
    client::InformerOptions options;
    options.field_selector = std::move(selector);
    return options;
}

/// Why a runtime of this name and version ("containerd://1.3.9") is too old; "" where it is not, or nobody knows.
std::string version_problem(const std::string& runtime) {
    constexpr std::string_view Containerd = "containerd://";
    if (!runtime.starts_with(Containerd)) return "";
    int major = 0, minor = 0;
    if (std::sscanf(runtime.c_str() + Containerd.size(), "%d.%d", &major, &minor) != 2) return "";
    if (std::pair(major, minor) >= std::pair(1, 4)) return "";
    return "container runtime version " + runtime.substr(Containerd.size()) + " < 1.4.0: upgrade containerd";
}

}  // namespace

struct Kubelet::Parts {
    Parts(KubeletConfig given_config, KubeletDependencies given)
        : config(std::move(given_config)),
          deps(std::move(given)),
          facts(deps.host.describe()),
          node(node_facts(config, facts, deps.files)),
          events(deps.loop, deps.client, deps.log.named("events"), "kubelet", config.node.name),
          informers({deps.loop, deps.client, deps.random, deps.log.named("informer")}),
          api_pods(informers.get<core::Pod>(only_field("spec.nodeName=" + config.node.name))),
          services(informers.get<core::Service>()),
          own_node(informers.get<core::Node>(only_field("metadata.name=" + config.node.name))),
          objects(deps.loop, deps.client),
          tokens(deps.loop, deps.client),
          reader(deps.runtime, deps.files),
          probes({deps.loop, deps.random, deps.runtime, deps.prober, events}, [this](const std::string& uid) { pods.wake(uid); }),
          volumes({deps.loop, deps.random, deps.files, deps.mounter, objects, tokens, deps.client}, deps.log.named("volumes"),
                  config.root_directory),
          puller(deps.loop, deps.images, events, config.parallel_image_pulls),
          starter({deps.loop, deps.random, deps.runtime, puller, deps.prober, deps.files, volumes, objects, events, deps.log},
                  starter_config(config, facts, deps.cgroups), config.restart_backoff),
          killer({deps.loop, deps.runtime, deps.prober, events, deps.log}),
          statuses(deps.loop, deps.client, deps.log.named("status")),
          gc(deps.loop, deps.runtime, deps.files, deps.log.named("gc"), config.log_root, config.log_link_directory, {}),
          pod_services{deps.loop,    deps.random, deps.log, deps.client, deps.runtime, deps.files,
                       deps.cgroups, reader,      starter,  killer,      puller,       volumes,
                       probes,       statuses,    objects,  events,      node,         [this] { return services.list(); }},
          pods(pod_services, [this] { return admission_context(); }),
          static_pods(deps.loop, deps.client, deps.files, deps.log.named("static-pods"), config.static_pod_directory, config.node.name,
                      pods, statuses),
          image_gc(deps.loop, deps.runtime, deps.images, deps.files, deps.log.named("images"), config.root_directory, config.image_gc),
          eviction(deps.loop, deps.host, deps.files, deps.runtime, pods, image_gc, events, deps.log.named("eviction"),
                   config.root_directory, config.eviction),
          rotation(deps.runtime, deps.files, deps.log.named("logs"), config.log_max_bytes, config.log_max_files),
          reporter({deps.loop, deps.random, deps.log.named("node"), deps.client, events, deps.host, deps.files, deps.images,
                    [this] { return health(); }},
                   config.node),
          scope(deps.loop,
                [this](const Error& error) { deps.log.error("a component of the kubelet failed", {{"error", error.message}}); }) {}

    AdmissionContext admission_context() {
        AdmissionContext context;
        context.allocatable = node.allocatable;
        context.operating_system = facts.operating_system;
        context.node_labels = config.node.labels;
        context.node_labels["kubernetes.io/os"] = facts.operating_system;
        context.node_labels["kubernetes.io/hostname"] = config.node.name;
        if (const auto found = own_node.find({"", config.node.name})) context.node_labels = found->metadata.labels;
        context.active = pods.active();
        context.memory_pressure = eviction.memory_pressure();
        return context;
    }

    NodeHealth health() const {
        NodeHealth health;
        if (!runtime_problem.empty()) health.problems.push_back(runtime_problem);
        if (runtime_problem.empty() && !node.network_problem.empty())
            health.problems.push_back("container runtime network not ready: " + node.network_problem);
        if (std::string problem = pods.relist_problem(); !problem.empty()) health.problems.push_back(std::move(problem));
        health.runtime_version = runtime_version;
        health.memory_pressure = eviction.memory_pressure();
        health.disk_pressure = eviction.disk_pressure();
        return health;
    }

    void follow_api_pods() {
        api_pods.subscribe({.added = [this](const auto& pod) { take_api_pod(pod); },
                            .updated = [this](const auto&, const auto& pod) { take_api_pod(pod); },
                            .deleted = [this](const auto& pod) { drop_api_pod(pod); }});
    }

    void take_api_pod(const std::shared_ptr<const core::Pod>& pod) {
        if (is_mirror_pod(*pod)) return static_pods.observe_mirror(*pod);
        statuses.observe(pod->metadata.uid, *pod);
        // A namesake that was made anew replaces the one before, whose deletion we may not have seen.
        if (PodWorker* other = pods.find(pod->metadata.namespace_, pod->metadata.name);
            other && other->pod().metadata.uid != pod->metadata.uid && !is_static_pod(other->pod()))
            pods.remove(other->pod().metadata.uid);
        pods.update(pod);
    }

    void drop_api_pod(const std::shared_ptr<const core::Pod>& pod) {
        if (is_mirror_pod(*pod)) return static_pods.drop_mirror(*pod);
        statuses.unobserve(pod->metadata.uid);
        pods.remove(pod->metadata.uid);
    }

    /// Pods of the API start once their environment can name the services.
    Task<> run_api_source() {
        CO_TRY_VOID(co_await services.wait_for_sync());
        follow_api_pods();
        CO_TRY_VOID(co_await api_pods.wait_for_sync());
        CO_TRY_VOID(co_await static_pods.wait_for_first_read());
        pods.set_sources_ready();
        co_return {};
    }

    Task<> run_runtime_check() {
        for (;;) {
            auto checked = co_await check_runtime();
            if (is_cancelled(checked)) co_return std::move(checked).error();
            const bool well = runtime_problem.empty() && node.network_problem.empty();
            CO_TRY_VOID(co_await deps.loop.sleep(well ? RuntimeCheckPeriod : RuntimeRetryPeriod));
        }
    }

    Task<> check_runtime() {
        const std::string runtime_before = runtime_problem, network_before = node.network_problem;
        cri::StatusRequest request;
        auto status = co_await with_timeout(deps.runtime.status(std::move(request)), RuntimeAnswerLimit, "the container runtime's status");
        if (is_cancelled(status)) co_return std::move(status).error();
        if (!status) {
            runtime_problem = "container runtime is down: " + status.error().message;
        } else {
            CO_TRY_VOID(co_await read_version());
            take_conditions(*status);
            if (runtime_problem.empty()) runtime_problem = version_problem(runtime_version);
        }
        if (runtime_before == runtime_problem && network_before == node.network_problem) co_return {};
        if (!runtime_problem.empty())
            deps.log.warn("container runtime is not ready", {{"problem", runtime_problem}});
        else if (!node.network_problem.empty())
            deps.log.warn("pod network is not ready", {{"problem", node.network_problem}});
        else
            deps.log.info("container runtime is ready", {{"version", runtime_version}});
        reporter.wake();
        if (runtime_problem.empty() && node.network_problem.empty()) pods.wake_all();
        co_return {};
    }

    Task<> read_version() {
        if (!runtime_version.empty() && runtime_problem.empty()) co_return {};
        CO_TRY(const auto version, co_await deps.runtime.version({}));
        runtime_version = version.runtime_name + "://" +
                          (version.runtime_version.starts_with('v') ? version.runtime_version.substr(1) : version.runtime_version);
        node.runtime_name = version.runtime_name;
        co_return {};
    }

    void take_conditions(const cri::StatusResponse& response) {
        runtime_problem.clear();
        node.network_problem.clear();
        if (!response.status) return;
        for (const cri::RuntimeCondition& one : response.status->conditions) {
            if (one.status) continue;
            const std::string text = one.type + "=false reason:" + one.reason + " message:" + one.message;
            if (one.type == "RuntimeReady") runtime_problem = "container runtime not ready: " + text;
            if (one.type == "NetworkReady") node.network_problem = text;
        }
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
        if (const auto made = prepare_directories(); !made) {
            deps.log.error("kubelet cannot use its directories", {{"error", made.error().message}});
            co_return made.error();
        }
        scope.spawn(events.run());
        scope.spawn(statuses.run());
        CO_TRY_VOID(co_await pods.relist_once());
        scope.spawn(run_runtime_check());
        scope.spawn(pods.run_relist());
        scope.spawn(pods.run_housekeeping(gc));
        scope.spawn(static_pods.run());
        scope.spawn(reporter.run_status());
        scope.spawn(reporter.run_lease());
        scope.spawn(run_log_rotation());
        scope.spawn(run_image_gc());
        scope.spawn(eviction.run());
        informers.start();
        scope.spawn(run_api_source());
        Event never;
        co_return co_await never.wait();
    }

    Result<void> prepare_directories() {
        TRY_VOID(deps.files.create_directories(config.root_directory + "/pods", 0750));
        TRY_VOID(deps.files.create_directories(config.log_root, 0755));
        return deps.cgroups.ensure_tiers(config.cgroup_root);
    }

    Task<> close() {
        CO_TRY_VOID(co_await scope.close());
        CO_TRY_VOID(co_await pods.close());
        CO_TRY_VOID(co_await probes.close());
        co_return co_await informers.close();
    }

    KubeletConfig config;
    KubeletDependencies deps;
    HostFacts facts;
    NodeFacts node;
    std::string runtime_problem = "container runtime status check may not have completed yet", runtime_version;
    client::EventRecorder events;
    client::Informers informers;
    client::Informer<core::Pod>& api_pods;
    client::Informer<core::Service>& services;
    client::Informer<core::Node>& own_node;
    ApiObjects objects;
    ApiTokens tokens;
    StateReader reader;
    ProbeManager probes;
    VolumeManager volumes;
    ImagePuller puller;
    ContainerStarter starter;
    ContainerKiller killer;
    StatusManager statuses;
    ContainerGc gc;
    PodServices pod_services;
    PodManager pods;
    StaticPods static_pods;
    ImageGc image_gc;
    Eviction eviction;
    LogRotation rotation;
    NodeReporter reporter;
    Scope scope;
};

Kubelet::Kubelet(KubeletConfig config, KubeletDependencies dependencies)
    : parts_(std::make_unique<Parts>(std::move(config), std::move(dependencies))) {}
Kubelet::~Kubelet() = default;

Task<> Kubelet::run() {
    auto ended = co_await parts_->run();
    CO_TRY_VOID(co_await parts_->close());
    co_return ended;
}

PodManager& Kubelet::pods() { return parts_->pods; }
const StatusManager& Kubelet::statuses() const { return parts_->statuses; }
const KubeletConfig& Kubelet::config() const { return parts_->config; }
const KubeletDependencies& Kubelet::dependencies() const { return parts_->deps; }
const NodeFacts& Kubelet::node() const { return parts_->node; }

}  // namespace porthole::kubelet
