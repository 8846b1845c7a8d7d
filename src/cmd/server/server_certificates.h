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

/// The certificates and keys of a control plane: creates them, and makes a running one use their replacements. Lives on `loop`; `flags`
/// outlives it.
class ServerCertificates {
public:
    /// The objects that use them. They outlive follow().
    struct Users {
        apiserver::ApiServer& api;
        net::TlsServerContext& tls;
        apiserver::KubeletConnector& connector;
        node_join::SecretsAgreement* secrets;  ///< null if they are not shared with other servers
        std::function<Task<>(const node_join::Pki&)> restart_controllers;
        std::function<Result<void>()> write_admin_kubeconfig;
    };

    ServerCertificates(EventLoop& loop, const ServerFlags& flags, Logger log) : loop_(loop), flags_(flags), log_(std::move(log)) {}

    /// From the data directory, created or renewed if necessary. Errors: those of Pki::ensure().
    Result<node_join::Pki> ensure() const;
    /// The certificate presented to kubelets, and the authority that must have issued theirs. Errors: those of the file of
    /// --kubelet-certificate-authority.
    Result<apiserver::KubeletTls> kubelet_tls(const node_join::Pki& pki);
    /// Accepts clients' certificates of the authorities of `pki`.
    Result<void> trust_clients(const node_join::Pki& pki, apiserver::ApiServer& api) const;
    /// Renews certificates in the last third of their life, and uses these and the ones that `porthole certs` creates, some seconds after
    /// their files have changed. Until cancelled.
    Task<> follow(Users users);

private:
    /// Trusts, signs with and publishes the authorities of `fresh` from now on. Controllers restart with them.
    Task<> take_up_authorities(const node_join::Pki& fresh, const Users& users) const;
    /// Also accepts what `fresh` has signed, and records that in `current`.
    Result<void> accept(const node_join::Pki& fresh, node_join::Pki& current, const Users& users) const;
    /// Uses everything in `fresh` that differs from `current`.
    Result<void> take_up(const node_join::Pki& fresh, const node_join::Pki& current, const Users& users);
    /// Records which clients used which authority's certificates, for administrators who want to finish a rotation.
    Result<void> record_sightings(apiserver::ApiServer& api) const;

    EventLoop& loop_;
    const ServerFlags& flags_;
    Logger log_;
    std::string kubelet_ca_pem_;  ///< "" for the cluster's own
    bool verifying_ = false;      ///< every kubelet, without exception
};

}  // namespace porthole::cmd
