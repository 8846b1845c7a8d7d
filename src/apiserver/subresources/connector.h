#pragma once
#include <memory>
#include <string>

#include "base/log.h"
#include "net/http/http_client.h"

namespace porthole::apiserver {

/// Something that a request is passed on to: a kubelet, a pod, an endpoint of a service.
struct ConnectTarget {
    enum class Security {
        Kubelet,  ///< TLS with this server's client certificate, to a peer with a kubelet's certificate
        Plain,
        AnyTls,  ///< TLS without verification of the certificate
    };
    std::string host;
    std::uint16_t port = 0;
    Security security = Security::Kubelet;
};

/// Connections to such targets. Used on its loop; close() it, after its users have ended, before destroying it.
class Connector {
public:
    virtual ~Connector() = default;
    /// Errors: Unavailable if the target cannot be reached.
    virtual Task<std::unique_ptr<net::HttpBody>> open(ConnectTarget target, net::HttpRequest request) = 0;
    virtual Task<net::Upgraded> upgrade(ConnectTarget target, net::HttpRequest request) = 0;
    virtual Task<> close() = 0;
};

/// The certificate presented to kubelets, and the authority that must have issued theirs.
struct KubeletTls {
    std::shared_ptr<const net::TlsClientContext> verified;  ///< carries our certificate and checks theirs
    /// The same without the check, for a kubelet that has not yet shown a certificate that passes; null: every kubelet must.
    std::shared_ptr<const net::TlsClientContext> unverified;
};

/// The connector of a server: connections from a loop, kept for later requests.
class KubeletConnector : public Connector {
public:
    /// Of later connections to kubelets.
    virtual void use_kubelet_tls(KubeletTls tls) = 0;
};
std::unique_ptr<KubeletConnector> make_connector(AsioLoop& loop, KubeletTls kubelet_tls,
                                                 std::shared_ptr<const net::TlsClientContext> any_tls, Logger log);

}  // namespace porthole::apiserver
