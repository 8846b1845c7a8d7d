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

// What differs between the systems.

/// Before it is bound: its file is then for this user alone. Windows: who may connect follows from the folder.
void restrict_to_owner(std::intptr_t socket);
/// Whether a socket's file is there, as far as that can be told.
bool has_socket_file(const std::string& path);
void remove_socket_file(const std::string& path);

}  // namespace porthole::net
