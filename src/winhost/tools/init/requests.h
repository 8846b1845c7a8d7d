#pragma once
#include <string>

#include "winhost/tools/init/connection.h"

namespace porthole::winhost {

/// Does what a client's frame asks for (frames.h).
void serve_frame(Connection& connection, FrameType type, const std::string& payload);
/// The client has left: ends the program of its exec.
void abandon(Connection& connection);

}  // namespace porthole::winhost
