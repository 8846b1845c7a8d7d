#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "net/tls/tls_policy.h"

namespace porthole::net {

/// All texts are PEM.
struct TlsServerOptions {
    std::string certificate_pem;  ///< the server's chain
    std::string key_pem;
    std::string client_ca_pem;   ///< certificates of clients are asked for and verified against these; "" asks for none
    std::string proxy_ca_pem{};  ///< the same for proxies that speak for users (CertificateIdentity::of_proxy); "" for none
    TlsPolicy policy{};
};

/// TLS 1.2 and 1.3 with ALPN h2 and http/1.1. Thread-safe: servers on several loops may share one.
///
/// A client whose certificate does not verify is let in without an identity (Peer::certificate_error): its requests can then be
/// answered 401, which says more than a broken handshake.
class TlsServerContext {
public:
    virtual ~TlsServerContext() = default;
    /// Error: BadRequest for bad PEM or a key that does not fit.
    static Result<std::shared_ptr<TlsServerContext>> create(const TlsServerOptions& options);
    /// Changes the certificate for later handshakes. Error: as create(); the old one then stays in use.
    virtual Result<void> reload(const std::string& certificate_pem, const std::string& key_pem) = 0;
    /// The same for the certificates that clients are verified against.
    virtual Result<void> reload_client_ca(const std::string& client_ca_pem) = 0;
};

/// All texts are PEM.
struct TlsClientOptions {
    std::string ca_pem;           ///< "" means the system's roots
    std::string certificate_pem;  ///< "" for none
    std::string key_pem;
    std::string server_name;  ///< "" means the endpoint's host
    bool insecure_skip_verify = false;
};

/// How a client verifies a server and shows who it is. Immutable; may be shared by loops.
class TlsClientContext {
public:
    virtual ~TlsClientContext() = default;
    /// Error: BadRequest for bad PEM or a key that does not fit.
    static Result<std::shared_ptr<const TlsClientContext>> create(const TlsClientOptions& options);
};

}  // namespace porthole::net
