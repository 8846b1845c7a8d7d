#pragma once
#include <memory>
#include <string>

#include "net/http_client.h"

namespace porthole::apiserver {

/// Something that a request is passed on to: a kubelet, a pod, an endpoint of a service.
struct ConnectTarget {
    enum class Security {
        Kubelet,  ///< TLS with this server's client certificate
        Plain,
        AnyTls,  ///< TLS whose certificate nobody can check
    };
    std::string host;
    std::uint16_t port = 0;
    Security security = Security::Kubelet;
};

/// The way to them.
class Connector {
public:
    virtual ~Connector() = default;
    /// Errors: Unavailable when the target cannot be reached.
    virtual Task<std::unique_ptr<net::HttpBody>> open(ConnectTarget target, net::HttpRequest request) = 0;
    virtual Task<net::Upgraded> upgrade(ConnectTarget target, net::HttpRequest request) = 0;
    /// Later connections to kubelets show this certificate.
    virtual void use_kubelet_identity(std::shared_ptr<const net::TlsClientContext> kubelet_tls) = 0;
    virtual Task<> close() = 0;
};

/// Connections from `loop`, kept for later requests. `kubelet_tls` carries the client certificate.
std::unique_ptr<Connector> make_connector(AsioLoop& loop, std::shared_ptr<const net::TlsClientContext> kubelet_tls,
                                          std::shared_ptr<const net::TlsClientContext> any_tls);

}  // namespace porthole::apiserver
