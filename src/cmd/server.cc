#include <signal.h>

#include <cstdio>

#include "apiserver/access_reload.h"
#include "apiserver/api_server.h"
#include "apiserver/local_clients.h"
#include "apiserver/subresources/connector.h"
#include "base/result.h"
#include "base/time/time.h"
#include "base/version.h"
#include "client/events.h"
#include "client/informers/informer.h"
#include "client/informers/shared_objects.h"
#include "cmd/access_flags.h"
#include "cmd/program/effective_flags.h"
#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/server_audit.h"
#include "cmd/server_encryption.h"
#include "controllers/registry.h"
#include "local_cluster/cluster.h"
#include "local_cluster/kubeconfig_entry.h"
#include "local_cluster/next_steps.h"
#include "local_cluster/start.h"
#include "net/http/http_server.h"
#include "net/tls/tls.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki.h"
#include "runtime/component_thread.h"
#include "runtime/files/durable_file.h"
#include "runtime/processes/process_memory.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"
#include "store/embedded/embedded_engine.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace node_join;
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using apiserver::ApiServer;

struct ServerFlags {
    std::string data = default_data_dir();
    std::string bind_address = "0.0.0.0", advertise_address = "127.0.0.1";
    std::uint16_t port = 6443;
    std::string service_cidr = "10.96.0.0/12", cluster_cidr = "10.244.0.0/16";
    std::string backend = "host-gw";
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    AuditFlags audit;
    EncryptionFlags encryption;
    std::string kubelet_certificate_authority;
    std::size_t store_quota_bytes = store::Store::Options().quota_bytes;
    apiserver::AccessFlags access;
    bool extend_service_account_tokens = true;
    std::string tls_min_version;
    std::vector<std::string> tls_cipher_suites;
    apiserver::Server::Limits limits;
    bool priority_and_fairness = true;
    bool revive_supervisor = false, verbose = false;
    std::map<std::string, std::string> effective;  ///< what /flagz shows
};

/// One of the control plane's components beside the API: a thread, its ways to the API, and what runs on them.
class Component {
public:
    Component(ApiServer& api, std::string name) : clients_(api, std::move(name)) {}

    EventLoop& loop() { return thread_.loop(); }
    apiserver::LocalClients& clients() { return clients_; }
    Task<> run(std::function<Task<>()> task) { return thread_.run(std::move(task)); }
    Task<> close() { return clients_.close(); }

private:
    apiserver::LocalClients clients_;
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
    /// Issues certificates anew in their last third, and uses these and what `porthole certs` makes without a restart. Until cancelled.
    Task<> renew_certificates();
    /// Trusts, signs by and publishes the authorities of `fresh` from now on. Controllers start anew with them.
    Task<> take_up_authorities(const Pki& fresh);
    Result<void> trust_clients_of(const Pki& pki);
    controllers::Settings controller_settings(const Pki& pki) const;
    /// Writes down who came with which authority's certificate, for those who want to end the rotation.
    Result<void> record_sightings() const;
    /// What of `fresh` differs from `current` is used from now on.
    Result<void> take_up(const Pki& fresh, const Pki& current);
    /// Takes up changes of the encryption configuration. Until cancelled.
    Task<> follow_encryption() { return encryption_.follow(*api_); }
    /// Takes up changes of the configurations of authentication and authorization. Until cancelled. Requires: start().
    Task<> follow_access() { return access_reload_->follow(*api_); }
    Task<> close();
    /// Writes the administrator's kubeconfig. Yields what to tell the person who has started the server. Requires: start().
    Result<std::string> introduce() const;

private:
    /// The way to kubelets, pods and endpoints.
    Result<void> make_connector(const Pki& pki);
    Result<void> listen(const Pki& pki);
    Result<Pki> ensure_pki() const;
    Task<> start_components(const Pki& pki);
    Result<void> write_admin_kubeconfig() const;
    std::string server_url() const { return "https://" + flags_.advertise_address + ":" + std::to_string(flags_.port); }
    // On the components' own loops.
    Task<> start_controllers(controllers::Settings settings);
    Task<> start_scheduler();
    Task<> read_scheduler_metrics(std::string& into);
    // On the API's loop.
    Task<std::string> more_metrics();
    apiserver::ApiServerOptions options(const Pki& pki, const std::string& service_ip) const;

    RealWorld& world_;
    ServerFlags flags_;
    Logger log_;
    SystemRandom random_, controller_random_;
    ServerAudit audit_{world_, random_, log_.named("audit")};
    ServerEncryption encryption_{world_, log_.named("encryption")};
    std::string kubelet_ca_pem_;  ///< "" for the cluster's own
    std::string proxy_ca_pem_;    ///< of proxies that speak for users; "" for none
    bool verifying_ = false;      ///< every kubelet, without exception
    std::unique_ptr<apiserver::KubeletConnector> connector_;
    std::unique_ptr<FileSystem> files_ = make_file_system();
    std::unique_ptr<apiserver::OutgoingClients> outgoing_ = apiserver::make_outgoing_clients(world_.loop, *files_);
    std::unique_ptr<apiserver::AccessReload> access_reload_;
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
                         .client_ca_pem = pki.ca_pem,
                         .front_proxy = {.ca_pem = pki.front_proxy_ca.certificate_pem}};
    options.service_cidrs = {flags_.service_cidr};
    options.service_account_key_pem = pki.service_account_key_pem;
    options.previous_service_account_key_pem = pki.previous_service_account_key_pem;
    options.store_quota_bytes = flags_.store_quota_bytes;
    options.issuer = "https://kubernetes.default.svc." + flags_.cluster_domain;
    options.extend_service_account_tokens = flags_.extend_service_account_tokens;
    options.flags = flags_.effective;
    options.limits = flags_.limits;
    options.priority_and_fairness = flags_.priority_and_fairness;
    options.git_version = std::string(KubernetesVersion) + "+porthole-" + PortholeVersion;
    return options;
}

template <class T>
Task<> close_and_reset(std::unique_ptr<T>& part) {
    if (part) CO_TRY_VOID(co_await part->close());
    part.reset();
    co_return {};
}

/// What kubelets are shown, and the authority of what they must show: `kubelet_ca_pem`, or "" for the cluster's own.
Result<apiserver::KubeletTls> kubelet_tls(const Pki& pki, const std::string& kubelet_ca_pem, SystemTime now) {
    net::TlsClientOptions options{.ca_pem = kubelet_ca_pem.empty() ? pki.kubelet_serving_ca.certificate_pem : kubelet_ca_pem,
                                  .certificate_pem = pki.kubelet_client.certificate_pem,
                                  .key_pem = pki.kubelet_client.key_pem};
    apiserver::KubeletTls tls;
    TRY(tls.verified, net::TlsClientContext::create(options));
    options.insecure_skip_verify = true;
    // Whoever names an authority means it for every kubelet.
    if (kubelet_ca_pem.empty() && now < pki.kubelets_unverified_until) {
        TRY(tls.unverified, net::TlsClientContext::create(options));
    }
    return tls;
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
        CO_TRY_VOID(co_await world_.loop.sleep(10s));
        Result<Pki> fresh = ensure_pki();
        Result<void> taken = fresh ? Result<void>() : Result<void>(fresh.error());
        if (fresh && fresh->ca_pem != current.ca_pem) taken = co_await take_up_authorities(*fresh);
        if (is_cancelled(taken)) co_return taken;
        // What follows (the administrator's kubeconfig, too) may fail again and again; the controllers are not restarted for it.
        if (taken && fresh) current.ca_pem = fresh->ca_pem;
        if (taken) taken = take_up(*fresh, current);
        if (const auto recorded = record_sightings(); !recorded)
            log_.warn("who came with which authority's certificate cannot be written down", {{"error", recorded.error().message}});
        if (taken) {
            current = std::move(*fresh);
        } else {
            log_.warn("certificates cannot be renewed", {{"error", taken.error().message}});
        }
    }
}

Result<void> ControlPlane::trust_clients_of(const Pki& pki) {
    TRY(auto authorities, authority_ids(pki.ca_pem));
    const bool several = authorities.size() > 1;
    apiserver::ClientCertificates& clients = api_->client_certificates();
    clients.trust(std::move(authorities));
    if (!several || !clients.sightings().empty()) return {};
    TRY(const auto recorded, read_sightings(DataDir(flags_.data).pki()));
    apiserver::ClientCertificates::Sightings sightings;
    for (const auto& [name, seen] : recorded) sightings[name] = {seen.authority, seen.time};
    clients.remember(std::move(sightings));
    return {};
}

Result<void> ControlPlane::record_sightings() const {
    const auto& seen = api_->client_certificates().sightings();
    if (seen.empty()) return {};
    ClientSightings sightings;
    for (const auto& [name, one] : seen) sightings[name] = {one.authority, one.time};
    return write_sightings(DataDir(flags_.data).pki(), sightings);
}

Task<> ControlPlane::take_up_authorities(const Pki& fresh) {
    const Pki taken = fresh;
    CO_TRY_VOID(tls_->reload_client_ca(taken.ca_pem));
    CO_TRY_VOID(trust_clients_of(taken));
    CO_TRY_VOID(co_await api_->use_authorities(taken.ca_pem));
    CO_TRY_VOID(co_await controller_component_->run([this] { return close_and_reset(controllers_); }));
    CO_TRY_VOID(co_await controller_component_->run([this, settings = controller_settings(taken)] { return start_controllers(settings); }));
    log_.info("the cluster's authorities have changed");
    co_return {};
}

Result<void> ControlPlane::take_up(const Pki& fresh, const Pki& current) {
    if (fresh.server.certificate_pem != current.server.certificate_pem) {
        TRY_VOID(tls_->reload(fresh.server.certificate_pem, fresh.server.key_pem));
        log_.info("the API server's certificate has been renewed");
    }
    if (fresh.service_account_key_pem != current.service_account_key_pem ||
        fresh.previous_service_account_key_pem != current.previous_service_account_key_pem) {
        TRY_VOID(api_->use_service_account_keys(fresh.service_account_key_pem, fresh.previous_service_account_key_pem));
        log_.info("the keys of service accounts' tokens have changed", {{"two", !fresh.previous_service_account_key_pem.empty()}});
    }
    if (fresh.admin.certificate_pem != current.admin.certificate_pem) {
        TRY_VOID(write_admin_kubeconfig());
    }
    const SystemTime now = world_.loop.wall_now();
    const bool verifying = now >= fresh.kubelets_unverified_until;
    if (fresh.kubelet_client.certificate_pem != current.kubelet_client.certificate_pem || verifying != verifying_) {
        TRY(auto tls, kubelet_tls(fresh, kubelet_ca_pem_, now));
        connector_->use_kubelet_tls(std::move(tls));
        verifying_ = verifying;
    }
    return {};
}

Task<> ControlPlane::start() {
    const DataDir data(flags_.data);
    CO_TRY(const std::string service_ip, address_in(flags_.service_cidr, 1));
    CO_TRY(const Pki pki, ensure_pki());
    CO_TRY(auto engine, store::open_embedded_engine(data.store().string()));
    CO_TRY_VOID(encryption_.open(flags_.encryption, data.encryption_file().string()));
    engine = encryption_.wrap(std::move(engine));
    apiserver::ApiServerOptions chosen = options(pki, service_ip);
    chosen.more_metrics = [this] { return more_metrics(); };
    if (flags_.kubelet_certificate_authority.empty() && pki.kubelets_unverified_until > SystemTime())
        chosen.flags["kubelets-unverified-until"] = Timestamp(pki.kubelets_unverified_until).to_string();
    CO_TRY_VOID(audit_.open(flags_.audit));
    chosen.audit = audit_.auditor();
    chosen.flags["encryption-providers"] = encryption_.providers();
    access_reload_ = std::make_unique<apiserver::AccessReload>(
        apiserver::AccessReload::Seams{.loop = world_.loop, .files = *files_, .log = log_.named("access")}, flags_.access, chosen.issuer);
    CO_TRY_VOID(apiserver::read_access_flags(*files_, flags_.access, chosen));
    proxy_ca_pem_ = chosen.authentication.request_header.ca_pem;
    CO_TRY_VOID(make_connector(pki));
    CO_TRY(api_, ApiServer::open({.loop = world_.loop,
                                  .pool = *world_.pool,
                                  .random = random_,
                                  .log = log_.named("apiserver"),
                                  .connector = connector_.get(),
                                  .outgoing = outgoing_.get()},
                                 std::move(engine), std::move(chosen)));
    CO_TRY_VOID(encryption_.check_loaded());
    CO_TRY_VOID(trust_clients_of(pki));
    CO_TRY_VOID(listen(pki));
    CO_TRY_VOID(co_await api_->start());
    log_.info("the API is ready", {{"address", flags_.advertise_address}, {"port", flags_.port}});
    co_return co_await start_components(pki);
}

Result<void> ControlPlane::write_admin_kubeconfig() const {
    return local_cluster::write_admin_kubeconfig(DataDir(flags_.data), server_url());
}

Result<std::string> ControlPlane::introduce() const {
    const DataDir data(flags_.data);
    const std::string server = server_url();
    TRY_VOID(write_admin_kubeconfig());
    TRY(const Pki pki, Pki::load(data.pki()));
    TRY(const std::string ca_hash, pki.ca_hash());
    return server_notes(data, server, ca_hash);
}

Result<void> ControlPlane::make_connector(const Pki& pki) {
    if (!flags_.kubelet_certificate_authority.empty()) {
        TRY(kubelet_ca_pem_, read_file(flags_.kubelet_certificate_authority));
    }
    const SystemTime now = world_.loop.wall_now();
    verifying_ = now >= pki.kubelets_unverified_until;
    TRY(auto tls, kubelet_tls(pki, kubelet_ca_pem_, now));
    TRY(auto any_tls, net::TlsClientContext::create({.insecure_skip_verify = true}));
    connector_ = apiserver::make_connector(world_.loop, std::move(tls), std::move(any_tls), log_.named("apiserver"));
    return {};
}

Result<void> ControlPlane::listen(const Pki& pki) {
    TRY(const auto policy, net::TlsPolicy::parse(flags_.tls_min_version, flags_.tls_cipher_suites));
    TRY(tls_, net::TlsServerContext::create({.certificate_pem = pki.server.certificate_pem,
                                             .key_pem = pki.server.key_pem,
                                             .client_ca_pem = pki.ca_pem,
                                             .proxy_ca_pem = proxy_ca_pem_,
                                             .policy = policy}));
    http_ = std::make_unique<net::HttpServer>(world_.loop, api_->server(), net::HttpServerOptions{.tls = tls_}, log_.named("http"));
    TRY_VOID(http_->listen(flags_.bind_address, flags_.port));
    return {};
}

Task<> ControlPlane::start_components(const Pki& pki) {
    controller_component_ = std::make_unique<Component>(*api_, "kube-controller-manager");
    scheduler_component_ = std::make_unique<Component>(*api_, "kube-scheduler");
    CO_TRY_VOID(co_await controller_component_->run([this, settings = controller_settings(pki)] { return start_controllers(settings); }));
    co_return co_await scheduler_component_->run([this] { return start_scheduler(); });
}

controllers::Settings ControlPlane::controller_settings(const Pki& pki) const {
    controllers::Settings settings;
    settings.cluster_cidrs = {flags_.cluster_cidr};
    settings.service_cidrs = {flags_.service_cidr};
    settings.root_ca_pem = pki.ca_pem;
    settings.signer_certificate_pem = pki.ca_pem;
    settings.signer_key_pem = pki.ca_key_pem();
    settings.kubelet_signer_certificate_pem = pki.kubelet_serving_ca.certificate_pem;
    settings.kubelet_signer_key_pem = pki.kubelet_serving_ca.key_pem;
    settings.read_time_zone = [](const std::string& zone) { return read_file(fs::path("/usr/share/zoneinfo") / zone); };
    return settings;
}

Task<> ControlPlane::start_controllers(controllers::Settings settings) {
    Component& on = *controller_component_;
    const auto client_of = [&on](const std::string& account) -> client::Client& { return on.clients().of(account); };
    CO_TRY(controllers_,
           controllers::ControllerManager::create({on.loop(), client_of, controller_random_, log_.named("controllers"), &shared_objects_},
                                                  api_->registry(), std::move(settings)));
    controllers_->start();
    co_return {};
}

Task<> ControlPlane::start_scheduler() {
    Component& on = *scheduler_component_;
    scheduler_ = std::make_unique<SchedulerProcess>(on.loop(), on.clients().of(), shared_objects_, log_.named("scheduler"));
    scheduler_->start();
    co_return {};
}

Task<> ControlPlane::read_scheduler_metrics(std::string& into) {
    if (scheduler_) into = scheduler_->metrics();
    co_return {};
}

Task<std::string> ControlPlane::more_metrics() {
    std::string text;
    if (scheduler_component_) CO_TRY_VOID(co_await scheduler_component_->run([this, &text] { return read_scheduler_metrics(text); }));
    encryption_.append_metrics(text);
    access_reload_->append_metrics(text);
    co_return text;
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
    CO_TRY_VOID(co_await outgoing_->close());
    CO_TRY_VOID(co_await close_on(scheduler_component_.get(), scheduler_));
    CO_TRY_VOID(co_await close_on(controller_component_.get(), controllers_));
    scheduler_component_.reset();
    controller_component_.reset();
    if (api_) CO_TRY_VOID(co_await api_->close());
    co_return co_await audit_.close();
}

/// What /flagz shows: this program's options, and those of Kubernetes' that cannot be chosen here, as they always are.
std::map<std::string, std::string> shown_flags(const CLI::App& app, const ServerFlags& flags) {
    std::map<std::string, std::string> shown = effective_flags(app);
    const fs::path pki = DataDir(flags.data).pki();
    const std::pair<const char*, std::string> fixed[] = {
        {"allow-privileged", "true"},
        {"authorization-mode", "Node,RBAC"},
        {"client-ca-file", pki / "ca.crt"},
        {"kubelet-client-certificate", pki / "apiserver-kubelet-client.crt"},
        {"kubelet-client-key", pki / "apiserver-kubelet-client.key"},
        {"profiling", "false"},
        {"request-timeout", std::to_string(apiserver::Server::Limits().request_time / 1s) + "s"},
        {"root-ca-file", pki / "ca.crt"},
        {"service-account-key-file", pki / "sa.key"},
        {"service-account-lookup", "true"},
        {"service-account-private-key-file", pki / "sa.key"},
        {"tls-cert-file", pki / "apiserver.crt"},
        {"tls-private-key-file", pki / "apiserver.key"},
        {"use-service-account-credentials", "true"},
    };
    for (const auto& [name, value] : fixed)
        if (std::string& given = shown[name]; given.empty()) given = value;
    if (!flags.access.authorization_config.empty()) shown["authorization-mode"] = "";  // that file says which
    std::string& kubelet_ca = shown["kubelet-certificate-authority"];
    if (kubelet_ca.empty()) kubelet_ca = pki / "kubelet-serving-ca.crt";
    std::string& encryption = shown["encryption-provider-config"];
    if (encryption.empty()) encryption = DataDir(flags.data).encryption_file();
    std::string& oldest_tls = shown["tls-min-version"];
    if (oldest_tls.empty()) oldest_tls = "VersionTLS12";
    return shown;
}

void add_flow_control_options(CLI::App& app, ServerFlags& flags) {
    app.add_option("--max-requests-inflight", flags.limits.reading, "requests that read, at most at a time")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--max-mutating-requests-inflight", flags.limits.mutating, "requests that write, at most at a time")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_flag("--enable-priority-and-fairness", flags.priority_and_fairness,
                 "divide the sum of both among priority levels, and queue requests fairly; false: only count")
        ->default_str("true");
}

}  // namespace

int run_server(std::vector<std::string> arguments) {
    ServerFlags flags;
    CLI::App app("Run the control plane: API server, controllers and scheduler in one process.", "server");
    app.add_option("--data", flags.data, "the cluster's data directory")->capture_default_str();
    app.add_option("--bind-address", flags.bind_address, "address to listen on")->capture_default_str();
    app.add_option("--port", flags.port, "port to listen on")->capture_default_str();
    app.add_option("--advertise-address", flags.advertise_address, "at which nodes and pods reach this server")->capture_default_str();
    app.add_option("--service-cidr,--service-cluster-ip-range", flags.service_cidr, "addresses of services")->capture_default_str();
    app.add_option("--cluster-cidr", flags.cluster_cidr, "addresses of pods")->capture_default_str();
    app.add_option("--backend", flags.backend, "pod network between nodes, which joining nodes adopt: host-gw or vxlan")
        ->check(CLI::IsMember({"host-gw", "vxlan"}))
        ->capture_default_str();
    app.add_option("--cluster-dns", flags.cluster_dns, "address of the cluster's DNS")->capture_default_str();
    app.add_option("--cluster-domain", flags.cluster_domain, "domain of services")->capture_default_str();
    add_audit_flags(app, flags.audit);
    add_encryption_flags(app, flags.encryption);
    add_access_flags(app, flags.access);
    add_flow_control_options(app, flags);
    app.add_option("--kubelet-certificate-authority", flags.kubelet_certificate_authority,
                   "file of the authority that kubelets' serving certificates must be of; without it, pki/kubelet-serving-ca.crt");
    app.add_option("--store-quota-bytes", flags.store_quota_bytes,
                   "size of all objects with their history, beyond which creates and updates are refused; 0: no limit")
        ->capture_default_str();
    app.add_option("--service-account-extend-token-expiration", flags.extend_service_account_tokens,
                   "extend pods' tokens to a year, for programs that do not reread them (true or false)")
        ->capture_default_str();
    app.add_option("--tls-min-version", flags.tls_min_version, "VersionTLS12 (default) or VersionTLS13");
    app.add_option("--tls-cipher-suites", flags.tls_cipher_suites,
                   "ciphers of TLS 1.2 that are accepted, by comma; those of TLS 1.3 are always")
        ->delimiter(',');
    app.add_flag("--revive-supervisor", flags.revive_supervisor, "start another supervisor when ours dies");
    app.add_flag("--verbose,-v", flags.verbose, "log at debug level");
    app.footer(
        "When it serves, it prints where its administrator's kubeconfig is and how nodes join.\n\n"
        "Examples:\n"
        "  porthole server --advertise-address 10.0.0.5       for nodes that reach this machine at 10.0.0.5\n"
        "  porthole server --backend vxlan --advertise-address 10.0.0.5\n"
        "                                                     where the nodes are not on one link\n"
        "  porthole token create --print-join-command         what to type on a node, in another terminal");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    ::signal(SIGPIPE, SIG_IGN);
    RealWorld world;
    Logger log(make_stderr_sink(flags.verbose ? LogLevel::Debug : LogLevel::Info), "server");
    flags.effective = shown_flags(app, flags);
    const DataDir data(flags.data);
    const bool revive = flags.revive_supervisor;
    ControlPlane control_plane(world, std::move(flags), log);
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    const auto started = world.run(control_plane.start());
    Scope scope(world.loop, [&](const Error& error) { log.error("supervision ended", {{"error", error.message}}); });
    const auto memory = make_process_memory();
    if (started) {
        const auto notes = control_plane.introduce();
        if (!notes) log.warn("the administrator's kubeconfig cannot be written", {{"error", notes.error().message}});
        if (notes && !revive) {  // `porthole up` says it otherwise
            std::puts(notes->c_str());
            std::fflush(stdout);
        }
        scope.spawn(control_plane.renew_certificates());
        scope.spawn(control_plane.follow_encryption());
        scope.spawn(control_plane.follow_access());
        scope.spawn(give_back_memory_at_rest(world.loop, *memory));
        if (revive) scope.spawn(revive_supervisors(world.loop, data, log.named("server")));
        (void)world.run(stop.wait());
        log.info("ending");
    }
    (void)world.run(scope.close());
    const auto closed = world.run(control_plane.close());
    if (!started) return fail(started.error().message);
    return closed ? 0 : fail(closed.error().message);
}

}  // namespace porthole::cmd
