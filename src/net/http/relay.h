#pragma once
#include "net/byte_stream.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// Carries bytes both ways between two connections; an end is passed on as an end. Ends when both directions have, or
/// when one fails, and closes both streams then. They must outlive the task.
Task<> relay(EventLoop& loop, ByteStream& a, ByteStream& b);

/// One direction: until `from` ends, then ends `to`.
Task<> copy_stream(ByteStream& from, ByteStream& to);

}  // namespace porthole::net
