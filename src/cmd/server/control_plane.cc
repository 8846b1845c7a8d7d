#include "cmd/server/control_plane.h"

#include "apiserver/local_clients.h"
#include "apiserver/resources/leader_fence.h"
#include "base/result.h"
#include "base/version.h"
#include "client/events.h"
#include "client/informers/informer.h"
#include "cmd/server/candidate.h"
#include "cmd/server/store_location.h"
#include "local_cluster/kubeconfig_entry.h"
#include "local_cluster/next_steps.h"
#include "local_cluster/start.h"
#include "local_cluster/state/cluster.h"
#include "runtime/component_thread.h"
#include "runtime/files/durable_file.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"
#include "store/embedded/data_lock.h"
#include "store/embedded/embedded_engine.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace node_join;
using apiserver::ApiServer;
namespace fs = std::filesystem;
namespace {

template <class T>
Task<> close_and_reset(std::unique_ptr<T>& part) {
    if (part) CO_TRY_VOID(co_await part->close());
    part.reset();
    co_return {};
}

/// Ends a part on its own loop, then its way to the API.
template <class Component, class T>
Task<> close_on(Component* component, std::unique_ptr<T>& part) {
    if (!component) co_return {};
    CO_TRY_VOID(co_await component->run([&part] { return close_and_reset(part); }));
    co_return co_await component->close();
}

}  // namespace

/// One of the control plane's components beside the API: a thread, its ways to the API, and what runs on them.
class ControlPlane::Component {
public:
    /// `fence` may be null.
    Component(ApiServer& api, std::string name, std::shared_ptr<const apiserver::LeaderFence> fence)
        : clients_(api, std::move(name), std::move(fence)) {}

    AsioLoop& loop() { return thread_.loop(); }
    apiserver::LocalClients& clients() { return clients_; }
    Task<> run(std::function<Task<>()> task) { return thread_.run(std::move(task)); }
    Task<> close() { return clients_.close(); }

private:
    apiserver::LocalClients clients_;
    ComponentThread thread_;
};

/// Whether this server leads a component. Its own requests are not fenced: it is by them that the leader is found.
struct ControlPlane::Election {
    Election(RealWorld& world, ApiServer& api, Random& random, Logger log, const client::LeaderElector::Timing& timing,
             const std::string& identity, Candidate::Component component)
        : clients(api, component.name),
          candidate({world.loop, clients.of(), random, std::move(log)}, std::move(component), identity, timing) {}

    apiserver::LocalClients clients;
    Candidate candidate;
};

/// The scheduler with what it needs, all on one loop.
class ControlPlane::SchedulerProcess {
public:
    SchedulerProcess(AsioLoop& loop, client::Client& client, client::SharedObjects& shared, scheduler::Configuration configuration,
                     Logger log)
        : informers_({loop, client, random_, log, &shared}),
          events_(loop, client, log, "default-scheduler"),
          extenders_(loop),
          scheduler_({.loop = loop, .client = client, .informers = informers_, .events = events_, .random = random_, .log = log},
                     std::move(configuration),
                     [this](const scheduler::ExtenderConfiguration& extender) { return extenders_.open(extender); }),
          scope_(loop, [log](const Error& error) { log.error("the scheduler ended", {{"error", error.message}}); }) {}

    void start() {
        informers_.start();
        scope_.spawn(events_.run());
        scope_.spawn(scheduler_.run());
    }
    Task<> close() {
        CO_TRY_VOID(co_await scope_.close());
        CO_TRY_VOID(co_await extenders_.close());
        co_return co_await informers_.close();
    }
    std::string metrics() const { return scheduler::metrics_text(scheduler_); }

private:
    SystemRandom random_;
    client::Informers informers_;
    client::EventRecorder events_;
    scheduler::HttpExtenderTransports extenders_;
    scheduler::Scheduler scheduler_;
    Scope scope_;
};

ControlPlane::ControlPlane(RealWorld& world, ServerFlags flags, Logger log)
    : world_(world), flags_(std::move(flags)), log_(std::move(log)), certificates_(world.loop, flags_, log_) {}
ControlPlane::~ControlPlane() = default;

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
    options.served_versions = flags_.served_versions;
    options.service_cidrs = {flags_.service_cidr};
    options.service_account_key_pem = pki.service_account_key_pem;
    options.previous_service_account_key_pem = pki.previous_service_account_key_pem;
    options.front_proxy_certificate_pem = pki.front_proxy_client.certificate_pem;
    options.front_proxy_key_pem = pki.front_proxy_client.key_pem;
    options.store_quota_bytes = flags_.store_quota_bytes;
    options.reconcile_endpoints = flags_.election.endpoint_reconciler_type == "lease";
    options.service_account_issuers = service_account_issuers(flags_);
    options.extend_service_account_tokens = flags_.extend_service_account_tokens;
    options.flags = flags_.effective;
    options.limits = flags_.limits;
    options.priority_and_fairness = flags_.priority_and_fairness;
    options.git_version = std::string(KubernetesVersion) + "+porthole-" + PortholeVersion;
    return options;
}

Task<> ControlPlane::start() {
    const DataDir data(flags_.data);
    CO_TRY_VOID(check_election_flags(flags_.election));
    CO_TRY_VOID(read_scheduler_configuration());
    CO_TRY_VOID(cluster_range("--service-cidr", flags_.service_cidr));
    CO_TRY_VOID(cluster_range("--cluster-cidr", flags_.cluster_cidr));
    CO_TRY(const std::string service_ip, address_in(flags_.service_cidr, 1));
    // A start that is refused changes nothing: it makes no directory, and no lock in an empty one.
    std::error_code ignored;
    if (path_exists(data.root()) && !std::filesystem::is_empty(data.root(), ignored)) {
        CO_TRY(data_lock_, store::lock_data_directory(data.root().string()));
    }
    CO_TRY_VOID(co_await check_store_location(world_, data, flags_.etcd));
    CO_TRY(secrets_, co_await agree_on_secrets(world_, flags_, log_.named("secrets")));
    const bool encryption_given = !flags_.encryption.configuration_file.empty() || secrets_;
    CO_TRY_VOID(co_await check_encryption_is_known(world_, data, flags_.etcd, encryption_given));
    if (!data_lock_) {
        CO_TRY(data_lock_, store::lock_data_directory(data.root().string()));
    }
    std::unique_ptr<store::Engine> engine;  // null: an etcd
    // Data of a newer form are refused before certificates are renewed.
    if (flags_.etcd.servers.empty() && path_exists(data.store() / "store.db")) {
        CO_TRY(engine, store::open_embedded_engine(data.store().string()));
    }
    CO_TRY(std::string authorities, required_authorities(data, flags_.etcd));
    CO_TRY(const Pki pki, certificates_.ensure());
    if (flags_.etcd.servers.empty() && !engine) {
        CO_TRY(engine, store::open_embedded_engine(data.store().string()));
    }
    CO_TRY_VOID(encryption_.open(flags_.encryption, data.encryption_file().string()));
    apiserver::ApiServerOptions chosen = options(pki, service_ip);
    chosen.more_metrics = [this] { return more_metrics(); };
    if (flags_.kubelet_certificate_authority.empty() && pki.kubelets_unverified_until > SystemTime())
        chosen.flags["kubelets-unverified-until"] = Timestamp(pki.kubelets_unverified_until).to_string();
    CO_TRY_VOID(audit_.open(flags_.audit));
    chosen.audit = audit_.auditor();
    chosen.flags["encryption-providers"] = encryption_.providers();
    access_reload_ = std::make_unique<apiserver::AccessReload>(
        apiserver::AccessReload::Seams{.loop = world_.loop, .files = *files_, .log = log_.named("access")}, flags_.access,
        chosen.service_account_issuers);
    CO_TRY_VOID(apiserver::read_access_flags(*files_, flags_.access, chosen));
    proxy_ca_pem_ = chosen.authentication.request_header.ca_pem;
    CO_TRY_VOID(make_connector(pki));
    CO_TRY(api_, co_await open_api(std::move(engine), std::move(authorities), std::move(chosen)));
    CO_TRY_VOID(note_store_location(data, flags_.etcd));
    CO_TRY_VOID(encryption_.check_loaded());
    CO_TRY_VOID(certificates_.trust_clients(pki, *api_));
    CO_TRY_VOID(listen(pki));
    CO_TRY_VOID(co_await api_->start());
    log_.info("the API is ready", {{"address", flags_.advertise_address}, {"port", flags_.port}});
    co_return co_await start_components(pki);
}

Task<std::unique_ptr<ApiServer>> ControlPlane::open_api(std::unique_ptr<store::Engine> engine, std::string authorities,
                                                        apiserver::ApiServerOptions options) {
    const ApiServer::Seams seams{.loop = world_.loop,
                                 .pool = *world_.pool,
                                 .random = random_,
                                 .log = log_.named("apiserver"),
                                 .connector = connector_.get(),
                                 .outgoing = outgoing_.get()};
    if (engine) co_return ApiServer::open(seams, encryption_.wrap(std::move(engine)), std::move(options));
    if (std::filesystem::exists(DataDir(flags_.data).store()))
        log_.warn("objects of the data directory's own store are not used", {{"store", DataDir(flags_.data).store().string()}});
    CO_TRY(auto open_store, etcd_store_opener(world_, flags_.etcd, encryption_.encryption(), std::move(authorities), log_.named("store")));
    co_return co_await ApiServer::open(seams, std::move(open_store), std::move(options));
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
    TRY(auto tls, certificates_.kubelet_tls(pki));
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
    http_ = std::make_unique<net::HttpServer>(
        world_.loop, api_->server(),
        net::HttpServerOptions{.tls = tls_, .turns = api_->server().turns(), .own_thread = flags_.connection_thread}, log_.named("http"));
    TRY_VOID(http_->listen(flags_.bind_address, flags_.port));
    return {};
}

Task<> ControlPlane::start_components(const Pki& pki) {
    const bool elects = !flags_.etcd.servers.empty() && flags_.election.leader_elect;
    const std::string identity = election_identity(random_.uuid());
    const auto make_component = [&](const std::string& name) {
        auto fence = elects ? std::make_shared<const apiserver::LeaderFence>("kube-system", name, identity) : nullptr;
        return std::make_unique<Component>(*api_, name, std::move(fence));
    };
    controller_settings_ = controller_settings(pki);
    std::vector<Candidate::Component> components;
    if (!flags_.disable_controller_manager) {
        controller_component_ = make_component("kube-controller-manager");
        components.push_back({.name = "kube-controller-manager",
                              .start = [this] { return run_controllers(); },
                              .stop = [this] { return stop_controllers(); }});
    }
    if (!flags_.disable_scheduler) {
        scheduler_component_ = make_component("kube-scheduler");
        components.push_back({.name = "kube-scheduler",
                              .start = [this] { return scheduler_component_->run([this] { return start_scheduler(); }); },
                              .stop = [this] { return scheduler_component_->run([this] { return close_and_reset(scheduler_); }); }});
    }
    for (Candidate::Component& component : components) {
        if (elects)
            stand_for_election(identity, std::move(component));
        else
            CO_TRY_VOID(co_await component.start());
    }
    co_return {};
}

void ControlPlane::stand_for_election(const std::string& identity, Candidate::Component component) {
    elections_.push_back(
        std::make_unique<Election>(world_, *api_, random_, log_.named("election"), flags_.election.timing, identity, std::move(component)));
    elections_.back()->candidate.start();
}

Task<> ControlPlane::run_controllers() {
    CO_TRY(const Semaphore::Permit turn, co_await controllers_turn_.acquire());
    co_return co_await controller_component_->run([this, settings = controller_settings_] { return start_controllers(settings); });
}

Task<> ControlPlane::stop_controllers() {
    CO_TRY(const Semaphore::Permit turn, co_await controllers_turn_.acquire());
    co_return co_await controller_component_->run([this] { return close_and_reset(controllers_); });
}

Task<> ControlPlane::restart_controllers(const Pki& pki) {
    CO_TRY(const Semaphore::Permit turn, co_await controllers_turn_.acquire());
    controller_settings_ = controller_settings(pki);
    if (!controller_component_) co_return {};
    co_return co_await controller_component_->run(
        [this, settings = controller_settings_] { return restart_running_controllers(settings); });
}

Task<> ControlPlane::follow_certificates() {
    return certificates_.follow({.api = *api_,
                                 .tls = *tls_,
                                 .connector = *connector_,
                                 .secrets = secrets_.get(),
                                 .restart_controllers = [this](const Pki& pki) { return restart_controllers(pki); },
                                 .write_admin_kubeconfig = [this] { return write_admin_kubeconfig(); }});
}

Task<> ControlPlane::follow_encryption() {
    const bool shared = secrets_ && flags_.encryption.configuration_file.empty();
    return encryption_.follow(*api_, shared ? [this] { return secrets_->agreed_encryption(); } : ServerEncryption::Agreed());
}

controllers::Settings ControlPlane::controller_settings(const Pki& pki) const {
    controllers::Settings settings;
    settings.cluster_cidrs = {flags_.cluster_cidr};
    settings.service_cidrs = {flags_.service_cidr};
    settings.node_mask_ipv4 = flags_.node_cidr_mask_size;
    settings.node_monitor_grace = flags_.node_monitor_grace;
    settings.node_eviction_rate = flags_.node_eviction_rate;
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
    CO_TRY(controllers_, co_await controllers::ControllerManager::create(
                             {on.loop(), client_of, controller_random_, log_.named("controllers"), &shared_objects_}, api_->registry(),
                             std::move(settings)));
    controllers_->start();
    co_return {};
}

Task<> ControlPlane::restart_running_controllers(controllers::Settings settings) {
    if (!controllers_) co_return {};
    CO_TRY_VOID(co_await close_and_reset(controllers_));
    co_return co_await start_controllers(std::move(settings));
}

Result<void> ControlPlane::read_scheduler_configuration() {
    const std::string& path = flags_.scheduler_config;
    if (path.empty()) return {};
    TRY(const std::string text, read_file(path));
    auto read = scheduler::read_configuration(text, [](const std::string& file) { return read_file(file); });
    if (!read) return std::move(read).error().with_context("scheduler configuration file " + path);
    for (const std::string& warning : read->warnings) log_.warn(warning, {{"file", path}});
    scheduler_configuration_ = std::move(read->configuration);
    return {};
}

Task<> ControlPlane::start_scheduler() {
    Component& on = *scheduler_component_;
    scheduler_ = std::make_unique<SchedulerProcess>(on.loop(), on.clients().of(), shared_objects_, scheduler_configuration_,
                                                    log_.named("scheduler"));
    scheduler_->start();
    co_return {};
}

Task<> ControlPlane::read_controller_metrics(std::string& into) {
    if (controllers_) controllers_->append_metrics(into);
    co_return {};
}

Task<> ControlPlane::read_scheduler_metrics(std::string& into) {
    if (scheduler_) into = scheduler_->metrics();
    co_return {};
}

void ControlPlane::append_election_metrics(std::string& out) const {
    if (elections_.empty()) return;
    const std::string name = "leader_election_master_status";  // upstream's
    out += "# HELP " + name + " Whether this server leads a component: 1, or 0 while it stands by.\n# TYPE " + name + " gauge\n";
    for (const auto& election : elections_)
        out += name + "{name=\"" + election->candidate.name() + "\"} " + (election->candidate.leading() ? "1\n" : "0\n");
}

Task<std::string> ControlPlane::more_metrics() {
    std::string text;
    if (scheduler_component_) CO_TRY_VOID(co_await scheduler_component_->run([this, &text] { return read_scheduler_metrics(text); }));
    std::string of_controllers;
    if (controller_component_)
        CO_TRY_VOID(co_await controller_component_->run([this, &of_controllers] { return read_controller_metrics(of_controllers); }));
    text += of_controllers;
    append_election_metrics(text);
    encryption_.append_metrics(text);
    access_reload_->append_metrics(text);
    co_return text;
}

Task<> ControlPlane::close() {
    // First what other servers wait for, while the API answers.
    for (const auto& election : elections_) CO_TRY_VOID(co_await election->candidate.resign());
    if (api_) {
        if (const auto withdrawn = co_await api_->withdraw(); !withdrawn)
            log_.warn("the endpoint of this server was not removed; its lease will expire", {{"error", withdrawn.error().message}});
    }
    if (http_) CO_TRY_VOID(co_await http_->close());
    if (connector_) CO_TRY_VOID(co_await connector_->close());
    CO_TRY_VOID(co_await outgoing_->close());
    CO_TRY_VOID(co_await close_on(scheduler_component_.get(), scheduler_));
    CO_TRY_VOID(co_await close_on(controller_component_.get(), controllers_));
    for (const auto& election : elections_) CO_TRY_VOID(co_await election->clients.close());
    elections_.clear();
    scheduler_component_.reset();
    controller_component_.reset();
    if (api_) CO_TRY_VOID(co_await api_->close());
    CO_TRY_VOID(co_await close_and_reset(secrets_));
    co_return co_await audit_.close();
}

}  // namespace porthole::cmd
