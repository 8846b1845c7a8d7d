#include "dns/forwarder.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/sim/sim_loop.h"

namespace porthole::dns {
namespace {

using namespace std::chrono_literals;

IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

class FakeUpstream final : public Upstream {
public:
    explicit FakeUpstream(EventLoop& loop) : loop_(loop) {}
    Task<std::string> exchange(IpAddress server, std::string query, bool tcp) override {
        asked.push_back(server.to_string() + (tcp ? " tcp" : ""));
        CO_TRY_VOID(co_await loop_.sleep(latency));
        co_return answer(server, read_query(query).value(), tcp);
    }
    std::function<Result<std::string>(IpAddress, Query, bool)> answer;
    std::vector<std::string> asked;
    Duration latency = 10ms;

private:
    EventLoop& loop_;
};

Query query(const char* name = "Example.com", Type type = Type::A) {
    return {.id = 99, .recursion_desired = true, .name = Name::parse(name).value(), .type = type};
}

Reply address_reply(const Query& asked, std::uint32_t ttl = 60) { return {.answers = {{asked.name, Type::A, ttl, ip("192.0.2.1")}}}; }

struct ForwarderWorld {
    sim::SimLoop loop;
    FakeUpstream upstream{loop};
    SeededRandom random{5};
    Forwarder forwarder{loop, upstream, random};

    ForwarderWorld() {
        forwarder.set_servers({ip("10.0.0.1"), ip("10.0.0.2")});
        upstream.answer = [](IpAddress, Query asked, bool) { return write_reply(asked, address_reply(asked), 512); };
    }
    ~ForwarderWorld() { sim::run(loop, forwarder.close()).value(); }
    Result<std::string> ask(Query asked = query(), std::size_t limit = 512) {
        return sim::run(loop, forwarder.ask(std::move(asked), limit));
    }
};

TEST(Forwarder, PassesRepliesOnInTheClientsWords) {
    ForwarderWorld world;
    const std::string reply = world.ask().value();
    EXPECT_EQ(message_id(reply), 99);
    EXPECT_EQ(read_reply(reply)->question, query().question_wire());
    EXPECT_EQ(read_addresses(reply).value()[0].data, decltype(Record::data)(ip("192.0.2.1")));
    EXPECT_FALSE(read_reply(reply)->final_opt.has_value()) << "the client did not speak EDNS";
    Query other_case = query("eXAMPLE.COM");
    other_case.edns = true;
    const std::string again = world.ask(other_case).value();
    EXPECT_EQ(read_reply(again)->question, other_case.question_wire());
    EXPECT_TRUE(read_reply(again)->final_opt.has_value());
    EXPECT_EQ(world.upstream.asked.size(), 1u);
}

TEST(Forwarder, CountsTtlsDownAndForgets) {
    ForwarderWorld world;
    world.ask().value();
    world.loop.advance(10s);
    EXPECT_EQ(read_reply(world.ask().value())->least_ttl, 50u);
    EXPECT_EQ(world.upstream.asked.size(), 1u);
    world.loop.advance(21s);
    EXPECT_EQ(read_reply(world.ask().value())->least_ttl, 60u) << "no more than 30 s in the cache";
    EXPECT_EQ(world.upstream.asked.size(), 2u);
}

TEST(Forwarder, RemembersNoMoreThanItMayHold) {
    ForwarderWorld world;
    world.upstream.answer = [](IpAddress, Query asked, bool) {
        return write_reply(asked, {.answers = {{asked.name, Type::TXT, 60, Text{std::string(60'000, 'a')}}}}, 65535);
    };
    for (int i = 0; i < 600; ++i) world.ask(query(("n" + std::to_string(i)).c_str(), Type::TXT), 65535).value();
    EXPECT_LE(world.forwarder.cached_bytes(), 16u << 20);
    EXPECT_LT(world.forwarder.cache_size(), 280u);
    const std::size_t asked = world.upstream.asked.size();
    world.ask(query("n599", Type::TXT), 65535).value();
    EXPECT_EQ(world.upstream.asked.size(), asked) << "the last ones are there";
    world.loop.advance(31s);
    world.ask(query("n599", Type::TXT), 65535).value();
    EXPECT_LE(world.forwarder.cached_bytes(), 16u << 20);
    world.forwarder.set_servers({ip("10.0.0.3")});
    EXPECT_EQ(world.forwarder.cached_bytes(), 0u);
}

TEST(Forwarder, RemembersThatANameIsAbsent) {
    ForwarderWorld world;
    world.upstream.answer = [](IpAddress, Query asked, bool) {
        return write_reply(asked, {.rcode = Rcode::NxDomain, .authority = {{asked.name, Type::SOA, 900, Soa{{}, {}, 1, 2, 3, 4, 7}}}}, 512);
    };
    EXPECT_EQ(read_reply(world.ask().value())->rcode, Rcode::NxDomain);
    world.loop.advance(6s);
    world.ask().value();
    EXPECT_EQ(world.upstream.asked.size(), 1u);
    world.loop.advance(2s);
    world.ask().value();
    EXPECT_EQ(world.upstream.asked.size(), 2u);
}

TEST(Forwarder, TurnsToTheNextServerAndAvoidsTheBadOneForAWhile) {
    ForwarderWorld world;
    world.upstream.answer = [](IpAddress server, Query asked, bool) -> Result<std::string> {
        if (server == ip("10.0.0.1")) return Error(Reason::Unavailable, "connection refused");
        return write_reply(asked, address_reply(asked), 512);
    };
    EXPECT_TRUE(world.ask(query("a")).has_value());
    EXPECT_TRUE(world.ask(query("b")).has_value());
    EXPECT_EQ(world.upstream.asked, (std::vector<std::string>{"10.0.0.1", "10.0.0.2", "10.0.0.2"}));
}

TEST(Forwarder, GivesUpBeforeTheClientDoes) {
    ForwarderWorld world;
    world.upstream.latency = 1h;
    const MonotonicTime start = world.loop.now();
    EXPECT_EQ(world.ask().error().reason, Reason::Timeout);
    EXPECT_LE(world.loop.now() - start, 4500ms);
    world.forwarder.set_servers({});
    EXPECT_EQ(world.ask().error().reason, Reason::Unavailable);
}

TEST(Forwarder, AsksOnceForManyClientsWithOneQuestion) {
    ForwarderWorld world;
    Scope scope(world.loop);
    int answered = 0;
    for (int i = 0; i < 5; ++i) {
        scope.spawn([](Forwarder& forwarder, int& answered) -> Task<> {
            CO_TRY_VOID(co_await forwarder.ask(query(), 512));
            ++answered;
            co_return {};
        }(world.forwarder, answered));
    }
    world.loop.advance(1s);
    EXPECT_EQ(answered, 5);
    EXPECT_EQ(world.upstream.asked.size(), 1u);
}

TEST(Forwarder, ComesBackByTcpForWhatIsTruncated) {
    ForwarderWorld world;
    world.upstream.answer = [](IpAddress, Query asked, bool tcp) {
        Reply reply;
        for (int i = 0; i < 60; ++i) reply.answers.push_back({asked.name, Type::A, 60, ip("192.0.2.1").plus(static_cast<unsigned>(i))});
        return tcp ? write_reply(asked, reply, 65535) : write_truncated(asked, Rcode::NoError);
    };
    const std::string reply = world.ask(query(), 65535).value();
    EXPECT_EQ(read_addresses(reply)->size(), 60u);
    EXPECT_EQ(world.upstream.asked, (std::vector<std::string>{"10.0.0.1", "10.0.0.1 tcp"}));
    EXPECT_TRUE(read_reply(world.ask(query(), 512).value())->truncated) << "and so must a client without room";
}

TEST(Forwarder, DoesNotBelieveRepliesToOtherQuestions) {
    ForwarderWorld world;
    world.upstream.answer = [](IpAddress, Query asked, bool) {
        asked.name = Name::parse("evil.example").value();
        return write_reply(asked, address_reply(asked), 512);
    };
    EXPECT_FALSE(world.ask().has_value());
}

TEST(Forwarder, ReadsNameServersOfTheNode) {
    const auto servers =
        read_resolv_conf("# comment\nsearch x\nnameserver 10.0.0.1\n nameserver\t10.0.0.2 \nnameserver fe80::1%eth0\nnameserver junk\n");
    ASSERT_EQ(servers.size(), 3u);
    EXPECT_EQ(servers[1].to_string(), "10.0.0.2");
}

}  // namespace
}  // namespace porthole::dns
