#include "net/balancer/tcp_balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "net/memory_stream.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::net {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// Begins with the servers in the order of the list.
class InOrder final : public Random {
public:
    std::uint64_t next() override { return 27719; }  // one less than a multiple of every bound up to 12
};

/// Servers that do as told, and what has arrived there.
class Servers {
public:
    enum class Mode { Up, NotReady, Failing, Refusing, Silent };
    explicit Servers(sim::SimLoop& loop) : loop_(loop) {}

    Task<std::unique_ptr<ByteStream>> dial(std::string name) {
        ++dialed[name];
        if (modes[name] == Mode::Refusing) co_return Error(Reason::Unavailable, "connection refused");
        if (unreachable) CO_TRY_VOID(co_await loop_.sleep(1h));
        if (const Duration delay = delays[name]; delay > 0s) CO_TRY_VOID(co_await loop_.sleep(delay));
        auto [near, far] = make_memory_stream_pair();
        ends[name].push_back(std::move(far));
        co_return std::move(near);
    }
    Task<ServerHealth> probe(std::string name) {
        ++probes[name];
        if (modes[name] == Mode::Refusing) co_return Error(Reason::Unavailable, "connection refused");
        if (modes[name] == Mode::Silent) CO_TRY_VOID(co_await loop_.sleep(1h));
        if (modes[name] == Mode::Failing) co_return ServerHealth::Failing;
        co_return modes[name] == Mode::Up ? ServerHealth::Ready : ServerHealth::NotReady;
    }
    /// As kill -9: the system ends the connections.
    void kill(const std::string& name) {
        modes[name] = Mode::Refusing;
        for (auto& end : ends[name]) end->close();
    }

    std::map<std::string, Mode> modes;
    std::map<std::string, std::vector<std::unique_ptr<ByteStream>>> ends;
    std::map<std::string, int> probes, dialed;
    std::map<std::string, Duration> delays;  ///< of dialing
    bool unreachable = false;                ///< whoever dials waits

private:
    sim::SimLoop& loop_;
};

struct TcpBalancerTest : testing::Test {
    ~TcpBalancerTest() override {
        EXPECT_TRUE(sim::run(loop, serving.close()));
        EXPECT_TRUE(sim::run(loop, balancer.close()));
    }

    /// A client's end of a new connection.
    std::unique_ptr<ByteStream> connect() {
        auto [near, far] = make_memory_stream_pair();
        serving.spawn(balancer.serve(std::move(far)));
        loop.run_ready();
        return std::move(near);
    }
    /// What a server receives of `text` that the client sends; "" when the connection is gone.
    std::string carried(ByteStream& from, ByteStream& to, const std::string& text) {
        char buffer[64];
        if (!sim::run(loop, from.write(text), 10ms)) return "";
        const auto count = sim::run(loop, to.read(buffer), 10ms);
        return count ? std::string(buffer, *count) : "";
    }
    bool is_cut(ByteStream& client) {
        char buffer[1];
        const auto count = sim::run(loop, client.read(buffer), 1ms);
        return (count && *count == 0) || (!count && count.error().reason == Reason::Unavailable);
    }
    std::string in_use() const {
        for (const BalancedServer& server : balancer.servers())
            if (server.in_use) return server.name;
        return "";
    }
    std::vector<std::string> dead() const {
        std::vector<std::string> names;
        for (const BalancedServer& server : balancer.servers())
            if (server.health == ServerHealth::Dead) names.push_back(server.name);
        return names;
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const BalancedServer& server : balancer.servers()) all.push_back(server.name);
        return all;
    }
    void know(const std::vector<std::string>& listed, const std::vector<std::string>& reserve = {}) {
        balancer.set_servers(listed, reserve);
        loop.advance(300ms);
    }

    sim::SimLoop loop;
    InOrder random;
    Servers servers{loop};
    TcpBalancer balancer{{loop, random, [this](std::string name) { return servers.dial(std::move(name)); },
                          [this](std::string name) { return servers.probe(std::move(name)); }, Logger(make_null_sink(), "test")}};
    Scope serving{loop};
};

using Mode = Servers::Mode;

TEST_F(TcpBalancerTest, CarriesBytesBothWaysAndPassesEndsOn) {
    know({"a"});
    const auto client = connect();
    ByteStream& server = *servers.ends["a"].at(0);
    EXPECT_EQ(carried(*client, server, "hello"), "hello");
    char buffer[8];
    EXPECT_TRUE(sim::run(loop, client->end_writing()));
    EXPECT_EQ(sim::run(loop, server.read(buffer)).value(), 0U);
    EXPECT_EQ(carried(server, *client, "after the end"), "after the end");
    EXPECT_TRUE(sim::run(loop, server.end_writing()));
    EXPECT_EQ(sim::run(loop, client->read(buffer)).value(), 0U);
    loop.advance(1ms);
    EXPECT_TRUE(serving.empty());
}

TEST_F(TcpBalancerTest, StaysWithOneServer) {
    know({"a", "b", "c"});
    const std::string first = in_use();
    std::vector<std::unique_ptr<ByteStream>> clients;
    for (int i = 0; i < 5; ++i) clients.push_back(connect());
    loop.advance(1min);
    clients.push_back(connect());
    EXPECT_EQ(servers.ends[first].size(), 6U);
    EXPECT_EQ(in_use(), first);
}

TEST_F(TcpBalancerTest, AKilledServerIsChangedAtOnce) {
    know({"a", "b"});
    const auto old = connect();
    ASSERT_EQ(in_use(), "a");
    servers.kill("a");
    loop.advance(10ms);
    EXPECT_TRUE(is_cut(*old));
    const auto client = connect();
    EXPECT_EQ(servers.ends["b"].size(), 1U);
    EXPECT_EQ(in_use(), "b");
    EXPECT_THAT(dead(), ElementsAre("a"));
}

TEST_F(TcpBalancerTest, ASilentServerIsGivenUpWithinFiveSeconds) {
    know({"a", "b"});
    const auto client = connect();
    loop.advance(1min);
    servers.modes["a"] = Mode::Silent;
    loop.advance(2s);
    EXPECT_FALSE(is_cut(*client)) << "it may be slow";
    loop.advance(2700ms);
    EXPECT_TRUE(is_cut(*client));
    EXPECT_EQ(in_use(), "b");
}

TEST_F(TcpBalancerTest, ABusyServerThatStillSendsIsNotDead) {
    know({"a", "b"});
    const auto client = connect();
    servers.modes["a"] = Mode::Silent;
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(carried(*servers.ends["a"].at(0), *client, "event"), "event");
        loop.advance(500ms);
    }
    EXPECT_EQ(in_use(), "a");
}

TEST_F(TcpBalancerTest, NothingIsCutWhereNoOtherServerLives) {
    know({"a", "b"});
    const auto client = connect();
    servers.modes["a"] = servers.modes["b"] = Mode::Silent;
    loop.advance(1min);
    EXPECT_FALSE(is_cut(*client));
    EXPECT_EQ(dead().size(), 2U);
    servers.modes["b"] = Mode::Up;
    loop.advance(15s);
    EXPECT_TRUE(is_cut(*client)) << "as soon as one lives";
}

TEST_F(TcpBalancerTest, ADeadServerIsTriedWhereAllAreDead) {
    servers.modes["a"] = servers.modes["b"] = Mode::Refusing;
    know({"a", "b"});
    auto client = connect();
    loop.advance(10ms);
    EXPECT_TRUE(is_cut(*client));
    servers.modes["b"] = Mode::Up;  // and no probe has seen it yet
    client = connect();
    EXPECT_EQ(servers.ends["b"].size(), 1U);
}

TEST_F(TcpBalancerTest, AServerThatIsNotReadyKeepsItsConnectionsAndGetsNoOthers) {
    know({"a", "b"});
    const auto old = connect();
    servers.modes["a"] = Mode::NotReady;
    loop.advance(5s);
    const auto client = connect();
    EXPECT_EQ(servers.ends["b"].size(), 1U);
    EXPECT_EQ(carried(*old, *servers.ends["a"].at(0), "hello"), "hello");
    servers.modes["b"] = Mode::NotReady;
    loop.advance(5s);
    EXPECT_FALSE(is_cut(*connect())) << "better than none";
}

TEST_F(TcpBalancerTest, AServerThatFailsIsGivenUpWithinThreeSeconds) {
    know({"a", "b"});
    const auto client = connect();
    loop.advance(1min);
    servers.modes["a"] = Mode::Failing;
    loop.advance(2750ms);
    EXPECT_TRUE(is_cut(*client));
    EXPECT_EQ(in_use(), "b");
    EXPECT_FALSE(is_cut(*connect()));
    servers.modes["a"] = Mode::Up;
    loop.advance(15s);
    EXPECT_EQ(in_use(), "b");
}

TEST_F(TcpBalancerTest, NothingIsCutWhereAllServersFailForAWhile) {
    know({"a", "b"});
    const auto client = connect();
    for (int election = 0; election < 20; ++election) {
        servers.modes["a"] = servers.modes["b"] = Mode::Failing;
        loop.advance(1s + election * 100ms);
        servers.modes["a"] = servers.modes["b"] = Mode::Up;
        loop.advance(15s);
    }
    EXPECT_FALSE(is_cut(*client));
    servers.modes["a"] = servers.modes["b"] = Mode::Failing;
    loop.advance(1min);
    EXPECT_FALSE(is_cut(*client));
    servers.modes["b"] = Mode::NotReady;
    loop.advance(1min);
    EXPECT_FALSE(is_cut(*client)) << "it takes no further connections";
    servers.modes["b"] = Mode::Up;
    loop.advance(15s);
    EXPECT_TRUE(is_cut(*client));
}

TEST_F(TcpBalancerTest, AServerThatStillFailsWhenAnotherOneIsReadyAgainIsLeftSoon) {
    know({"a", "b"});
    const auto client = connect();
    loop.advance(1min);
    servers.modes["a"] = servers.modes["b"] = Mode::Failing;
    loop.advance(1min);
    servers.modes["b"] = Mode::Up;
    ASSERT_TRUE(loop.run_until([&] { return in_use() == "b"; }, 15s));
    EXPECT_FALSE(is_cut(*client));
    loop.advance(800ms);
    EXPECT_TRUE(is_cut(*client));
    const int probes = servers.probes["a"];
    loop.advance(1min);
    EXPECT_LT(servers.probes["a"], probes + 8) << "without connections it is probed as any other";
}

TEST_F(TcpBalancerTest, AServerThatFailsOnceKeepsItsConnections) {
    know({"a", "b"});
    const auto client = connect();
    loop.advance(1s);
    servers.modes["a"] = Mode::Failing;
    const int before = servers.probes["a"];
    ASSERT_TRUE(loop.run_until([&] { return servers.probes["a"] > before; }, 10s));
    servers.modes["a"] = Mode::Up;
    loop.advance(1min);
    EXPECT_FALSE(is_cut(*client));
    EXPECT_EQ(in_use(), "b") << "and new ones went elsewhere meanwhile";
}

TEST_F(TcpBalancerTest, AFailingServerIsBetterThanADeadOne) {
    know({"a", "b"});
    const auto client = connect();
    servers.modes["a"] = Mode::Silent;
    servers.modes["b"] = Mode::Failing;
    loop.advance(1min);
    EXPECT_EQ(in_use(), "b");
    connect();
    EXPECT_EQ(servers.ends["b"].size(), 1U);
}

TEST_F(TcpBalancerTest, AServerThatHangsWhileConnectedToDelaysByItsTimeLimit) {
    know({"a", "b"});
    servers.unreachable = true;
    const auto client = connect();
    servers.unreachable = false;
    loop.advance(1400ms);
    EXPECT_THAT(servers.ends["b"], IsEmpty());
    loop.advance(200ms);
    EXPECT_EQ(servers.ends["b"].size(), 1U);
}

TEST_F(TcpBalancerTest, AServerThatIsNotListedAnyMoreIsDrained) {
    know({"a", "b"});
    const auto old = connect();
    know({"b", "c"});
    const auto client = connect();
    EXPECT_EQ(servers.ends["b"].size(), 1U);
    loop.advance(5s);
    EXPECT_FALSE(is_cut(*old));
    loop.advance(10s);
    EXPECT_TRUE(is_cut(*old));
    EXPECT_FALSE(is_cut(*client));
    loop.advance(15s);
    EXPECT_THAT(names(), ElementsAre("b", "c"));
    const int probes = servers.probes["a"];
    loop.advance(1min);
    EXPECT_EQ(servers.probes["a"], probes);
}

TEST_F(TcpBalancerTest, AServerThatIsForgottenWhileItIsDialedGetsNoConnection) {
    know({"a", "b"});
    servers.delays = {{"a", 1s}, {"b", 1h}};
    know({"b"});
    loop.advance(8200ms);
    const auto client = connect();
    loop.advance(1600ms);
    ASSERT_EQ(servers.dialed["a"], 1) << "b has not let it in";
    loop.advance(500ms);
    balancer.set_servers({"b"}, {});
    ASSERT_THAT(names(), ElementsAre("b"));
    loop.advance(1s);
    ASSERT_EQ(servers.ends["a"].size(), 1U);
    EXPECT_TRUE(is_cut(*servers.ends["a"].at(0)));
    EXPECT_TRUE(is_cut(*client));
}

TEST_F(TcpBalancerTest, AListOfServersThatDoNotAnswerCutsNobodyOff) {
    servers.modes["x"] = servers.modes["y"] = Mode::Silent;
    know({"a"}, {"a"});
    const auto old = connect();
    balancer.set_servers({"x", "y"}, {"a"});
    loop.advance(1h);
    EXPECT_FALSE(is_cut(*old));
    EXPECT_FALSE(is_cut(*connect()));
    EXPECT_EQ(in_use(), "a");
    servers.modes["y"] = Mode::Up;
    loop.advance(1min);
    EXPECT_TRUE(is_cut(*old));
    EXPECT_EQ(in_use(), "y");
    EXPECT_THAT(names(), ElementsAre("a", "x", "y")) << "a reserve is not forgotten";
    servers.kill("y");
    loop.advance(5s);
    EXPECT_EQ(in_use(), "a");
}

TEST_F(TcpBalancerTest, AnEmptyListIsNotBelieved) {
    know({"a", "b"});
    const auto client = connect();
    balancer.set_servers({}, {});
    loop.advance(1min);
    EXPECT_FALSE(is_cut(*client));
    for (const BalancedServer& server : balancer.servers()) EXPECT_TRUE(server.listed) << server.name;
    EXPECT_THAT(names(), ElementsAre("a", "b"));
}

TEST_F(TcpBalancerTest, AServerThatLivesAgainIsKnownAndTheOneInUseStays) {
    know({"a", "b"});
    servers.kill("a");
    loop.advance(15s);
    ASSERT_EQ(in_use(), "b");
    servers.modes["a"] = Mode::Up;
    loop.advance(15s);
    EXPECT_THAT(dead(), IsEmpty());
    EXPECT_EQ(in_use(), "b");
    const auto client = connect();
    servers.kill("b");
    loop.advance(10ms);
    EXPECT_TRUE(is_cut(*client));
    EXPECT_FALSE(is_cut(*connect()));
    EXPECT_EQ(in_use(), "a") << "which is used when the other dies";
}

TEST_F(TcpBalancerTest, ConnectionsThatFailCauseFewProbes) {
    know({"a", "b"});
    servers.modes["a"] = servers.modes["b"] = Mode::Refusing;
    const int before = servers.probes["a"];
    for (int i = 0; i < 1000; ++i) {
        const auto client = connect();
        loop.advance(1ms);
    }
    EXPECT_LE(servers.probes["a"] - before, 6);
    EXPECT_GE(servers.dialed["a"], 1000);
}

TEST_F(TcpBalancerTest, ProbesTheServerInUseMoreOftenThanOthers) {
    know({"a", "b"});
    const auto client = connect();
    loop.advance(2min);
    EXPECT_GT(servers.probes["a"], 40);
    EXPECT_LT(servers.probes["b"], 15);
}

TEST_F(TcpBalancerTest, TellsWhenAServerChanges) {
    int told = 0;
    know({"a", "b"});
    balancer.on_change([&] { ++told; });
    loop.advance(1min);
    EXPECT_EQ(told, 0);
    servers.kill("b");
    loop.advance(15s);
    EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace porthole::net
