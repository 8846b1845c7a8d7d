#pragma once  // private to this folder
#include <chrono>
#include <cstdint>

namespace porthole::net {

/// Of a TCP connection on which nothing is on its way, such as that of an idle `exec`: after `KeepAliveIdle` the kernel asks for a sign of
/// life, and after `KeepAliveProbes` without an answer, `KeepAliveInterval` apart, it ends the connection. Linux alone would wait for two
/// hours. What has been sent and is not acknowledged is sent again instead, for some 15 minutes: a limit for that (TCP_USER_TIMEOUT) would
/// also end connections whose peer is alive and does not read for a while.
constexpr auto KeepAliveIdle = std::chrono::seconds(30), KeepAliveInterval = std::chrono::seconds(10);
constexpr int KeepAliveProbes = 3;

/// Errors are ignored: the connection works without it.
void detect_dead_peers(std::intptr_t socket);

}  // namespace porthole::net
