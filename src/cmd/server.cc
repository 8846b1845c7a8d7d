#include <signal.h>

#include <fstream>

#include "apiserver/api_server.h"
#include "apiserver/subresources/connector.h"
#include "client/events.h"
#include "client/informer.h"
#include "client/shared_objects.h"
#include "cmd/cluster.h"
#include "cmd/command.h"
#include "cmd/component_thread.h"
#include "cmd/flags.h"
#include "cmd/pki.h"
#include "cmd/runtime_setup.h"
#include "cmd/version.h"
#include "controllers/registry.h"
#include "net/http_server.h"
#include "net/tls.h"
#include "runtime/process_memory.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"
#include "store/embedded/embedded_engine.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using apiserver::ApiServer;
using apiserver::LocalTransport;

struct ServerFlags {
    std::string data = default_data_dir();
    std::string bind_address = "0.0.0.0", advertise_address = "127.0.0.1";
    std::uint16_t port = 6443;
    std::string service_cidr = "10.96.0.0/12", cluster_cidr = "10.244.0.0/16";
    std::string backend = "host-gw";
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    std::string audit_log;
    bool revive_supervisor = false, verbose = false;
};

/// One of the control plane's components beside the API: a thread, a way to the API, and what runs on them.
class Component {
public:
    Component(ApiServer& api, const std::string& name) : transport_(api.transport(apiserver::loopback_user(), name)) {}

    EventLoop& loop() { return thread_.loop(); }
    client::Client& client() { return client_; }
    Task<> run(std::function<Task<>()> task) { return thread_.run(std::move(task)); }
    Task<> close() { return transport_->close(); }

private:
    std::unique_ptr<LocalTransport> transport_;
    client::Client client_{*transport_};
    ComponentThread thread_;
};

/// The scheduler with what it needs, all on one loop.
class SchedulerProcess {
public:
    SchedulerProcess(EventLoop& loop, client::Client& client, client::SharedObjects& shared, Logger log)
        : informers_({loop, client, random_, log, &shared}),
          events_(loop, client, log, "default-scheduler"),
          scheduler_({.loop = loop, .client = client, .informers = informers_, .events = events_, .random = random_, .log = log}),
          scope_(loop, [log](const Error& error) { log.error("the scheduler ended", {{"error", error.message}}); }) {}

    void start() {
        informers_.start();
        scope_.spawn(events_.run());
        scope_.spawn(scheduler_.run());
    }
    Task<> close() {
        CO_TRY_VOID(co_await scope_.close());
        co_return co_await informers_.close();
    }
    std::string metrics() const { return scheduler::metrics_text(scheduler_); }

private:
    SystemRandom random_;
    client::Informers informers_;
    client::EventRecorder events_;
    scheduler::Scheduler scheduler_;
    Scope scope_;
};

/// The control plane of one process, from start to end.
class ControlPlane {
public:
    ControlPlane(RealWorld& world, ServerFlags flags, Logger log) : world_(world), flags_(std::move(flags)), log_(std::move(log)) {}

    /// Errors: those of files, certificates, the store and the port, each with what to do.
    Task<> start();
    /// Issues certificates anew in their last third and uses them without a restart. Until cancelled.
    Task<> renew_certificates();
    Task<> close();

private:
    /// The way to kubelets, pods and endpoints.
    Result<void> make_connector(const Pki& pki);
    Result<void> listen(const Pki& pki);
    Result<Pki> ensure_pki() const;
    Task<> start_components(const Pki& pki);
    // On the components' own loops.
    Task<> start_controllers(controllers::Settings settings);
    Task<> start_scheduler();
    Task<> read_scheduler_metrics(std::string& into);
    // On the API's loop.
    Task<std::string> scheduler_metrics();
    apiserver::ApiServerOptions options(const Pki& pki, const std::string& service_ip) const;

    RealWorld& world_;
    ServerFlags flags_;
    Logger log_;
    SystemRandom random_, controller_random_;
    std::ofstream audit_;
    std::unique_ptr<apiserver::Connector> connector_;
    std::shared_ptr<net::TlsServerContext> tls_;
    std::unique_ptr<ApiServer> api_;
    std::unique_ptr<net::HttpServer> http_;
    client::SharedObjects shared_objects_;  ///< pods and nodes are followed by the controllers and by the scheduler
    std::unique_ptr<Component> controller_component_, scheduler_component_;
    std::unique_ptr<controllers::ControllerManager> controllers_;
    std::unique_ptr<SchedulerProcess> scheduler_;
};

apiserver::ApiServerOptions ControlPlane::options(const Pki& pki, const std::string& service_ip) const {
    apiserver::ApiServerOptions options;
    options.bootstrap = {.advertise_address = flags_.advertise_address,
                         .port = flags_.port,
                         .kubernetes_service_ip = service_ip,
                         .cluster_dns = flags_.cluster_dns,
                         .cluster_domain = flags_.cluster_domain,
                         .service_cidr = flags_.service_cidr,
                         .cluster_cidr = flags_.cluster_cidr,
                         .backend = flags_.backend,
                         .ca_pem = pki.ca_pem,
                         .client_ca_pem = pki.ca_pem};
    options.service_cidrs = {flags_.service_cidr};
    options.service_account_key_pem = pki.service_account_key_pem;
    options.issuer = "https://kubernetes.default.svc." + flags_.cluster_domain;
    options.git_version = std::string(KubernetesVersion) + "+porthole-" + Version;
    return options;
}

/// A kubelet's certificate is not checked, as upstream does by default: what authenticates here is our client certificate.
Result<std::shared_ptr<const net::TlsClientContext>> kubelet_identity(const Pki& pki) {
    return net::TlsClientContext::create(
        {.certificate_pem = pki.kubelet_client.certificate_pem, .key_pem = pki.kubelet_client.key_pem, .insecure_skip_verify = true});
}

Result<Pki> ControlPlane::ensure_pki() const {
    TRY(const std::string service_ip, address_in(flags_.service_cidr, 1));
    return Pki::ensure(
        DataDir(flags_.data).pki(),
        {{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + flags_.cluster_domain, "localhost"},
         {flags_.advertise_address, "127.0.0.1", service_ip}},
        world_.loop.wall_now());
}

Task<> ControlPlane::renew_certificates() {
    CO_TRY(Pki current, ensure_pki());
    for (;;) {
        CO_TRY_VOID(co_await world_.loop.sleep(1h));
        Result<Pki> fresh = ensure_pki();
        if (!fresh) {
            log_.warn("certificates cannot be checked", {{"error", fresh.error().message}});
            continue;
        }
        if (fresh->server.certificate_pem != current.server.certificate_pem) {
            CO_TRY_VOID(tls_->reload(fresh->server.certificate_pem, fresh->server.key_pem));
            log_.info("the API server's certificate has been renewed");
        }
        if (fresh->kubelet_client.certificate_pem != current.kubelet_client.certificate_pem) {
            CO_TRY(auto identity, kubelet_identity(*fresh));
            connector_->use_kubelet_identity(std::move(identity));
        }
        current = std::move(*fresh);
    }
}

Task<> ControlPlane::start() {
    const DataDir data(flags_.data);
    CO_TRY(const std::string service_ip, address_in(flags_.service_cidr, 1));
    CO_TRY(const Pki pki, ensure_pki());
    CO_TRY(auto engine, store::open_embedded_engine(data.store().string()));
    apiserver::ApiServerOptions chosen = options(pki, service_ip);
    chosen.more_metrics = [this] { return scheduler_metrics(); };
    if (!flags_.audit_log.empty()) {
        audit_.open(flags_.audit_log, std::ios::app);
        if (!audit_) co_return Error(Reason::Io, "cannot write the audit log " + flags_.audit_log);
        chosen.audit = [this](const std::string& line) { audit_ << line << '\n' << std::flush; };
    }
    CO_TRY_VOID(make_connector(pki));
    CO_TRY(
        api_,
        ApiServer::open(
            {.loop = world_.loop, .pool = *world_.pool, .random = random_, .log = log_.named("apiserver"), .connector = connector_.get()},
            std::move(engine), std::move(chosen)));
    CO_TRY_VOID(listen(pki));
    CO_TRY_VOID(co_await api_->start());
    log_.info("the API is ready", {{"address", flags_.advertise_address}, {"port", flags_.port}});
    co_return co_await start_components(pki);
}

Result<void> ControlPlane::make_connector(const Pki& pki) {
    TRY(auto kubelet_tls, kubelet_identity(pki));
    TRY(auto any_tls, net::TlsClientContext::create({.insecure_skip_verify = true}));
    connector_ = apiserver::make_connector(world_.loop, std::move(kubelet_tls), std::move(any_tls));
    return {};
}

Result<void> ControlPlane::listen(const Pki& pki) {
    TRY(tls_, net::TlsServerContext::create(
                  {.certificate_pem = pki.server.certificate_pem, .key_pem = pki.server.key_pem, .client_ca_pem = pki.ca_pem}));
    http_ = std::make_unique<net::HttpServer>(world_.loop, api_->server(), net::HttpServerOptions{.tls = tls_}, log_.named("http"));
    TRY_VOID(http_->listen(flags_.bind_address, flags_.port));
    return {};
}

Task<> ControlPlane::start_components(const Pki& pki) {
    controller_component_ = std::make_unique<Component>(*api_, "kube-controller-manager");
    scheduler_component_ = std::make_unique<Component>(*api_, "kube-scheduler");
    controllers::Settings settings;
    settings.cluster_cidrs = {flags_.cluster_cidr};
    settings.service_cidrs = {flags_.service_cidr};
    settings.root_ca_pem = pki.ca_pem;
    settings.signer_certificate_pem = pki.ca_pem;
    settings.signer_key_pem = pki.ca_key_pem();
    settings.read_time_zone = [](const std::string& zone) { return read_file(fs::path("/usr/share/zoneinfo") / zone); };
    CO_TRY_VOID(co_await controller_component_->run([this, settings] { return start_controllers(settings); }));
    co_return co_await scheduler_component_->run([this] { return start_scheduler(); });
}

Task<> ControlPlane::start_controllers(controllers::Settings settings) {
    Component& on = *controller_component_;
    CO_TRY(controllers_,
           controllers::ControllerManager::create({on.loop(), on.client(), controller_random_, log_.named("controllers"), &shared_objects_},
                                                  api_->registry(), std::move(settings)));
    controllers_->start();
    co_return {};
}

Task<> ControlPlane::start_scheduler() {
    Component& on = *scheduler_component_;
    scheduler_ = std::make_unique<SchedulerProcess>(on.loop(), on.client(), shared_objects_, log_.named("scheduler"));
    scheduler_->start();
    co_return {};
}

Task<> ControlPlane::read_scheduler_metrics(std::string& into) {
    if (scheduler_) into = scheduler_->metrics();
    co_return {};
}

Task<std::string> ControlPlane::scheduler_metrics() {
    std::string text;
    if (scheduler_component_) CO_TRY_VOID(co_await scheduler_component_->run([this, &text] { return read_scheduler_metrics(text); }));
    co_return text;
}

template <class T>
Task<> close_and_reset(std::unique_ptr<T>& part) {
    if (part) CO_TRY_VOID(co_await part->close());
    part.reset();
    co_return {};
}

/// Ends a part on its own loop, then its way to the API.
template <class T>
Task<> close_on(Component* component, std::unique_ptr<T>& part) {
    if (!component) co_return {};
    CO_TRY_VOID(co_await component->run([&part] { return close_and_reset(part); }));
    co_return co_await component->close();
}

Task<> ControlPlane::close() {
    if (http_) CO_TRY_VOID(co_await http_->close());
    if (connector_) CO_TRY_VOID(co_await connector_->close());
    CO_TRY_VOID(co_await close_on(scheduler_component_.get(), scheduler_));
    CO_TRY_VOID(co_await close_on(controller_component_.get(), controllers_));
    scheduler_component_.reset();
    controller_component_.reset();
    if (api_) CO_TRY_VOID(co_await api_->close());
    co_return {};
}

/// Starts another supervisor whenever the one named in cluster.json has died without ending the cluster.
Task<> revive_supervisors(RealWorld& world, DataDir data, Logger log) {
    for (;;) {
        CO_TRY(const Cluster cluster, Cluster::load(data));
        if (is_running(cluster.supervisor)) {
            CO_TRY_VOID(co_await wait_for_exit(world.loop, cluster.supervisor));
            continue;
        }
        log.warn("the supervisor has died; starting another", {{"pid", cluster.supervisor.pid}});
        CO_TRY_VOID(start_child({{fs::read_symlink("/proc/self/exe").string(), "supervise", "--data", data.root().string()},
                                 data.logs() / "supervisor.log",
                                 "",
                                 -1}));
        CO_TRY_VOID(co_await world.loop.sleep(2s));  // it writes its name down first
    }
}

}  // namespace

int run_server(std::vector<std::string> arguments) {
    ServerFlags flags;
    CLI::App app("Run the control plane: API server, controllers and scheduler in one process.", "server");
    app.add_option("--data", flags.data, "the cluster's data directory")->capture_default_str();
    app.add_option("--bind-address", flags.bind_address, "to listen on")->capture_default_str();
    app.add_option("--port", flags.port, "to listen on")->capture_default_str();
    app.add_option("--advertise-address", flags.advertise_address, "at which nodes and pods reach this server")->capture_default_str();
    app.add_option("--service-cidr,--service-cluster-ip-range", flags.service_cidr, "addresses of services")->capture_default_str();
    app.add_option("--cluster-cidr", flags.cluster_cidr, "addresses of pods")->capture_default_str();
    app.add_option("--backend", flags.backend, "pod network between nodes, which joining nodes adopt: host-gw or vxlan")
        ->check(CLI::IsMember({"host-gw", "vxlan"}))
        ->capture_default_str();
    app.add_option("--cluster-dns", flags.cluster_dns, "address of the cluster's DNS")->capture_default_str();
    app.add_option("--cluster-domain", flags.cluster_domain, "domain of services")->capture_default_str();
    app.add_option("--audit-log", flags.audit_log, "file for a line about every request");
    app.add_flag("--revive-supervisor", flags.revive_supervisor, "start another supervisor when ours dies");
    app.add_flag("--verbose,-v", flags.verbose, "log at debug level");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    ::signal(SIGPIPE, SIG_IGN);
    RealWorld world;
    Logger log(make_stderr_sink(flags.verbose ? LogLevel::Debug : LogLevel::Info), "server");
    const DataDir data(flags.data);
    const bool revive = flags.revive_supervisor;
    ControlPlane control_plane(world, std::move(flags), log);
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    const auto started = world.run(control_plane.start());
    Scope scope(world.loop, [&](const Error& error) { log.error("supervision ended", {{"error", error.message}}); });
    const auto memory = make_process_memory();
    if (started) {
        scope.spawn(control_plane.renew_certificates());
        scope.spawn(give_back_memory_at_rest(world.loop, *memory));
        if (revive) scope.spawn(revive_supervisors(world, data, log.named("server")));
        (void)world.run(stop.wait());
        log.info("ending");
    }
    (void)world.run(scope.close());
    const auto closed = world.run(control_plane.close());
    if (!started) return fail(started.error().message);
    return closed ? 0 : fail(closed.error().message);
}

}  // namespace porthole::cmd
