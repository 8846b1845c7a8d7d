#pragma once
#include <string>

#include "winhost/tools/init/connection.h"

namespace porthole::winhost {

/// Executes a client's frame (frames.h).
void serve_frame(Connection& connection, FrameType type, const std::string& payload);
/// The client has disconnected: ends the program of its exec or run.
void abandon(Connection& connection);

}  // namespace porthole::winhost
