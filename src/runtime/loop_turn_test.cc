#include "runtime/loop_turn.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "runtime/asio_loop.h"

namespace porthole {
namespace {

namespace asio = boost::asio;

TEST(LoopTurns, BeginAfterWhatConnectionsHaveReceivedMeanwhile) {
    AsioLoop loop;
    asio::ip::tcp::acceptor acceptor(loop.context(), {asio::ip::address_v4::loopback(), 0});
    asio::ip::tcp::socket peer(loop.context());
    peer.connect(acceptor.local_endpoint());
    asio::ip::tcp::socket connection = acceptor.accept();
    std::string order;
    LoopTurn turn(loop, loop, std::chrono::hours(1), [&] {
        order += "turn ";
        loop.stop();
    });
    std::array<char, 8> buffer;
    connection.async_read_some(asio::buffer(buffer), [&](const auto&, std::size_t) { order += "received "; });
    loop.post([&] {
        EXPECT_TRUE(turn.has_time());
        asio::write(peer, asio::buffer("a", 1));  // while the thread works
        turn.call_next();
    });
    loop.run();
    EXPECT_EQ(order, "received turn ");
}

}  // namespace
}  // namespace porthole
