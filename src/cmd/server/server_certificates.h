#pragma once
#include <functional>
#include <string>

#include "apiserver/api_server.h"
#include "apiserver/subresources/connector.h"
#include "base/log.h"
#include "cmd/server/server_flags.h"
#include "net/tls/tls.h"
#include "node_join/pki.h"
#include "node_join/shared_secrets/secrets_agreement.h"
#include "runtime/task.h"

namespace porthole::cmd {

/// The certificates and keys of a control plane: makes them, and has a running one use what replaces them. Lives on `loop`; `flags`
/// outlives it.
class ServerCertificates {
public:
    /// What uses them. Outlives follow().
    struct Users {
        apiserver::ApiServer& api;
        net::TlsServerContext& tls;
        apiserver::KubeletConnector& connector;
        node_join::SecretsAgreement* secrets;  ///< null where other servers do not share them
        std::function<Task<>(const node_join::Pki&)> restart_controllers;
        std::function<Result<void>()> write_admin_kubeconfig;
    };

    ServerCertificates(EventLoop& loop, const ServerFlags& flags, Logger log) : loop_(loop), flags_(flags), log_(std::move(log)) {}

    /// As files of the data directory, made or renewed where needed. Errors: those of Pki::ensure().
    Result<node_join::Pki> ensure() const;
    /// What kubelets are shown, and the authority of what they must show. Errors: those of the file of --kubelet-certificate-authority.
    Result<apiserver::KubeletTls> kubelet_tls(const node_join::Pki& pki);
    /// Accepts clients' certificates of the authorities of `pki`.
    Result<void> trust_clients(const node_join::Pki& pki, apiserver::ApiServer& api) const;
    /// Issues certificates again in their last third, and takes up these and what `porthole certs` makes. Until cancelled.
    Task<> follow(Users users);

private:
    /// Trusts, signs by and publishes the authorities of `fresh` from now on. Controllers start again with them.
    Task<> take_up_authorities(const node_join::Pki& fresh, const Users& users) const;
    /// What `fresh` has signed is accepted from now on, too; `current` says so.
    Result<void> accept(const node_join::Pki& fresh, node_join::Pki& current, const Users& users) const;
    /// What of `fresh` differs from `current` is used from now on.
    Result<void> take_up(const node_join::Pki& fresh, const node_join::Pki& current, const Users& users);
    /// Writes down who came with which authority's certificate, for those who want to end the rotation.
    Result<void> record_sightings(apiserver::ApiServer& api) const;

    EventLoop& loop_;
    const ServerFlags& flags_;
    Logger log_;
    std::string kubelet_ca_pem_;  ///< "" for the cluster's own
    bool verifying_ = false;      ///< every kubelet, without exception
};

}  // namespace porthole::cmd
