#pragma once
#include "net/byte_stream.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// Copies bytes both ways between two connections, including the end of a direction. Ends when both directions have ended or one fails, and
/// then closes both streams. The streams must outlive the task.
Task<> relay(EventLoop& loop, ByteStream& a, ByteStream& b);

/// One direction: until `from` ends, then ends `to`.
Task<> copy_stream(ByteStream& from, ByteStream& to);

}  // namespace porthole::net
