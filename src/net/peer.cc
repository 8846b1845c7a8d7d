#include "net/peer.h"

namespace porthole::net {

Peer peer_at(Peer peer, SystemTime now) {
    if (!peer.certificate || now <= peer.certificate->not_after) return peer;
    peer.certificate.reset();
    peer.certificate_error = "certificate has expired";
    return peer;
}

}  // namespace porthole::net
