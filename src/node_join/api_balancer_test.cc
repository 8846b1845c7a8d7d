#include "node_join/api_balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "node_join/identity.h"
#include "runtime/asio_loop.h"

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

}  // namespace
}  // namespace porthole::node_join
