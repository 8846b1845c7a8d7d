#include "cmd/server/server_certificates.h"

#include "local_cluster/state/cluster.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki_changes.h"
#include "node_join/shared_secrets/accept_both.h"
#include "runtime/files/durable_file.h"

namespace porthole::cmd {

using namespace node_join;
using local_cluster::DataDir;
using namespace std::chrono_literals;
namespace {

constexpr Duration CertificatesLookEvery = 10s;

Result<apiserver::KubeletTls> kubelet_tls_of(const Pki& pki, const std::string& kubelet_ca_pem, SystemTime now) {
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

}  // namespace

Result<Pki> ServerCertificates::ensure() const {
    TRY(const std::string service_ip, local_cluster::address_in(flags_.service_cidr, 1));
    return Pki::ensure(
        DataDir(flags_.data).pki(),
        {{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + flags_.cluster_domain, "localhost"},
         {flags_.advertise_address, "127.0.0.1", service_ip}},
        loop_.wall_now());
}

Result<apiserver::KubeletTls> ServerCertificates::kubelet_tls(const Pki& pki) {
    if (!flags_.kubelet_certificate_authority.empty()) {
        TRY(kubelet_ca_pem_, read_file(flags_.kubelet_certificate_authority));
    }
    const SystemTime now = loop_.wall_now();
    verifying_ = now >= pki.kubelets_unverified_until;
    return kubelet_tls_of(pki, kubelet_ca_pem_, now);
}

Task<> ServerCertificates::follow(Users users) {
    const auto files = make_file_system();
    PkiChanges changes(*files, DataDir(flags_.data).pki().string(), loop_);
    const auto record = [&] {
        if (const auto recorded = record_sightings(users.api); !recorded)
            log_.warn("cannot record which clients used which authority", {{"error", recorded.error().message}});
    };
    CO_TRY(Pki current, ensure());
    for (;;) {
        CO_TRY_VOID(co_await loop_.sleep(CertificatesLookEvery));
        auto use = SecretsAgreement::Use::Sign;
        if (users.secrets) {
            CO_TRY(use, co_await users.secrets->look());
        }
        if (use == SecretsAgreement::Use::None) continue;
        const bool due = changes.due(), verifying = loop_.wall_now() >= current.kubelets_unverified_until;
        if (!due && use == SecretsAgreement::Use::Sign && verifying == verifying_) {
            record();
            continue;
        }
        Result<Pki> fresh = ensure();
        if (use == SecretsAgreement::Use::Accept) {  // other servers may not know yet what this one would sign
            const auto accepted = fresh ? accept(*fresh, current, users) : Result<void>(fresh.error());
            if (!accepted)
                log_.warn("certificates of the other servers' new keys cannot be accepted yet", {{"error", accepted.error().message}});
            continue;
        }
        Result<void> taken = fresh ? Result<void>() : Result<void>(fresh.error());
        if (fresh && fresh->ca_pem != current.ca_pem) taken = co_await take_up_authorities(*fresh, users);
        if (is_cancelled(taken)) co_return taken;
        // What follows (the administrator's kubeconfig, too) may fail again and again; the controllers are not restarted for it.
        if (taken && fresh) current.ca_pem = fresh->ca_pem;
        if (taken) taken = take_up(*fresh, current, users);
        record();
        if (taken) {
            current = std::move(*fresh);
            changes.taken();
        } else {
            log_.warn("certificates cannot be renewed", {{"error", taken.error().message}});
        }
    }
}

Result<void> ServerCertificates::trust_clients(const Pki& pki, apiserver::ApiServer& api) const {
    TRY(auto authorities, authority_ids(pki.ca_pem));
    const bool several = authorities.size() > 1;
    apiserver::ClientCertificates& clients = api.client_certificates();
    clients.trust(std::move(authorities));
    if (!several || !clients.sightings().empty()) return {};
    TRY(const auto recorded, read_sightings(DataDir(flags_.data).pki()));
    apiserver::ClientCertificates::Sightings sightings;
    for (const auto& [name, seen] : recorded) sightings[name] = {seen.authority, seen.time};
    clients.remember(std::move(sightings));
    return {};
}

Result<void> ServerCertificates::record_sightings(apiserver::ApiServer& api) const {
    const auto& seen = api.client_certificates().sightings();
    if (seen.empty()) return {};
    ClientSightings sightings;
    for (const auto& [name, one] : seen) sightings[name] = {one.authority, one.time};
    return write_sightings(DataDir(flags_.data).pki(), sightings);
}

Result<void> ServerCertificates::accept(const Pki& fresh, Pki& current, const Users& users) const {
    Pki both = accept_both(current, fresh);
    if (both.ca_pem != current.ca_pem) {
        TRY_VOID(users.tls.reload_client_ca(both.ca_pem));
        TRY_VOID(trust_clients(both, users.api));
    }
    if (both.previous_service_account_key_pem != current.previous_service_account_key_pem)
        TRY_VOID(users.api.use_service_account_keys(both.service_account_key_pem, both.previous_service_account_key_pem));
    current = std::move(both);
    return {};
}

Task<> ServerCertificates::take_up_authorities(const Pki& fresh, const Users& users) const {
    const Pki taken = fresh;
    CO_TRY_VOID(users.tls.reload_client_ca(taken.ca_pem));
    CO_TRY_VOID(trust_clients(taken, users.api));
    CO_TRY_VOID(co_await users.api.use_authorities(taken.ca_pem));
    CO_TRY_VOID(co_await users.restart_controllers(taken));
    log_.info("the cluster's authorities have changed");
    co_return {};
}

Result<void> ServerCertificates::take_up(const Pki& fresh, const Pki& current, const Users& users) {
    if (fresh.server.certificate_pem != current.server.certificate_pem) {
        TRY_VOID(users.tls.reload(fresh.server.certificate_pem, fresh.server.key_pem));
        log_.info("the API server's certificate has been renewed");
    }
    if (fresh.service_account_key_pem != current.service_account_key_pem ||
        fresh.previous_service_account_key_pem != current.previous_service_account_key_pem) {
        TRY_VOID(users.api.use_service_account_keys(fresh.service_account_key_pem, fresh.previous_service_account_key_pem));
        log_.info("the keys of service accounts' tokens have changed", {{"two", !fresh.previous_service_account_key_pem.empty()}});
    }
    if (fresh.front_proxy_client.certificate_pem != current.front_proxy_client.certificate_pem &&
        flags_.access.proxy_client_cert_file.empty())
        users.api.use_front_proxy_certificate(fresh.front_proxy_client.certificate_pem, fresh.front_proxy_client.key_pem);
    if (fresh.admin.certificate_pem != current.admin.certificate_pem) {
        TRY_VOID(users.write_admin_kubeconfig());
    }
    const bool verifying = loop_.wall_now() >= fresh.kubelets_unverified_until;
    if (fresh.kubelet_client.certificate_pem != current.kubelet_client.certificate_pem || verifying != verifying_) {
        TRY(auto tls, kubelet_tls(fresh));
        users.connector.use_kubelet_tls(std::move(tls));
    }
    return {};
}

}  // namespace porthole::cmd
