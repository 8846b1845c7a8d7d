#pragma once
#include <vector>

#include "net/peer.h"
#include "net/tls/tls.h"

namespace porthole::net {

/// A connection after its handshake.
struct TlsConnection {
    std::unique_ptr<ByteStream> stream;
    std::string protocol;                            ///< chosen by ALPN; "" if none
    std::optional<CertificateIdentity> certificate;  ///< the peer's, if it was requested and verified
    std::string certificate_error;                   ///< why the certificate that the peer presented is not accepted
};

/// TLS over any byte stream; the caller sets a time limit. Error: Unavailable ("tls: ..."), Cancelled.
Task<TlsConnection> tls_accept(std::unique_ptr<ByteStream> lower, std::shared_ptr<const TlsServerContext> context);
/// `host` is verified against the server's certificate unless the context names another; `protocols` are offered in
/// order.
Task<TlsConnection> tls_connect(std::unique_ptr<ByteStream> lower, std::shared_ptr<const TlsClientContext> context, std::string host,
                                std::vector<std::string> protocols);

}  // namespace porthole::net
