#include <winsock2.h>
// After it.
#include <mstcpip.h>

#include "net/keep_alive.h"

namespace porthole::net {

/// Windows always makes ten probes.
void detect_dead_peers(std::intptr_t socket) {
    const auto milliseconds = [](auto time) { return static_cast<ULONG>(std::chrono::milliseconds(time).count()); };
    tcp_keepalive wanted{.onoff = 1, .keepalivetime = milliseconds(KeepAliveIdle), .keepaliveinterval = milliseconds(KeepAliveInterval)};
    DWORD ignored = 0;
    ::WSAIoctl(static_cast<SOCKET>(socket), SIO_KEEPALIVE_VALS, &wanted, sizeof wanted, nullptr, 0, &ignored, nullptr, nullptr);
}

}  // namespace porthole::net
