#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/keep_alive.h"

namespace porthole::net {

void detect_dead_peers(std::intptr_t socket) {
    const auto set = [fd = static_cast<int>(socket)](int level, int option, int value) {
        ::setsockopt(fd, level, option, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(KeepAliveIdle.count()));
    set(IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(KeepAliveInterval.count()));
    set(IPPROTO_TCP, TCP_KEEPCNT, KeepAliveProbes);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

}  // namespace porthole::net
