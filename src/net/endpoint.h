#pragma once
#include <cstdint>
#include <string>

namespace porthole::net {

/// Where a server is: host and port, or a Unix socket's path. On Windows that path is a named pipe's ("\\\\.\\pipe\\name").
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
    std::string unix_path;
};

/// "127.0.0.1:6443", "[::1]:6443".
std::string host_and_port(const std::string& host, std::uint16_t port);

}  // namespace porthole::net
