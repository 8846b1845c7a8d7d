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
    std::string client_ca_pem;   ///< client certificates are requested and verified against these; "" requests none
    std::string proxy_ca_pem{};  ///< the same for proxies that act for users (CertificateIdentity::of_proxy); "" for none
    TlsPolicy policy{};
};

/// TLS 1.2 and 1.3 with ALPN h2 and http/1.1. Thread-safe: servers on several loops may share one.
///
/// A client whose certificate cannot be verified is accepted without an identity (Peer::certificate_error): its requests can then be
/// answered with 401, which is clearer than a failed handshake.
class TlsServerContext {
public:
    virtual ~TlsServerContext() = default;
    /// Error: BadRequest for invalid PEM or a key that does not match.
    static Result<std::shared_ptr<TlsServerContext>> create(const TlsServerOptions& options);
    /// Replaces the certificate for later handshakes. Error: as create(); the old one then stays in use.
    virtual Result<void> reload(const std::string& certificate_pem, const std::string& key_pem) = 0;
    /// Replaces the certificates that clients are verified against, likewise.
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

/// How a client verifies a server and authenticates itself. Immutable; loops may share it.
class TlsClientContext {
public:
    virtual ~TlsClientContext() = default;
    /// Error: BadRequest for invalid PEM or a key that does not match.
    static Result<std::shared_ptr<const TlsClientContext>> create(const TlsClientOptions& options);
};

}  // namespace porthole::net
