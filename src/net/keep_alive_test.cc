// The options that the kernel has of real connections of this machine.
#include "net/keep_alive.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <vector>

#include "base/result.h"
#include "net/socket.h"
#include "runtime/run_task.h"

namespace porthole::net {
namespace {

int option(int socket, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return ::getsockopt(socket, level, name, &value, &size) == 0 ? value : -1;
}

/// Both ends are in this process.
std::vector<int> tcp_connections() {
    std::vector<int> found;
    for (int descriptor = 0; descriptor < 256; ++descriptor)
        if (option(descriptor, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP && option(descriptor, SOL_SOCKET, SO_ACCEPTCONN) == 0)
            found.push_back(descriptor);
    return found;
}

Task<> both_ends(AsioLoop& loop) {
    CO_TRY(const auto listener, Listener::tcp(loop, "127.0.0.1", 0));
    CO_TRY(const auto connected, co_await connect_socket(loop, {.host = "127.0.0.1", .port = listener->port(), .unix_path = ""}));
    CO_TRY(const Accepted accepted, co_await listener->accept());
    const std::vector<int> ends = tcp_connections();
    EXPECT_EQ(ends.size(), 2u);
    for (const int end : ends) {
        EXPECT_EQ(option(end, SOL_SOCKET, SO_KEEPALIVE), 1);
        EXPECT_EQ(option(end, IPPROTO_TCP, TCP_KEEPIDLE), 30);
        EXPECT_EQ(option(end, IPPROTO_TCP, TCP_KEEPINTVL), 10);
        EXPECT_EQ(option(end, IPPROTO_TCP, TCP_KEEPCNT), 3);
    }
    co_return {};
}

TEST(KeepAlive, APeerThatHasVanishedIsNoticedAfterAMinuteAtBothEndsOfAConnection) {
    AsioLoop loop;
    EXPECT_TRUE(run_task(loop, both_ends(loop)));
}

}  // namespace
}  // namespace porthole::net
