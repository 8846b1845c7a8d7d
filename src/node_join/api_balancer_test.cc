#include "node_join/api_balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>

#include "node_join/identity.h"
#include "runtime/asio_loop.h"
#include "runtime/run_task.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A cluster that says nothing.
struct NoServer final : client::Transport {
    Task<client::ApiResponse> call(client::ApiRequest) override { co_return Error(Reason::Unavailable, "no server"); }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest) override { co_return Error(Reason::Unavailable, "no server"); }
};

struct ApiBalancerTest : testing::Test {
    ApiBalancerTest() {
        char name[] = "/tmp/api-balancer-XXXXXX";
        folder = fs::path(::mkdtemp(name));
        EXPECT_TRUE(files->write((folder / "ca.crt").string(), "authority", 0600));
        EXPECT_TRUE(files->write((folder / "client.pem").string(), "identity", 0600));
    }
    ~ApiBalancerTest() override { fs::remove_all(folder); }

    void name_server(const std::string& url) {
        EXPECT_TRUE(files->write((folder / "kubeconfig").string(), node_kubeconfig(url, folder / "ca.crt", folder), 0600));
        const auto opened = connection.open((folder / "kubeconfig").string());
        ASSERT_TRUE(opened) << opened.error().message;
    }
    Result<std::unique_ptr<ApiBalancer>> balancer() { return ApiBalancer::of_node({loop, *files, random, connection, log}); }

    AsioLoop loop;
    SeededRandom random{1};
    Logger log{make_null_sink(), "test"};
    std::unique_ptr<FileSystem> files = make_file_system();
    NodeConnection connection{
        {loop, *files, random,
         [](const client::ClientConfig&) -> Result<std::unique_ptr<client::Transport>> { return std::make_unique<NoServer>(); }, log}};
    fs::path folder;
};

TEST_F(ApiBalancerTest, WithoutItsListOfServersTheNodeIsToldWhichFileIsMissing) {
    name_server("https://127.0.0.1:6444");
    const auto missing = balancer();
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().message, HasSubstr((folder / "servers").string()));
    ASSERT_TRUE(files->write((folder / "servers").string(), "not a list\n", 0600));
    const auto unreadable = balancer();
    ASSERT_FALSE(unreadable);
    EXPECT_THAT(unreadable.error().message, HasSubstr((folder / "servers").string()));
    ASSERT_TRUE(files->write((folder / "servers").string(), "given https://10.0.0.5:6443\n", 0600));
    const auto found = balancer();
    ASSERT_TRUE(found);
    EXPECT_TRUE(*found);
}

TEST_F(ApiBalancerTest, ANodeWhoseKubeconfigNamesAServerHasNone) {
    for (const char* url : {"https://10.0.0.5:6443", "https://127.0.0.1:6443"}) {
        name_server(url);
        const auto none = balancer();
        ASSERT_TRUE(none) << url;
        EXPECT_FALSE(*none) << url;
    }
}

/// Sends back what arrives.
Task<> echo(std::unique_ptr<net::ByteStream> stream) {
    std::array<char, 4096> buffer;
    for (;;) {
        CO_TRY(const std::size_t count, co_await stream->read(buffer));
        if (count == 0) co_return {};
        CO_TRY_VOID(co_await stream->write({buffer.data(), count}));
    }
}

/// A new connection to the balancer, if a server is behind it.
Task<std::unique_ptr<net::ByteStream>> connect_to_echo(AsioLoop& loop, std::uint16_t port) {
    CO_TRY(auto stream, co_await net::connect_socket(loop, {.host = BalancerAddress, .port = port}));
    CO_TRY_VOID(co_await stream->write("x"));
    std::array<char, 1> answer;
    CO_TRY(const std::size_t count, co_await stream->read(answer));
    if (count == 0) co_return Error(Reason::Unavailable, "closed");
    co_return std::move(stream);
}

TEST_F(ApiBalancerTest, TakesNoMoreConnectionsThanAllowed) {
    net::Acceptor server(loop, 1000, [](net::Accepted accepted) { return echo(std::move(accepted.stream)); }, log);
    auto listener = net::Listener::tcp(loop, "127.0.0.1", 0).value();
    const std::string url = "https://127.0.0.1:" + std::to_string(listener->port());
    server.add(std::move(listener));
    const std::uint16_t port = net::Listener::tcp(loop, BalancerAddress, 0).value()->port();  // free from now on
    name_server("https://127.0.0.1:" + std::to_string(port));
    ASSERT_TRUE(files->write((folder / "servers").string(), "given " + url + "\n", 0600));
    const auto balancer = this->balancer().value();
    balancer->start();
    std::vector<std::unique_ptr<net::ByteStream>> connections;
    for (int i = 0; i < 256; ++i) {
        auto opened = run_task(loop, connect_to_echo(loop, port));
        ASSERT_TRUE(opened) << i << " " << opened.error().message;
        connections.push_back(std::move(*opened));
    }
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(run_task(loop, connect_to_echo(loop, port)));
    connections.pop_back();
    Result<std::unique_ptr<net::ByteStream>> next = Error(Reason::Unavailable, "");
    for (int i = 0; i < 1000 && !next; ++i) next = run_task(loop, connect_to_echo(loop, port));  // once its end has been seen
    EXPECT_TRUE(next);
    EXPECT_TRUE(run_task(loop, balancer->close()));
    EXPECT_TRUE(run_task(loop, server.close()));
}

}  // namespace
}  // namespace porthole::node_join
