#pragma once
#include "net/peer.h"
#include "runtime/turns.h"

namespace porthole::net {

/// `lower`, whose reader and writer take turns with the other streams of `turns`: what has been read is passed on, and large writes go on,
/// in the turn of the stream's flow. So a server reads, decrypts and answers for the others after a piece of one's work, whatever the
/// number of its connections. `turns` must outlive the tasks of the stream.
std::unique_ptr<ByteStream> fair_stream(Turns& turns, std::shared_ptr<const Flow> flow, std::unique_ptr<ByteStream> lower);

/// The flow of a peer of which nothing but its address is known: one of a few, so that users that are known do not wait for the turns of
/// thousands of addresses. Not 0, which is the flow of requests whose user is not known.
std::shared_ptr<Flow> flow_of(const std::string& address);

}  // namespace porthole::net
