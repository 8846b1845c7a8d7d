#pragma once
// Unix sockets on Windows. Private to this folder; included after winsock2.h.
#include "net/asio_socket.h"
#include "net/socket.h"

namespace porthole::net {

/// As Listener::local(). Anyone who may write into the folder may connect. Windows has them since build 17063.
Result<std::unique_ptr<Listener>> listen_unix(AsioLoop& loop, const std::string& path);
/// As connect_local().
Task<std::unique_ptr<ByteStream>> connect_unix(AsioLoop& loop, std::string path);

}  // namespace porthole::net
