#include "apiserver/subresources/connector.h"

#include <map>

namespace porthole::apiserver {
namespace {

class HttpConnector final : public Connector {
public:
    HttpConnector(AsioLoop& loop, std::shared_ptr<const net::TlsClientContext> kubelet_tls,
                  std::shared_ptr<const net::TlsClientContext> any_tls)
        : loop_(loop), kubelet_tls_(std::move(kubelet_tls)), any_tls_(std::move(any_tls)) {}

    Task<std::unique_ptr<net::HttpBody>> open(ConnectTarget target, net::HttpRequest request) override {
        return client_of(target).open(std::move(request));
    }
    Task<net::Upgraded> upgrade(ConnectTarget target, net::HttpRequest request) override {
        return client_of(target).upgrade(std::move(request));
    }
    /// What is open stays as it is: only new clients are made with it.
    void use_kubelet_identity(std::shared_ptr<const net::TlsClientContext> kubelet_tls) override {
        kubelet_tls_ = std::move(kubelet_tls);
        ++identity_;
    }
    Task<> close() override {
        for (auto& [key, client] : clients_) CO_TRY_VOID(co_await client->close());
        clients_.clear();
        co_return {};
    }

private:
    net::HttpClient& client_of(const ConnectTarget& target) {
        const auto tls = tls_of(target.security);
        const int identity = target.security == ConnectTarget::Security::Kubelet ? identity_ : 0;
        auto& client = clients_[{target.host, target.port, static_cast<int>(target.security), identity}];
        if (!client) client = std::make_unique<net::HttpClient>(loop_, net::Endpoint{.host = target.host, .port = target.port}, tls);
        return *client;
    }
    std::shared_ptr<const net::TlsClientContext> tls_of(ConnectTarget::Security security) const {
        switch (security) {
            case ConnectTarget::Security::Kubelet:
                return kubelet_tls_;
            case ConnectTarget::Security::AnyTls:
                return any_tls_;
            case ConnectTarget::Security::Plain:
                return nullptr;
        }
        return nullptr;
    }

    AsioLoop& loop_;
    std::shared_ptr<const net::TlsClientContext> kubelet_tls_, any_tls_;
    int identity_ = 0;  ///< counts those that we have had
    std::map<std::tuple<std::string, std::uint16_t, int, int>, std::unique_ptr<net::HttpClient>> clients_;
};

}  // namespace

std::unique_ptr<Connector> make_connector(AsioLoop& loop, std::shared_ptr<const net::TlsClientContext> kubelet_tls,
                                          std::shared_ptr<const net::TlsClientContext> any_tls) {
    return std::make_unique<HttpConnector>(loop, std::move(kubelet_tls), std::move(any_tls));
}

}  // namespace porthole::apiserver
