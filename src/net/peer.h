#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/byte_stream.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// The identity in a verified client certificate.
struct CertificateIdentity {
    std::string common_name;
    std::vector<std::string> organizations;
    std::string fingerprint;  ///< SHA-256 of the certificate, lower-case hex
    std::string authority;    ///< SHA-256 of the public key of the root that it chains to, lower-case hex
    SystemTime not_after;
    /// Which authorities verified it: that of clients, that of proxies that act for users (TlsServerOptions), or both if the two are the
    /// same.
    bool of_client = true, of_proxy = false;
};

class Flow;

/// The other end of an incoming connection.
struct Peer {
    std::string address;  ///< without port; "" for local sockets
    std::uint16_t port = 0;
    std::optional<CertificateIdentity> certificate;  ///< set only if it chains to the server's client CA and has not expired
    std::string certificate_error;                   ///< why the certificate that the peer presented is not accepted
    std::shared_ptr<Flow> flow;                      ///< of the connection, for a handler that finds out the user; null: it has none
};

/// The peer of a request that arrives at `now`: a connection may outlive the certificate with which it began.
Peer peer_at(Peer peer, SystemTime now);

/// An incoming connection.
struct Accepted {
    std::unique_ptr<ByteStream> stream;
    Peer peer;
};

}  // namespace porthole::net
