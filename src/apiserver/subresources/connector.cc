#include "apiserver/subresources/connector.h"

#include <algorithm>
#include <list>
#include <set>

namespace porthole::apiserver {
namespace {

constexpr std::size_t MostClients = 256;  ///< kept for later requests: users choose the hosts and ports

class HttpConnector final : public KubeletConnector {
public:
    HttpConnector(AsioLoop& loop, KubeletTls kubelet_tls, std::shared_ptr<const net::TlsClientContext> any_tls, Logger log)
        : loop_(loop), kubelet_tls_(std::move(kubelet_tls)), any_tls_(std::move(any_tls)), log_(std::move(log)) {}

    Task<std::unique_ptr<net::HttpBody>> open(ConnectTarget target, net::HttpRequest request) override {
        CO_TRY(const bool verified, co_await is_to_be_verified(target));
        co_return co_await client_of(target, verified).open(std::move(request));
    }
    Task<net::Upgraded> upgrade(ConnectTarget target, net::HttpRequest request) override {
        CO_TRY(const bool verified, co_await is_to_be_verified(target));
        co_return co_await client_of(target, verified).upgrade(std::move(request));
    }
    /// What is open stays as it is: only new clients are made with it.
    void use_kubelet_tls(KubeletTls tls) override {
        kubelet_tls_ = std::move(tls);
        ++identity_;
    }
    Task<> close() override {
        for (auto& [key, client] : clients_) CO_TRY_VOID(co_await client.close());
        clients_.clear();
        co_return {};
    }

private:
    using Key = std::tuple<std::string, std::uint16_t, int, int>;
    using Entry = std::pair<Key, net::HttpClient>;

    /// False for a kubelet that has never shown a certificate that passes, while those are still asked. A handshake tells, before a request
    /// is sent that could not be sent twice.
    Task<bool> is_to_be_verified(ConnectTarget target) {
        if (target.security != ConnectTarget::Security::Kubelet || !kubelet_tls_.unverified) co_return true;
        if (verified_.contains({target.host, target.port})) co_return true;
        const auto tried = co_await net::connect(loop_, {.host = target.host, .port = target.port}, kubelet_tls_.verified);
        if (tried) verified_.insert({target.host, target.port});
        const bool is_bad = !tried && tried.error().message.contains("certificate not trusted");
        if (is_bad)
            log_.warn("a kubelet's certificate cannot be verified; soon it will be refused",
                      {{"address", target.host}, {"why", tried.error().message}});
        co_return !is_bad;
    }
    net::HttpClient& client_of(const ConnectTarget& target, bool verified) {
        const bool is_kubelet = target.security == ConnectTarget::Security::Kubelet;
        const Key key{target.host, target.port, static_cast<int>(target.security), is_kubelet ? identity_ * 2 + verified : 0};
        if (const auto found = std::ranges::find(clients_, key, &Entry::first); found != clients_.end()) {
            clients_.splice(clients_.begin(), clients_, found);
            return clients_.front().second;
        }
        forget_oldest();
        const net::Endpoint endpoint{.host = target.host, .port = target.port};
        return clients_
            .emplace_front(std::piecewise_construct, std::tuple(key),
                           std::forward_as_tuple(loop_, endpoint, tls_of(target.security, verified)))
            .second;
    }
    /// Makes room, but ends no request.
    void forget_oldest() {
        for (auto oldest = clients_.end(); clients_.size() >= MostClients && oldest != clients_.begin();) {
            if (!(--oldest)->second.busy()) oldest = clients_.erase(oldest);
        }
    }
    std::shared_ptr<const net::TlsClientContext> tls_of(ConnectTarget::Security security, bool verified) const {
        switch (security) {
            case ConnectTarget::Security::Kubelet:
                return verified ? kubelet_tls_.verified : kubelet_tls_.unverified;
            case ConnectTarget::Security::AnyTls:
                return any_tls_;
            case ConnectTarget::Security::Plain:
                return nullptr;
        }
        return nullptr;
    }

    AsioLoop& loop_;
    KubeletTls kubelet_tls_;
    std::shared_ptr<const net::TlsClientContext> any_tls_;
    Logger log_;
    int identity_ = 0;                                          ///< counts those that we have had
    std::set<std::pair<std::string, std::uint16_t>> verified_;  ///< kubelets that have shown a certificate that passes
    std::list<Entry> clients_;                                  ///< the one used last first
};

}  // namespace

std::unique_ptr<KubeletConnector> make_connector(AsioLoop& loop, KubeletTls kubelet_tls,
                                                 std::shared_ptr<const net::TlsClientContext> any_tls, Logger log) {
    return std::make_unique<HttpConnector>(loop, std::move(kubelet_tls), std::move(any_tls), std::move(log));
}

}  // namespace porthole::apiserver
