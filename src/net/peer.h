#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/byte_stream.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// Who a verified client certificate speaks for.
struct CertificateIdentity {
    std::string common_name;
    std::vector<std::string> organizations;
    std::string fingerprint;  ///< SHA-256 of the certificate, lower-case hex
    std::string authority;    ///< SHA-256 of the public key of the root that it chains to, lower-case hex
    SystemTime not_after;
    /// Whose certificate it is: of a client, and of a proxy that speaks for users (TlsServerOptions); both where the authorities are one.
    bool of_client = true, of_proxy = false;
};

/// The other end of a connection that came in.
struct Peer {
    std::string address;  ///< without port; "" for local sockets
    std::uint16_t port = 0;
    std::optional<CertificateIdentity> certificate;  ///< set only if it chains to the server's client CA, and has not expired
    std::string certificate_error;                   ///< why a certificate that the peer has shown does not count
};

/// The peer of a request that comes at `now`: a connection may outlive the certificate that it began with.
Peer peer_at(Peer peer, SystemTime now);

/// A connection that came in.
struct Accepted {
    std::unique_ptr<ByteStream> stream;
    Peer peer;
};

}  // namespace porthole::net
