#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace porthole::net {

void report_unreachable(std::uintptr_t socket, bool ipv4) {
    const int on = 1;
    const int level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6, option = ipv4 ? IP_RECVERR : IPV6_RECVERR;
    (void)::setsockopt(static_cast<int>(socket), level, option, &on, sizeof on);  // without it a peer's silence is waited for
}

}  // namespace porthole::net
