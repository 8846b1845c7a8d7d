#pragma once  // private to this folder
#include <functional>
#include <string>

#include "net/byte_stream.h"
#include "runtime/task.h"

namespace porthole::dns {

/// Messages over TCP, which have their length before them (RFC 1035 §4.2.2). Error: Unavailable if the connection ends.
Task<std::string> read_message(net::ByteStream& stream);
Task<> write_message(net::ByteStream& stream, std::string message);

/// Answers the queries of one connection in turn, until the client ends it, does not send a query or take a reply within ten seconds, or
/// sends a message whose answer is "". `stream` and `answer` outlive the task.
Task<> answer_stream(net::ByteStream& stream, std::function<Task<std::string>(std::string query)> answer);

}  // namespace porthole::dns
