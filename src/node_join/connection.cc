#include "node_join/connection.h"

#include "base/result.h"
#include "client/http_transport.h"
#include "client/older_versions.h"
#include "net/tls/x509.h"
#include "node_join/certificate.h"
#include "node_join/identity.h"
#include "node_join/pki.h"
#include "node_join/server_list.h"
#include "runtime/files/durable_file.h"

namespace porthole::node_join {

using namespace std::chrono_literals;

namespace {

constexpr Duration AuthorityPeriod = 30s;

}  // namespace

Result<client::ClientConfig> NodeConnection::read() {
    TRY(const auto document, client::read_kubeconfig(seams_.files, kubeconfig_));
    TRY(auto config, document.resolve(seams_.files));
    own_folder_ = identity_folder(document);
    if (!server_.empty()) config.server = server_;
    return config;
}

Result<void> NodeConnection::open(std::string kubeconfig, std::string server) {
    kubeconfig_ = std::move(kubeconfig);
    server_ = std::move(server);
    TRY(config_, read());
    TRY(auto first, seams_.connect(config_));
    transport_ = std::make_unique<RenewableTransport>(std::move(first));
    return {};
}

std::string NodeConnection::server_behind() const {
    return node_join::server_behind(seams_.files, own_folder_ ? own_folder_->string() : "", config_.server);
}

Result<void> NodeConnection::take(client::ClientConfig next) {
    TRY(auto way, seams_.connect(next));
    adopt(std::move(next), std::move(way));
    return {};
}

void NodeConnection::adopt(client::ClientConfig next, std::unique_ptr<client::Transport> way) {
    config_ = std::move(next);
    transport_->replace(std::move(way));
    if (told_) told_();
}

/// The file comes first: what is in use must be there after a restart.
Result<void> NodeConnection::take_renewed(const KeyPair& identity) {
    TRY_VOID(write_node_identity(*own_folder_, identity));
    client::ClientConfig next = config_;
    next.certificate_pem = next.key_pem = identity.certificate_pem + identity.key_pem;
    renewed_for_ = config_.ca_pem;
    return take(std::move(next));
}

Task<> NodeConnection::renew(std::string node_name) {
    if (!own_folder_) co_return co_await follow();
    client::Client client(*transport_);
    CertificateRenewal renewal({seams_.loop, client, seams_.random, seams_.log}, std::move(node_name),
                               [this](const KeyPair& identity) { return take_renewed(identity); });
    renewal.early_when([this] { return is_of_an_old_authority(); });
    co_return co_await renewal.run(config_.certificate_pem);
}

bool NodeConnection::is_of_an_old_authority() const {
    if (renewed_for_ == config_.ca_pem || split_certificates(config_.ca_pem).size() < 2) return false;
    const auto own = net::parse_certificate(config_.certificate_pem), signer = net::parse_certificate(config_.ca_pem);
    return own && signer && own->issuer_common_name != signer->subject.common_name;
}

/// One by which the server cannot be reached would cut the node off for good, so it is tried before it is kept.
Task<> NodeConnection::take_authority(std::string ca_pem) {
    client::ClientConfig next = config_;
    next.ca_pem = ca_pem;
    CO_TRY(auto way, seams_.connect(next));
    client::Client client(*way);
    CO_TRY_VOID(co_await published_authority(client));
    const auto file = own_folder_ ? *own_folder_ / "ca.crt" : std::filesystem::path();
    if (std::error_code unknown; !file.empty() && std::filesystem::exists(file, unknown)) CO_TRY_VOID(write_durably(file, ca_pem, 0644));
    adopt(std::move(next), std::move(way));
    seams_.log.info("the cluster's authorities have changed", {{"trusted", split_certificates(ca_pem).size()}});
    co_return {};
}

Task<> NodeConnection::follow_authority() {
    client::Client client(*transport_);
    for (;;) {
        CO_TRY_VOID(co_await seams_.loop.sleep(AuthorityPeriod));
        const auto published = co_await published_authority(client);
        if (is_cancelled(published)) co_return published.error();
        if (!published || *published == config_.ca_pem) continue;
        const auto taken = co_await take_authority(*published);
        if (is_cancelled(taken)) co_return taken;
        if (!taken) seams_.log.warn("the cluster's authorities cannot be taken over", {{"error", taken.error().message}});
    }
}

Task<> NodeConnection::follow() {
    for (;;) {
        CO_TRY_VOID(co_await seams_.loop.sleep(1min));
        auto next = read();
        const bool same = next && *next == config_;
        const Result<void> taken = same ? Result<void>() : next ? take(*std::move(next)) : Result<void>(next.error());
        if (!taken) seams_.log.warn("cannot reload the node's credentials", {{"error", taken.error().message}});
        if (taken && !same) seams_.log.info("reloaded the node's credentials");
    }
}

NodeConnection::Connect connect_by_http(AsioLoop& loop, std::string user_agent) {
    return [&loop, user_agent = std::move(user_agent)](const client::ClientConfig& config) -> Result<std::unique_ptr<client::Transport>> {
        TRY(auto transport, client::make_http_transport(loop, config, user_agent));
        return std::make_unique<client::OlderVersions>(std::move(transport));
    };
}

}  // namespace porthole::node_join
