#include "simulation/sim_cluster.h"

#include "apiserver/example_options.h"
#include "apiserver/local_clients.h"
#include "client/events.h"
#include "client/informers/informer.h"
#include "controllers/registry.h"
#include "kubelet/kubelet.h"
#include "kubelet/sim/fake_node.h"
#include "net/tls/x509.h"
#include "runtime/scope.h"
#include "runtime/sim/memory_file_system.h"
#include "scheduler/scheduler.h"

namespace porthole::simulation {
namespace {

Logger quiet(const char* component) { return Logger(make_null_sink(), component); }

/// In a simulation nothing may fail that cannot be waited out.
template <class T>
T must(Result<T> result) {
    if (!result) std::fprintf(stderr, "simulation: %s\n", result.error().message.c_str());
    CHECK(result.has_value());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// Keeps what the server says of requests that it denied to the cluster's own components.
class DenialSink final : public LogSink {
public:
    explicit DenialSink(std::vector<std::string>& denials) : denials_(denials) {}
    bool wants(LogLevel level) const override { return level == LogLevel::Warn; }
    void write(LogLevel, std::string_view, std::string_view message, std::initializer_list<LogField> fields) override {
        if (message != "a component of the control plane was denied a request") return;
        std::string& denial = denials_.emplace_back();
        for (const LogField& field : fields) denial += field.value + ' ';
    }

private:
    std::vector<std::string>& denials_;
};

Error unreachable() { return Error(Reason::Unavailable, "connection refused"); }

}  // namespace

Task<client::ApiResponse> SwitchTransport::call(client::ApiRequest request) {
    if (!server_) co_return unreachable();
    co_return co_await server_->call(std::move(request));
}

Task<std::unique_ptr<client::ApiStream>> SwitchTransport::watch(client::ApiRequest request) {
    if (!server_) co_return unreachable();
    co_return co_await server_->watch(std::move(request));
}

/// The control plane's process.
struct SimCluster::Server {
    explicit Server(SimCluster& cluster) : cluster(cluster) {
        apiserver::ApiServerOptions options = apiserver::example_options();
        options.bootstrap.advertise_address = "192.0.2.1";
        options.service_account_key_pem = cluster.account_key_;
        api = must(apiserver::ApiServer::open(
            {.loop = cluster.loop_, .pool = cluster.pool_, .random = cluster.random_, .log = Logger(cluster.denial_sink_, "apiserver")},
            std::make_unique<store::MemoryEngine>(*cluster.disk_), std::move(options)));
        must(sim::run(cluster.loop_, api->start()));
        manager.emplace(*api, "kube-controller-manager");
        scheduling.emplace(*api, "kube-scheduler");
        outside = api->transport(apiserver::loopback_user(), "nodes");
        controllers::Settings settings;
        settings.cluster_cidrs = {"10.244.0.0/16"};
        settings.root_ca_pem = "authority";
        const auto client_of = [this](const std::string& account) -> client::Client& { return manager->of(account); };
        const controllers::ControllerManager::Seams seams{cluster.loop_, client_of, cluster.random_, quiet("controllers")};
        controllers = must(sim::run(cluster.loop_, controllers::ControllerManager::create(seams, api->registry(), std::move(settings))));
        controllers->start();
        client::Client& client = scheduling->of();
        informers =
            std::make_unique<client::Informers>(client::InformerContext{cluster.loop_, client, cluster.random_, quiet("scheduler")});
        events = std::make_unique<client::EventRecorder>(cluster.loop_, client, quiet("scheduler"), "default-scheduler");
        scheduler = std::make_unique<scheduler::Scheduler>(
            scheduler::SchedulerContext{cluster.loop_, client, *informers, *events, cluster.random_, quiet("scheduler")});
        informers->start();
        scope.spawn(events->run());
        scope.spawn(scheduler->run());
    }

    Task<> close() {
        CO_TRY_VOID(co_await scope.close());
        CO_TRY_VOID(co_await informers->close());
        CO_TRY_VOID(co_await controllers->close());
        scheduler.reset();
        CO_TRY_VOID(co_await manager->close());
        CO_TRY_VOID(co_await scheduling->close());
        CO_TRY_VOID(co_await outside->close());
        co_return co_await api->close();
    }

    SimCluster& cluster;
    std::unique_ptr<apiserver::ApiServer> api;
    std::optional<apiserver::LocalClients> manager, scheduling;
    std::unique_ptr<apiserver::LocalTransport> outside;
    std::unique_ptr<controllers::ControllerManager> controllers;
    std::unique_ptr<client::Informers> informers;
    std::unique_ptr<client::EventRecorder> events;
    std::unique_ptr<scheduler::Scheduler> scheduler;
    Scope scope{cluster.loop_};
};

/// A machine: its runtime and disk outlive its kubelet.
struct SimCluster::Node {
    Node(SimCluster& cluster, int number)
        : cluster(cluster),
          name("node-" + std::to_string(number)),
          address("192.0.2." + std::to_string(number + 10)),
          runtime(cluster.loop_, "10.244." + std::to_string(number) + "."),
          files(cluster.loop_) {
        runtime.add_image("app:1");
        runtime.add_image("app:2");
        start();
    }

    void start() {
        kubelet::KubeletConfig config;
        config.node.name = name;
        config.node.addresses = {address};
        config.node.root_directory = config.root_directory;
        config.node.version = "v1.36.0";
        config.cluster_dns = {"10.96.0.10"};
        kubelet = std::make_unique<kubelet::Kubelet>(config, kubelet::KubeletDependencies{.loop = cluster.loop_,
                                                                                          .random = cluster.random_,
                                                                                          .log = quiet("kubelet"),
                                                                                          .client = cluster.client_,
                                                                                          .runtime = runtime,
                                                                                          .images = runtime,
                                                                                          .files = files,
                                                                                          .workers = cluster.pool_,
                                                                                          .system = system,
                                                                                          .prober = prober});
        scope = std::make_unique<Scope>(cluster.loop_);
        scope->spawn(kubelet->run());
    }
    void stop() {
        must(sim::run(cluster.loop_, scope->close()));
        kubelet.reset();
        scope.reset();
    }

    SimCluster& cluster;
    std::string name, address;
    kubelet::sim::FakeRuntime runtime;
    porthole::sim::MemoryFileSystem files;
    kubelet::sim::FakeNodeSystem system;
    kubelet::sim::FakeProber prober;
    std::unique_ptr<kubelet::Kubelet> kubelet;
    std::unique_ptr<Scope> scope;
};

SimCluster::SimCluster(std::uint64_t seed, int nodes)
    : random_(seed), account_key_(net::PrivateKey::generate().pem()), denial_sink_(std::make_shared<DenialSink>(denials_)) {
    start_server();
    for (int i = 0; i < nodes; ++i) nodes_.push_back(std::make_unique<Node>(*this, i));
}

SimCluster::~SimCluster() {
    for (auto& node : nodes_) node->stop();
    stop_server();
}

void SimCluster::start_server() {
    server_ = std::make_unique<Server>(*this);
    transport_.point_to(server_->outside.get());
}

void SimCluster::stop_server() {
    transport_.point_to(nullptr);
    must(sim::run(loop_, server_->close()));
    server_.reset();
}

void SimCluster::crash_server() {
    // The disk as the crash leaves it; what the dying process still does reaches only the disk that is thrown away.
    auto kept = std::make_unique<store::MemoryDisk>(*disk_);
    kept->crash(random_);
    stop_server();
    disk_ = std::move(kept);
    start_server();
}

void SimCluster::restart_kubelet(int node) {
    nodes_[static_cast<std::size_t>(node)]->stop();
    nodes_[static_cast<std::size_t>(node)]->start();
}

void SimCluster::kill_some_container() {
    Node& node = *nodes_[random_.below(nodes_.size())];
    for (const auto& [id, container] : node.runtime.containers()) {
        if (container.status.state != kubelet::cri::ContainerState::ContainerRunning) continue;
        const std::string pod = node.runtime.sandboxes().at(container.sandbox_id).metadata->name;
        node.runtime.exit(pod, container.status.metadata->name, 137);
        return;
    }
}

std::size_t SimCluster::running_containers(const std::string& prefix) const {
    std::size_t count = 0;
    for (const auto& node : nodes_) {
        for (const auto& [id, container] : node->runtime.containers()) {
            const auto sandbox = node->runtime.sandboxes().find(container.sandbox_id);
            if (sandbox == node->runtime.sandboxes().end()) continue;
            const bool running = container.status.state == kubelet::cri::ContainerState::ContainerRunning;
            count += running && sandbox->second.metadata->name.starts_with(prefix);
        }
    }
    return count;
}

}  // namespace porthole::simulation
