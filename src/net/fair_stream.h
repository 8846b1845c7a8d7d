#pragma once
#include "net/peer.h"
#include "runtime/turns.h"

namespace porthole::net {

/// `lower`, whose reader and writer take turns with the other streams of `turns`: what has been read is passed on, and large writes go on,
/// in the turn of the stream's party. So a server reads, decrypts and answers for the others after a piece of one's work, whatever the
/// number of its connections. `turns` must outlive the tasks of the stream.
std::unique_ptr<ByteStream> fair_stream(Turns& turns, std::shared_ptr<const Party> party, std::unique_ptr<ByteStream> lower);

/// The party of a peer of which nothing but its address is known.
std::shared_ptr<Party> party_of(const std::string& address);

}  // namespace porthole::net
