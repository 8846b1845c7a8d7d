#pragma once
#include <memory>
#include <string>

#include "apiserver/audit/audit_log.h"
#include "apiserver/audit/audit_webhook.h"
#include "apiserver/outgoing/outgoing_client.h"
#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"

namespace porthole::cmd {

/// The command line's settings of the audit log, with upstream's flags.
struct AuditFlags {
    std::string policy_file;               ///< "": the built-in policy
    apiserver::RotatingFile::Options log;  ///< path "": none
    std::string webhook_config_file;       ///< "": none
    apiserver::AuditWebhook::Options webhook;
};
void add_audit_flags(CLI::App& app, AuditFlags& flags);

/// The API server's auditor and its back ends. Lives on the loop of `world`, which outlives it.
class ServerAudit {
public:
    ServerAudit(RealWorld& world, Random& random, Logger log) : world_(world), random_(random), log_(std::move(log)) {}

    /// Errors: those of the policy file, the log and the webhook's configuration, with the flag's name.
    Result<void> open(const AuditFlags& flags);
    /// Null if no back end was requested.
    apiserver::Auditor* auditor() { return auditor_.get(); }
    /// Writes and sends pending events. Nothing is recorded afterwards.
    Task<> close();

private:
    Result<void> open_webhook(const AuditFlags& flags);
    Task<int> post_events(std::string body);

    RealWorld& world_;
    Random& random_;
    Logger log_;
    std::unique_ptr<apiserver::AuditLog> file_;
    std::unique_ptr<FileSystem> files_ = make_file_system();
    /// Separate from the API server's other connections, since the last events are sent after those have ended.
    std::unique_ptr<apiserver::OutgoingClients> clients_ = apiserver::make_outgoing_clients(world_.loop, *files_);
    std::unique_ptr<apiserver::OutgoingClient> client_;
    std::unique_ptr<apiserver::AuditWebhook> webhook_;
    std::unique_ptr<apiserver::Auditor> auditor_;
};

}  // namespace porthole::cmd
