#pragma once
// Unix sockets, which both systems have. Private to this folder.
#include <cstdint>

#include "net/asio_socket.h"
#include "net/socket.h"

namespace porthole::net {

/// As Listener::local().
Result<std::unique_ptr<Listener>> listen_unix(AsioLoop& loop, const std::string& path);
/// As connect_local().
Task<std::unique_ptr<ByteStream>> connect_unix(AsioLoop& loop, std::string path);

// The parts that differ between the systems.

/// Called before bind(): the file is then accessible to this user only. On Windows, the directory decides who may connect.
void restrict_to_owner(std::intptr_t socket);
/// Whether a socket's file exists, as far as the system can tell.
bool has_socket_file(const std::string& path);
void remove_socket_file(const std::string& path);

}  // namespace porthole::net
