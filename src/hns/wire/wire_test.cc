#include "hns/emulator/emulator_fixture.h"
#include "hns/wire/client.h"
#include "net/memory_stream.h"
#include "runtime/scope.h"

namespace porthole::hns::wire {
namespace {

class WireTest : public emulator::EmulatorFixture {
protected:
    WireTest() : server_scope_(loop) {}
    ~WireTest() override { EXPECT_TRUE(sim::run(loop, server_scope_.close())); }

    void serve_emulator() {
        start();
        context_.emplace(
            SessionContext{loop, emulator(), [this](std::string request) { return emulator().control(std::move(request)); }, "secret"});
    }
    Task<std::unique_ptr<net::ByteStream>> connect() {
        if (refuse_) co_return Error(Reason::Unavailable, "connection refused");
        ++connections_;
        auto [near, far] = net::make_memory_stream_pair();
        server_scope_.spawn(serve(*context_, std::move(far)));
        co_return std::move(near);
    }
    WireHns client_with(const std::string& token) {
        return WireHns([this] { return connect(); }, token);
    }

    std::optional<SessionContext> context_;
    Scope server_scope_;
    int connections_ = 0;
    bool refuse_ = false;
};

// EMU-10: the whole API through a socket, with the same answers.
TEST_F(WireTest, CarriesEveryCall) {
    serve_emulator();
    WireHns hns = client_with("secret");
    Client client(hns);
    const auto bridge = get(client.create(network("cbr0", "L2Bridge", "10.9.3.0/24", "10.9.3.1")));
    const auto pod = get(client.create(endpoint(bridge.id)));
    const auto space = get(client.create(hcn::HostComputeNamespace()));
    done(client.attach_endpoint(space.id, pod.id));
    EXPECT_EQ(get(client.list_endpoints_of(bridge.id)).size(), 1u);
    EXPECT_EQ(get(client.get<hcn::HostComputeEndpoint>(pod.id)).host_compute_namespace, space.id);
    EXPECT_EQ(get(client.features()).version.to_string(), "13.3");
    const auto failed = run(client.attach_endpoint(space.id, pod.id));
    ASSERT_FALSE(failed);
    EXPECT_EQ(hresult_of(failed.error()), Hresult::EndpointAlreadyAttached);
    EXPECT_EQ(record_text(failed.error()), "This endpoint is already attached to the switch.");
    done(client.remove<hcn::HostComputeNetwork>(bridge.id));
    EXPECT_EQ(connections_, 1);
}

TEST_F(WireTest, RefusesAWrongToken) {
    serve_emulator();
    for (const char* token : {"", "secre", "secrets", "SECRET"}) {
        WireHns hns = client_with(token);
        EXPECT_EQ(code_of(hns.enumerate(ObjectKind::Network, "")), Hresult::AccessDenied) << token;
    }
}

TEST_F(WireTest, EndsAConnectionWithoutToken) {
    serve_emulator();
    auto stream = get(connect());
    loop.advance(std::chrono::seconds(11));
    char buffer[8];
    const auto count = run(stream->read(buffer));
    EXPECT_TRUE(!count || *count == 0);
}

TEST_F(WireTest, ConnectsAnewAfterAFailure) {
    serve_emulator();
    WireHns hns = client_with("secret");
    refuse_ = true;
    const auto away = run(hns.enumerate(ObjectKind::Network, ""));
    ASSERT_FALSE(away);
    EXPECT_TRUE(is_disconnected(away.error()));
    refuse_ = false;
    EXPECT_EQ(get(hns.enumerate(ObjectKind::Network, "")), "[]");
    server_scope_.cancel();
    loop.run_ready();
    EXPECT_TRUE(is_disconnected(run(hns.enumerate(ObjectKind::Network, "")).error()));
}

TEST_F(WireTest, StreamsNotificationsUntilTheServiceGoes) {
    serve_emulator();
    WireHns hns = client_with("secret");
    std::vector<std::uint32_t> heard;
    Scope scope(loop);
    scope.spawn(hns.subscribe([&](const Notification& notification) { heard.push_back(notification.type); }));
    loop.run_ready();
    get(Client(hns).create(hcn::HostComputeNamespace()));
    get(hns.control(R"({"service":"restart"})"));
    loop.run_ready();
    EXPECT_EQ(heard, (std::vector<std::uint32_t>{NotificationType::NamespaceCreate, NotificationType::ServiceDisconnect}));
    EXPECT_TRUE(scope.empty());
    done(scope.close());
}

TEST_F(WireTest, ForgetsAListenerThatHasGone) {
    serve_emulator();
    WireHns hns = client_with("secret");
    Scope scope(loop);
    scope.spawn(hns.subscribe([](const Notification&) {}));
    loop.run_ready();
    done(scope.close());
    loop.run_ready();
    EXPECT_TRUE(server_scope_.empty());
}

TEST_F(WireTest, EndsTheConnectionOfAListenerThatDoesNotRead) {
    serve_emulator();
    FrameStream frames(get(connect()));
    ASSERT_TRUE(run(frames.write(write_token("secret"))));
    ASSERT_TRUE(run(frames.write(write_request({.call = "Subscribe"}))));
    WireHns hns = client_with("secret");
    constexpr int Changes = 2000;
    for (int i = 0; i < Changes; ++i) {
        const auto id = get(Client(hns).create(hcn::HostComputeNamespace())).id;
        ASSERT_TRUE(run(hns.remove(ObjectKind::Namespace, id)));
    }
    int heard = 0;
    for (bool open = true; open && heard < 2 * Changes; ++heard) {
        const auto frame = run(frames.read());
        open = frame && *frame;
    }
    EXPECT_LT(heard, 2 * Changes) << "of which it was not told";
}

TEST_F(WireTest, RefusesUnknownCallsAndBadControlRequests) {
    serve_emulator();
    WireHns hns = client_with("secret");
    EXPECT_EQ(code_of(hns.control(R"({"service":"halt"})")), Hresult::InvalidParameter);
    context_->control = {};
    EXPECT_EQ(code_of(hns.control("{}")), Hresult::NotImplemented);
}

}  // namespace
}  // namespace porthole::hns::wire
