#include "apiserver/api_server_fixture.h"

namespace porthole::apiserver {
namespace {

class FixedBody final : public net::HttpBody {
public:
    FixedBody(int code, std::vector<std::string> pieces) : code_(code), pieces_(std::move(pieces)) {}
    int code() const override { return code_; }
    const net::Headers& headers() const override { return headers_; }
    Task<std::optional<std::string>> next() override {
        if (at_ == pieces_.size()) co_return std::optional<std::string>();
        co_return std::optional(pieces_[at_++]);
    }

private:
    int code_;
    std::vector<std::string> pieces_;
    std::size_t at_ = 0;
    net::Headers headers_{{"content-type", "text/plain"}};
};

/// Answers everything with one body and remembers what was asked.
class FakeConnector final : public Connector {
public:
    void use_kubelet_identity(std::shared_ptr<const net::TlsClientContext>) override {}
    Task<std::unique_ptr<net::HttpBody>> open(ConnectTarget target, net::HttpRequest request) override {
        asked = target.host + ":" + std::to_string(target.port) + request.path + (request.query.empty() ? "" : "?" + request.query);
        headers = request.headers;
        if (!reachable) co_return Error(Reason::Unavailable, "connection refused");
        co_return std::unique_ptr<net::HttpBody>(std::make_unique<FixedBody>(code, pieces));
    }
    Task<net::Upgraded> upgrade(ConnectTarget, net::HttpRequest) override {
        if (!reachable) co_return Error(Reason::Unavailable, "connection refused");
        net::Upgraded refused;
        refused.response.code = code;
        for (const std::string& piece : pieces) refused.response.body += piece;
        co_return refused;
    }
    Task<> close() override { co_return {}; }

    bool reachable = true;
    int code = 200;
    std::vector<std::string> pieces{"one\n", "two\n"};
    std::string asked;
    net::Headers headers;
};

class StreamsTest : public ApiServerFixture {
protected:
    Connector* make_connector() override { return &kubelet; }
    void SetUp() override {
        ApiServerFixture::SetUp();
        post(
            "/api/v1/nodes",
            R"({"metadata":{"name":"n1"},"status":{"addresses":[{"type":"Hostname","address":"n1"},{"type":"InternalIP","address":"10.0.0.5"}],
            "daemonEndpoints":{"kubeletEndpoint":{"Port":10260}}}})");
        post("/api/v1/namespaces/default/pods", pod("p", R"(,"nodeName":"n1")"));
    }
    static constexpr const char* Pod = "/api/v1/namespaces/default/pods/p";
    FakeConnector kubelet;
};

TEST_F(StreamsTest, LogsComeFromThePodsNode) {
    const Answer log = get(std::string(Pod) + "/log?follow=true&tailLines=5&container=c");
    EXPECT_EQ(log.text, "one\ntwo\n");
    EXPECT_EQ(kubelet.asked, "10.0.0.5:10260/containerLogs/default/p/c?follow=true&tailLines=5");
}

TEST_F(StreamsTest, KubeletRefusalsBecomeStatuses) {
    kubelet.code = 400;
    kubelet.pieces = {"container \"c\" in pod \"p\" is waiting to start: ContainerCreating\n"};
    const Answer waiting = get(std::string(Pod) + "/log");
    EXPECT_EQ(waiting.code, 400);
    EXPECT_EQ(waiting.at({"message"}), "container \"c\" in pod \"p\" is waiting to start: ContainerCreating");
    kubelet.reachable = false;
    const Answer unreachable = get(std::string(Pod) + "/log");
    EXPECT_EQ(unreachable.code, 500);
    EXPECT_EQ(unreachable.at({"message"}), "error dialing backend: 10.0.0.5:10260: connection refused");
}

TEST_F(StreamsTest, ARefusedUpgradePassesAsTheKubeletWroteIt) {
    kubelet.code = 500;
    kubelet.pieces = {"container not found (\"c\")\n"};
    net::HttpRequest request{.method = "POST", .path = std::string(Pod) + "/exec", .query = "command=ls&stdout=true"};
    request.headers.add("connection", "Upgrade");
    request.headers.add("upgrade", "SPDY/3.1");
    HeaderKeeper keeper;
    ASSERT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper)));
    EXPECT_EQ(keeper.code, 500);
    EXPECT_EQ(keeper.body, "container not found (\"c\")\n") << "kubectl puts its own words before it";
}

TEST_F(StreamsTest, ExecNamesItsContainerAndCommand) {
    post(std::string(Pod) + "/exec?command=ls&command=a+b&stdout=true&stderr=true&stdin=false", "");
    EXPECT_EQ(kubelet.asked, "10.0.0.5:10260/exec/default/p/c?output=1&error=1&command=ls&command=a%20b");
    EXPECT_EQ(post(std::string(Pod) + "/exec?stdout=true", "").code, 400);
    EXPECT_EQ(post(std::string(Pod) + "/exec?command=ls", "").code, 400);
}

TEST_F(StreamsTest, ProxiesKeepTheRestOfThePathButNotTheUser) {
    get("/api/v1/nodes/n1/proxy/stats/summary?only_cpu=true");
    EXPECT_EQ(kubelet.asked, "10.0.0.5:10260/stats/summary?only_cpu=true");
    post("/api/v1/namespaces", R"({"metadata":{"name":"proxy"}})");
    post("/api/v1/namespaces/proxy/serviceaccounts", R"({"metadata":{"name":"default"}})");
    post("/api/v1/namespaces/proxy/pods", pod("q", R"(,"nodeName":"n1")"));
    merge("/api/v1/namespaces/proxy/pods/q/status", R"({"status":{"podIP":"10.244.0.7"}})");
    get("/api/v1/namespaces/proxy/pods/q:8080/proxy/proxy/x");
    EXPECT_EQ(kubelet.asked, "10.244.0.7:8080/proxy/x");
    EXPECT_FALSE(kubelet.headers.has("authorization"));
}

}  // namespace
}  // namespace porthole::apiserver
