#pragma once
#include <utility>

#include "net/byte_stream.h"

namespace porthole::net {

/// The two ends of a connection in memory. Each direction holds at most `capacity` bytes before its writer waits.
/// Deterministic under a simulated loop; both ends live on one loop.
std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> make_memory_stream_pair(std::size_t capacity = 64 << 10);

}  // namespace porthole::net
