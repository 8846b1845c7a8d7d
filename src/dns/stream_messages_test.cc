#include "dns/stream_messages.h"

#include <gtest/gtest.h>

#include "base/result.h"
#include "net/memory_stream.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::dns {
namespace {

using namespace std::chrono_literals;

/// A client of a connection whose queries are repeated.
struct DnsStream : testing::Test {
    DnsStream() {
        scope.spawn([](DnsStream& test) -> Task<> {
            (void)co_await answer_stream(*test.server, [](std::string query) -> Task<std::string> { co_return "re: " + query; });
            test.ended = true;
            test.server->close();
            co_return {};
        }(*this));
        loop.run_ready();
    }
    ~DnsStream() override { EXPECT_TRUE(sim::run(loop, scope.close())); }
    Result<std::string> ask(std::string query) {
        return sim::run(loop, [](net::ByteStream& stream, std::string query) -> Task<std::string> {
            CO_TRY_VOID(co_await write_message(stream, std::move(query)));
            co_return co_await read_message(stream);
        }(*client, std::move(query)));
    }
    void send(std::string bytes) {
        ASSERT_TRUE(sim::run(loop, [](net::ByteStream& stream, std::string bytes) -> Task<> {
            CO_TRY_VOID(co_await stream.write(bytes));
            co_return {};
        }(*client, std::move(bytes))));
    }

    sim::SimLoop loop;
    std::pair<std::unique_ptr<net::ByteStream>, std::unique_ptr<net::ByteStream>> ends = net::make_memory_stream_pair();
    std::unique_ptr<net::ByteStream>&client = ends.first, &server = ends.second;
    bool ended = false;
    Scope scope{loop};
};

TEST_F(DnsStream, EndsAfterTenSecondsWithoutAQuery) {
    for (int i = 0; i < 5; ++i) {
        loop.advance(9s);
        EXPECT_EQ(ask("query").value(), "re: query");
    }
    loop.advance(9s);
    EXPECT_FALSE(ended);
    loop.advance(1s);
    EXPECT_TRUE(ended);
    EXPECT_FALSE(ask("query"));
}

TEST_F(DnsStream, AQueryThatComesByteByByteHasTheSameTime) {
    const std::string query = std::string{'\0', '\10'} + "12345678";
    for (const char byte : query.substr(0, 9)) {
        send(std::string(1, byte));
        loop.advance(1100ms);
    }
    EXPECT_FALSE(ended);
    loop.advance(100ms);
    EXPECT_TRUE(ended);
}

TEST_F(DnsStream, EndsIfRepliesAreNotTaken) {
    const std::string query = std::string{'\x40', '\0'} + std::string(0x4000, 'q');
    for (int i = 0; i < 5; ++i) send(query);  // the answers are more than the connection holds
    loop.advance(9s);
    EXPECT_FALSE(ended);
    loop.advance(1s);
    EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace porthole::dns
