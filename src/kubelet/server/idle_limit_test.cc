#include "kubelet/server/idle_limit.h"

#include <gtest/gtest.h>

#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

struct Peer {
    explicit Peer(EventLoop& loop) : loop(loop) {}
    EventLoop& loop;
    Duration answers_after{};
    bool closed = false;
};

Task<std::size_t> read_later(EventLoop& loop, Duration wait) {
    CO_TRY_VOID(co_await loop.sleep(wait));
    co_return std::size_t{1};
}

class PeerStream final : public net::ByteStream {
public:
    explicit PeerStream(Peer& peer) : peer_(peer) {}
    Task<std::size_t> read(std::span<char>) override { return read_later(peer_.loop, peer_.answers_after); }
    Task<> write(std::string_view) override { co_return {}; }
    Task<> end_writing() override { co_return {}; }
    void close() override { peer_.closed = true; }

private:
    Peer& peer_;
};

class Upgrading final : public net::HttpResponder {
public:
    explicit Upgrading(Peer& peer) : peer_(peer) {}
    Task<> respond(int, net::Headers, std::vector<net::Bytes>) override { co_return {}; }
    Task<> start(int, net::Headers) override { co_return {}; }
    Task<> write(net::Bytes) override { co_return {}; }
    Task<> finish(net::Headers) override { co_return {}; }
    Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers) override { co_return std::make_unique<PeerStream>(peer_); }
    bool started() const override { return false; }

private:
    Peer& peer_;
};

TEST(IdleLimit, DropsAConnectionOverWhichNothingGoes) {
    sim::SimLoop loop;
    Peer peer(loop);
    Upgrading responder(peer);
    IdleLimit limit(loop, responder, 4h);
    auto stream = sim::run(loop, limit.upgrade({})).value();
    loop.advance(3h);
    char byte;
    ASSERT_TRUE(sim::run(loop, stream->read({&byte, 1})));
    loop.advance(3h);
    ASSERT_TRUE(sim::run(loop, stream->write("x")));
    loop.advance(4h - 1s);
    EXPECT_FALSE(peer.closed);
    loop.advance(1s);
    EXPECT_TRUE(peer.closed);
    stream.reset();
    EXPECT_TRUE(sim::run(loop, limit.close()));
}

TEST(IdleLimit, LeavesAnEndedConnectionAlone) {
    sim::SimLoop loop;
    Peer peer(loop);
    Upgrading responder(peer);
    IdleLimit limit(loop, responder, 1h);
    auto stream = sim::run(loop, limit.upgrade({})).value();
    stream.reset();
    loop.advance(2h);
    EXPECT_FALSE(peer.closed);
    EXPECT_TRUE(sim::run(loop, limit.close()));
}

TEST(IdleLimit, AConnectionMayBeDestroyedDuringARead) {
    sim::SimLoop loop;
    Peer peer(loop);
    peer.answers_after = 1s;
    Upgrading responder(peer);
    IdleLimit limit(loop, responder, 1h);
    auto stream = sim::run(loop, limit.upgrade({})).value();
    char byte;
    Scope reading(loop);
    reading.spawn([](net::ByteStream& stream, char& byte) -> Task<> {
        CO_TRY_VOID(co_await stream.read({&byte, 1}));
        co_return {};
    }(*stream, byte));
    loop.advance(0s);
    stream.reset();
    loop.advance(2s);
    EXPECT_TRUE(sim::run(loop, reading.close()));
    EXPECT_TRUE(sim::run(loop, limit.close()));
}

}  // namespace
}  // namespace porthole::kubelet
