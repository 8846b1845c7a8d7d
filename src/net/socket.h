#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "net/peer.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::net {

/// The address of a server: host and port, or the path of a Unix socket, on Windows also of a named pipe ("\\\\.\\pipe\\name").
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
    std::string unix_path;
    bool global_only = false;  ///< refuse addresses that only this machine or its link has, whatever the host resolves to
};

/// "127.0.0.1:6443", "[::1]:6443".
std::string host_and_port(const std::string& host, std::uint16_t port);

/// A listening TCP socket, Unix socket or named pipe. Destroying it stops listening. Used on its loop, which must outlive it; one
/// accept() at a time.
class Listener {
public:
    /// Error: AlreadyExists if the port is in use, BadRequest for an invalid address, Io otherwise.
    static Result<std::unique_ptr<Listener>> tcp(AsioLoop& loop, const std::string& address, std::uint16_t port);
    /// Linux: a Unix socket. Its file has mode 0600 and is removed with the listener; the file of a dead program is replaced. Windows: a
    /// named pipe (`\\.\pipe\name`) for the system, administrators and this user, on this machine only; with any other path a Unix socket,
    /// for anyone who may write to its directory. Error: AlreadyExists if a running program listens there, Io otherwise.
    static Result<std::unique_ptr<Listener>> local(AsioLoop& loop, const std::string& path);

    virtual ~Listener() = default;
    virtual std::uint16_t port() const = 0;  ///< 0 if there is none
    /// Error: Cancelled, Io (for example no free descriptors; a later retry may succeed).
    virtual Task<Accepted> accept() = 0;
};

/// A plain connection. Error: Unavailable ("connection refused: 127.0.0.1:6443", "address not allowed: …"), Cancelled.
Task<std::unique_ptr<ByteStream>> connect_socket(AsioLoop& loop, Endpoint endpoint);

}  // namespace porthole::net
