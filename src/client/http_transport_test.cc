#include "client/http_transport.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "client/kubeconfig.h"
#include "runtime/asio_loop.h"
#include "runtime/run_task.h"

namespace porthole::client {
namespace {

/// A machine whose environment names no proxy, unless a test says so.
struct HttpTransportTest : testing::Test {
    HttpTransportTest() {
        for (const char* name : {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"}) ::unsetenv(name);
    }
    ~HttpTransportTest() override { ::unsetenv("HTTP_PROXY"); }
    /// Port 1 is nobody's; 0.0.0.0 is this machine, without being a loopback address.
    std::string error_of(const ClientConfig& config) {
        const auto transport = make_http_transport(loop, config, "test").value();
        return run_task(loop, transport->call({.method = "GET", .path = "/version"})).error().message;
    }
    AsioLoop loop;
};

// JOI-14
TEST_F(HttpTransportTest, JOI14_AServerIsReachedThroughTheProxyOfTheEnvironment) {
    ::setenv("HTTP_PROXY", "http://127.0.0.1:1", 1);
    EXPECT_EQ(error_of({.server = "http://server.example.com:8080"}),
              "through the proxy http://127.0.0.1:1: connection refused: 127.0.0.1:1");
    EXPECT_EQ(error_of({.server = "http://127.0.0.1:1"}), "connection refused: 127.0.0.1:1") << "loopback never";
    EXPECT_FALSE(error_of({.server = "http://0.0.0.0:1", .direct = true}).contains("proxy")) << "nor one of this machine";
}

// TRB-15
TEST_F(HttpTransportTest, TRB15_AServerThatNeverAnsweredMightBeBehindAProxyThatIsNotSet) {
    EXPECT_TRUE(error_of({.server = "http://0.0.0.0:1"}).ends_with("set them for the machine and for the container runtime)"));
    EXPECT_FALSE(error_of({.server = "http://127.0.0.1:1"}).contains("PROXY")) << "no proxy is asked for it";
    EXPECT_FALSE(error_of({.server = "http://0.0.0.0:1", .direct = true}).contains("PROXY"));
}

}  // namespace
}  // namespace porthole::client
