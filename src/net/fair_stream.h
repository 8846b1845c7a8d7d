#pragma once
#include "net/byte_stream.h"
#include "net/flow.h"

namespace porthole::net {

/// `lower`, whose reader and writer take turns with the other streams of `turns`: what has been read is passed on, and large writes go on,
/// in the turn of the stream's flow. So a server reads, decrypts and answers for the others after a piece of one's work, whatever the
/// number of its connections. `turns` must outlive the tasks of the stream.
std::unique_ptr<ByteStream> fair_stream(Turns& turns, std::shared_ptr<Flow> flow, std::unique_ptr<ByteStream> lower);

}  // namespace porthole::net
