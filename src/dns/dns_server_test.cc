// Real sockets on the loopback interface.
#include "dns/server.h"

#include <gtest/gtest.h>

#include "net/datagram.h"
#include "net/socket.h"
#include "runtime/run_task.h"

namespace porthole::dns {
namespace {

using namespace std::chrono_literals;

class NoUpstream final : public Upstream {
public:
    Task<std::string> exchange(IpAddress, std::string, bool) override { co_return Error(Reason::Unavailable, "network is unreachable"); }
};

struct ServerWorld {
    AsioLoop loop;
    SeededRandom random{1};
    Zone zone{{}, random};
    NoUpstream upstream;
    Forwarder forwarder{loop, upstream, random};
    Resolver resolver{loop, zone, forwarder, [] { return true; }};
    bool known = true;
    DnsServer server{loop, resolver, [this](const IpAddress&) { return known; }, Logger(make_null_sink(), "dns")};
    std::uint16_t port = server.listen(IpAddress::parse("127.0.0.1").value(), 0).value();

    ServerWorld() {
        zone.add_namespace("default");
        zone.set_service({.namespace_ = "default", .name = "many"});
        SliceNames slice{.namespace_ = "default", .name = "many-1", .service = "many"};
        for (unsigned i = 0; i < 100; ++i) slice.endpoints.push_back({.addresses = {IpAddress::v4(0x0af40001 + i)}});
        zone.set_slice(slice);
    }
    ~ServerWorld() {
        run<void>([](ServerWorld& world) -> Task<> {
            CO_TRY_VOID(co_await world.server.close());
            CO_TRY_VOID(co_await world.forwarder.close());
            co_return {};
        }(*this))
            .value();
    }
    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop, with_timeout(std::move(task), 120s, "test"));
    }
    static std::string query(const char* name) { return write_query(7, {.recursion_desired = true, .name = Name::parse(name).value()}); }
};

Task<std::string> by_udp(ServerWorld& world, std::string query) {
    CO_TRY(const auto socket, net::DatagramSocket::connect(world.loop, IpAddress::parse("127.0.0.1").value(), world.port));
    CO_TRY_VOID(socket->send(query));
    CO_TRY(net::Datagram reply, co_await socket->receive());
    co_return std::move(reply.bytes);
}

Task<std::string> by_tcp(ServerWorld& world, std::string query) {
    CO_TRY(const auto stream, co_await net::connect_socket(world.loop, {.host = "127.0.0.1", .port = world.port}));
    const std::string framed = std::string{'\0', static_cast<char>(query.size())} + query;
    CO_TRY_VOID(co_await stream->write(framed.substr(0, 5)));
    CO_TRY_VOID(co_await stream->write(framed.substr(5)));
    std::string reply;
    char buffer[512];
    while (reply.size() < 2 || reply.size() < 2u + message_id(reply)) {
        CO_TRY(const std::size_t count, co_await stream->read(buffer));
        if (count == 0) break;
        reply.append(buffer, count);
    }
    co_return reply.substr(2);
}

TEST(DnsServer, ServesUdpAndTheWholeByTcp) {
    ServerWorld world;
    const std::string small = world.run(by_udp(world, ServerWorld::query("10-244-0-1.many.default.svc.cluster.local"))).value();
    EXPECT_EQ(read_addresses(small)->size(), 1u);
    const std::string cut = world.run(by_udp(world, ServerWorld::query("many.default.svc.cluster.local"))).value();
    EXPECT_TRUE(read_reply(cut)->truncated);
    const std::string whole = world.run(by_tcp(world, ServerWorld::query("many.default.svc.cluster.local"))).value();
    EXPECT_EQ(read_addresses(whole)->size(), 100u);
}

/// As many replies as there are queries; all are there before the server looks.
Task<std::size_t> burst(ServerWorld& world, std::size_t count) {
    CO_TRY(const auto socket, net::DatagramSocket::connect(world.loop, IpAddress::parse("127.0.0.1").value(), world.port));
    for (std::size_t sent = 0; sent < count; ++sent)
        CO_TRY_VOID(socket->send(ServerWorld::query(sent % 10 == 0 ? "example.com" : "10-244-0-1.many.default.svc.cluster.local")));
    std::size_t answered = 0;
    for (std::size_t received = 0; received < count; ++received) {
        CO_TRY(const net::Datagram reply, co_await socket->receive());
        CO_TRY(const ReplyView view, read_reply(reply.bytes));
        answered += view.rcode == Rcode::NoError;
    }
    co_return answered;
}

TEST(DnsServer, AnswersABurst) {
    ServerWorld world;
    EXPECT_EQ(world.run(burst(world, 100)).value(), 90u) << "the others need a server that nobody can reach";
}

TEST(DnsServer, RefusesStrangersByBothTransports) {
    ServerWorld world;
    world.known = false;
    for (const char* name : {"many.default.svc.cluster.local", "example.com"}) {
        SCOPED_TRACE(name);
        const std::string query = ServerWorld::query(name);
        const std::string reply = world.run(by_udp(world, query)).value();
        EXPECT_EQ(read_reply(reply)->rcode, Rcode::Refused);
        EXPECT_LE(reply.size(), query.size()) << "more would make us an amplifier";
        EXPECT_EQ(read_reply(world.run(by_tcp(world, query)).value())->rcode, Rcode::Refused);
    }
}

TEST(DnsServer, SaysThatNobodyCouldBeAsked) {
    ServerWorld world;
    EXPECT_EQ(read_reply(world.run(by_udp(world, ServerWorld::query("example.com"))).value())->rcode, Rcode::ServFail);
    EXPECT_EQ(read_reply(world.run(by_tcp(world, ServerWorld::query("example.com"))).value())->rcode, Rcode::ServFail);
}

}  // namespace
}  // namespace porthole::dns
