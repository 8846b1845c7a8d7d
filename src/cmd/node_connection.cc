#include "cmd/node_connection.h"

#include "client/http_transport.h"
#include "client/older_versions.h"
#include "cmd/node_certificate.h"
#include "cmd/node_identity.h"

namespace porthole::cmd {

using namespace std::chrono_literals;

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

Result<void> NodeConnection::take(client::ClientConfig next) {
    TRY(auto way, seams_.connect(next));
    config_ = std::move(next);
    transport_->replace(std::move(way));
    if (told_) told_();
    return {};
}

/// The file comes first: what is in use must be there after a restart.
Result<void> NodeConnection::take_renewed(const KeyPair& identity) {
    TRY_VOID(write_node_identity(*own_folder_, identity));
    client::ClientConfig next = config_;
    next.certificate_pem = next.key_pem = identity.certificate_pem + identity.key_pem;
    return take(std::move(next));
}

Task<> NodeConnection::renew(std::string node_name) {
    if (!own_folder_) co_return co_await follow();
    client::Client client(*transport_);
    CertificateRenewal renewal({seams_.loop, client, seams_.random, seams_.log}, std::move(node_name),
                               [this](const KeyPair& identity) { return take_renewed(identity); });
    co_return co_await renewal.run(config_.certificate_pem);
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

}  // namespace porthole::cmd
