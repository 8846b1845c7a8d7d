// Real sockets on the loopback interface.
#include "net/datagram.h"

#include <gtest/gtest.h>

#include "runtime/asio_loop.h"
#include "runtime/run_task.h"

namespace porthole::net {
namespace {

using namespace std::chrono_literals;

const IpAddress Loopback = IpAddress::v4(0x7f000001);

struct DatagramTest : testing::Test {
    AsioLoop loop;
    std::unique_ptr<DatagramSocket> server = DatagramSocket::bind(loop, Loopback, 0).value();
    std::unique_ptr<DatagramSocket> client = DatagramSocket::connect(loop, Loopback, server->port()).value();

    template <class T>
    Result<T> run(Task<T> task, Duration limit = 60s) {
        return run_task(loop, with_timeout(std::move(task), limit, "test"));
    }
    /// Texts of the next batch; all of them must be the client's.
    std::vector<std::string> next_batch() {
        const auto batch = run(server->receive_batch()).value();
        std::vector<std::string> texts;
        for (const DatagramView& datagram : batch) {
            EXPECT_EQ(datagram.address, Loopback);
            EXPECT_EQ(datagram.port, client->port());
            texts.emplace_back(datagram.bytes);
        }
        return texts;
    }
};

TEST_F(DatagramTest, ABatchIsWhatHasCome) {
    for (const char* text : {"one", "", "three"}) ASSERT_TRUE(client->send(text));
    EXPECT_EQ(next_batch(), (std::vector<std::string>{"one", "", "three"}));
    ASSERT_TRUE(client->send("four"));
    EXPECT_EQ(next_batch(), std::vector<std::string>{"four"}) << "nothing is left of the batch before";
}

TEST_F(DatagramTest, ABatchIsBounded) {
    constexpr std::size_t More = 5;
    for (std::size_t sent = 0; sent < DatagramSocket::MostInABatch + More; ++sent) ASSERT_TRUE(client->send(std::to_string(sent)));
    EXPECT_EQ(next_batch().size(), DatagramSocket::MostInABatch);
    const auto rest = next_batch();
    ASSERT_EQ(rest.size(), More);
    EXPECT_EQ(rest.front(), std::to_string(DatagramSocket::MostInABatch));
}

TEST_F(DatagramTest, AWaitForABatchCanBeCancelled) {
    EXPECT_EQ(run(server->receive_batch(), 10ms).error().reason, Reason::Timeout);
    ASSERT_TRUE(client->send("later"));
    EXPECT_EQ(next_batch(), std::vector<std::string>{"later"});
}

TEST_F(DatagramTest, OneThatCannotBeSentIsLostAlone) {
    const std::uint16_t port = client->port();
    // Port 0 belongs to nobody, and the system refuses to send to it.
    const std::vector<DatagramReply> replies = {{"first", Loopback, port}, {"lost", Loopback, 0}, {"last", Loopback, port}};
    server->send_batch(replies);
    EXPECT_EQ(run(client->receive()).value().bytes, "first");
    EXPECT_EQ(run(client->receive()).value().bytes, "last");
}

}  // namespace
}  // namespace porthole::net
