#pragma once
#include <cstdint>

namespace porthole::net {

/// Has a connected datagram socket fail at once when the way to its peer ends somewhere (ICMP "unreachable"), where the system
/// keeps that to itself unless asked. `socket` is the system's own handle.
void report_unreachable(std::uintptr_t socket, bool ipv4);

}  // namespace porthole::net
