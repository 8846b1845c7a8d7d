#pragma once
#include <memory>
#include <string>
#include <vector>

#include "apiserver/access_reload.h"
#include "apiserver/api_server.h"
#include "apiserver/subresources/connector.h"
#include "base/log.h"
#include "client/informers/shared_objects.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/server/candidate.h"
#include "cmd/server/server_audit.h"
#include "cmd/server/server_certificates.h"
#include "cmd/server/server_encryption.h"
#include "cmd/server/server_flags.h"
#include "cmd/server/server_secrets.h"
#include "controllers/registry.h"
#include "net/http/http_server.h"
#include "net/tls/tls.h"
#include "node_join/pki.h"
#include "runtime/files/file_lock.h"
#include "runtime/sync.h"
#include "scheduler/configuration/configuration.h"

namespace porthole::cmd {

/// The control plane of one process, from start to end.
class ControlPlane {
public:
    ControlPlane(RealWorld& world, ServerFlags flags, Logger log);
    ~ControlPlane();

    /// Errors: those of files, certificates, the store and the port, each with a remedy.
    Task<> start();
    /// Renews certificates and uses replaced ones. Until cancelled. Requires: start().
    Task<> follow_certificates();
    /// Applies changes of the encryption configuration. Until cancelled.
    Task<> follow_encryption();
    /// Applies changes of the configurations of authentication and authorization. Until cancelled. Requires: start().
    Task<> follow_access() { return access_reload_->follow(*api_); }
    Task<> close();
    /// Writes the administrator's kubeconfig. Returns the text for the user who has started the server. Requires: start().
    Result<std::string> introduce() const;

private:
    /// On `engine`, or on an etcd where that is null.
    Task<std::unique_ptr<apiserver::ApiServer>> open_api(std::unique_ptr<store::Engine> engine, std::string authorities,
                                                         apiserver::ApiServerOptions options);
    /// Creates connections to kubelets, pods and endpoints.
    Result<void> make_connector(const node_join::Pki& pki);
    Result<void> listen(const node_join::Pki& pki);
    /// Those that are not disabled: immediately, or, if there may be other servers, once this one leads.
    Task<> start_components(const node_join::Pki& pki);
    void stand_for_election(const std::string& identity, Candidate::Component component);
    Task<> run_controllers();
    Task<> stop_controllers();
    Task<> restart_controllers(const node_join::Pki& pki);
    controllers::Settings controller_settings(const node_join::Pki& pki) const;
    Result<void> write_admin_kubeconfig() const;
    std::string server_url() const { return "https://" + flags_.advertise_address + ":" + std::to_string(flags_.port); }
    // On the components' own loops.
    Task<> start_controllers(controllers::Settings settings);
    Task<> restart_running_controllers(controllers::Settings settings);
    Task<> start_scheduler();
    Result<void> read_scheduler_configuration();
    Task<> read_controller_metrics(std::string& into);
    Task<> read_scheduler_metrics(std::string& into);
    // On the API's loop.
    Task<std::string> more_metrics();
    void append_election_metrics(std::string& out) const;
    apiserver::ApiServerOptions options(const node_join::Pki& pki, const std::string& service_ip) const;

    RealWorld& world_;
    ServerFlags flags_;
    Logger log_;
    SystemRandom random_, controller_random_;
    ServerAudit audit_{world_, random_, log_.named("audit")};
    ServerEncryption encryption_{world_, log_.named("encryption")};
    ServerCertificates certificates_;
    std::unique_ptr<node_join::SecretsAgreement> secrets_;  ///< null if they are not shared
    std::optional<FileLock> data_lock_;
    std::string proxy_ca_pem_;  ///< of proxies that speak for users; "" for none
    std::unique_ptr<apiserver::KubeletConnector> connector_;
    std::unique_ptr<FileSystem> files_ = make_file_system();
    std::unique_ptr<apiserver::OutgoingClients> outgoing_ = apiserver::make_outgoing_clients(world_.loop, *files_);
    std::unique_ptr<apiserver::AccessReload> access_reload_;
    std::shared_ptr<net::TlsServerContext> tls_;
    std::unique_ptr<apiserver::ApiServer> api_;
    std::unique_ptr<net::HttpServer> http_;
    client::SharedObjects shared_objects_;  ///< pods and nodes are followed by the controllers and by the scheduler
    class Component;
    class SchedulerProcess;
    struct Election;
    std::unique_ptr<Component> controller_component_, scheduler_component_;  ///< null if disabled
    std::unique_ptr<controllers::ControllerManager> controllers_;
    std::unique_ptr<SchedulerProcess> scheduler_;
    controllers::Settings controller_settings_;  ///< with which they start next
    scheduler::Configuration scheduler_configuration_;
    Semaphore controllers_turn_{1};  ///< new authorities and a loss of leadership may coincide
    std::vector<std::unique_ptr<Election>> elections_;
};

}  // namespace porthole::cmd
