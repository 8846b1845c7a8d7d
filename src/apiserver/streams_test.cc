#include <gmock/gmock.h>

#include "apiserver/api_server_fixture.h"
#include "net/memory_stream.h"
#include "net/streams/websocket.h"
#include "runtime/scope.h"

namespace porthole::apiserver {
namespace {

class FixedBody final : public net::HttpBody {
public:
    FixedBody(int code, std::vector<std::string> pieces, net::Headers headers)
        : code_(code), pieces_(std::move(pieces)), headers_(std::move(headers)) {}
    int code() const override { return code_; }
    const net::Headers& headers() const override { return headers_; }
    Task<std::optional<std::string>> next() override {
        if (at_ == pieces_.size() && breaks_off) co_return Error(Reason::Unavailable, "connection closed by the peer");
        if (at_ == pieces_.size() && never_ends) CO_TRY_VOID(co_await never_.wait());
        if (at_ == pieces_.size()) co_return std::optional<std::string>();
        co_return std::optional(pieces_[at_++]);
    }

    bool breaks_off = false, never_ends = false;

private:
    Event never_;
    int code_;
    std::vector<std::string> pieces_;
    std::size_t at_ = 0;
    net::Headers headers_;
};

/// Answers everything with one body and remembers what was asked.
class FakeConnector final : public Connector {
public:
    Task<std::unique_ptr<net::HttpBody>> open(ConnectTarget target, net::HttpRequest request) override {
        asked = target.host + ":" + std::to_string(target.port) + request.path + (request.query.empty() ? "" : "?" + request.query);
        headers = request.headers;
        security = target.security;
        if (!reachable) co_return Error(Reason::Unavailable, "connection refused");
        auto body = std::make_unique<FixedBody>(code, pieces, answered);
        body->breaks_off = breaks_off;
        body->never_ends = never_ends;
        co_return std::unique_ptr<net::HttpBody>(std::move(body));
    }
    Task<net::Upgraded> upgrade(ConnectTarget, net::HttpRequest request) override {
        headers = request.headers;
        if (!reachable) co_return Error(Reason::Unavailable, "connection refused");
        net::Upgraded refused;
        refused.response.code = code;
        for (const std::string& piece : pieces) refused.response.body += piece;
        co_return refused;
    }
    Task<> close() override { co_return {}; }

    bool reachable = true, breaks_off = false, never_ends = false;
    int code = 200;
    std::vector<std::string> pieces{"one\n", "two\n"};
    net::Headers answered{{"content-type", "text/plain"}};
    std::string asked;
    ConnectTarget::Security security = ConnectTarget::Security::Plain;
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

TEST_F(StreamsTest, ComponentsTakeNoEndlessAnswers) {
    kubelet.pieces.assign(80, std::string(1 << 20, 'x'));
    const auto answer = sim::run(loop, transport->call({.method = "GET", .path = std::string(Pod) + "/log"}));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason, Reason::RequestEntityTooLarge);
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

TEST_F(StreamsTest, AKubeletThatBreaksOffItsRefusalIsNamed) {
    kubelet.code = 500;
    kubelet.breaks_off = true;
    HeaderKeeper keeper;
    net::HttpRequest request{.method = "GET", .path = std::string(Pod) + "/log"};
    EXPECT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper))) << "it is answered here";
    EXPECT_EQ(keeper.code, 500);
    EXPECT_TRUE(keeper.body.contains("error dialing backend: 10.0.0.5:10260: connection closed by the peer")) << keeper.body;
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

TEST_F(StreamsTest, AProxyWithoutASlashRedirectsToItsRoot) {
    HeaderKeeper keeper;
    net::HttpRequest request{.method = "GET", .path = "/api/v1/nodes/n1/proxy", .query = "a=b"};
    ASSERT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), request, keeper)));
    EXPECT_EQ(keeper.code, 301);
    EXPECT_EQ(keeper.headers.get("location"), "/api/v1/nodes/n1/proxy/?a=b");
    EXPECT_EQ(kubelet.asked, "");
    request.method = "PUT";
    HeaderKeeper put;
    ASSERT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), put)));
    EXPECT_EQ(put.code, 200);
    EXPECT_EQ(kubelet.asked, "10.0.0.5:10260/?a=b");
}

TEST_F(StreamsTest, LinksAndRedirectsOfAProxiedAnswerLeadThroughTheProxy) {
    kubelet.answered = net::Headers{{"content-type", "text/html; charset=utf-8"}};
    kubelet.pieces = {"<a hre", "f=\"/x\">x</a>"};
    EXPECT_EQ(get("/api/v1/nodes/n1/proxy/logs/").text, "<a href=\"/api/v1/nodes/n1/proxy/x\">x</a>");
    EXPECT_EQ(kubelet.headers.get("x-forwarded-uri"), "/api/v1/nodes/n1/proxy/logs/");
    EXPECT_EQ(get(std::string(Pod) + "/log").text, "<a href=\"/x\">x</a>") << "a log is no page";

    kubelet.answered = net::Headers{{"location", "http://10.0.0.5:10260/x/"}};
    kubelet.code = 302;
    HeaderKeeper keeper;
    net::HttpRequest request{.method = "GET", .path = "/api/v1/nodes/n1/proxy/y"};
    ASSERT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper)));
    EXPECT_EQ(keeper.headers.get("location"), "/api/v1/nodes/n1/proxy/x/");
}

/// Behind a proxy that names users in headers of the administrator's choice.
class StreamsBehindProxy : public StreamsTest {
protected:
    ApiServerOptions options() override {
        ApiServerOptions chosen = StreamsTest::options();
        chosen.authentication.request_header.username_headers = {"X-Sso-User"};
        chosen.authentication.request_header.uid_headers = {"X-Sso-Uid"};
        chosen.authentication.request_header.group_headers = {"X-Sso-Group"};
        chosen.authentication.request_header.extra_prefixes = {"X-Sso-Extra-"};
        return chosen;
    }
};

TEST_F(StreamsBehindProxy, TheHeadersThatNameUsersGoNoFurther) {
    post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
         R"({"metadata":{"name":"all"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},)"
         R"("subjects":[{"kind":"ServiceAccount","name":"default","namespace":"default"}]})");
    const std::string token(post("/api/v1/namespaces/default/serviceaccounts/default/token", "{}").at({"status", "token"}));
    loop.run_ready();
    net::HttpRequest request{.method = "GET", .path = "/api/v1/nodes/n1/proxy/stats"};
    request.headers = {{"authorization", "Bearer " + token},
                       {"x-sso-user", "root"},
                       {"x-sso-uid", "0"},
                       {"x-sso-group", "system:masters"},
                       {"x-sso-extra-a", "b"},
                       {"x-remote-user", "root"},
                       {"x-other", "stays"}};
    HeaderKeeper keeper;
    ASSERT_TRUE(sim::run(loop, api->server().handle(std::move(request), keeper)));
    EXPECT_EQ(keeper.code, 200) << keeper.body;
    for (const auto& [name, value] : kubelet.headers.fields())
        EXPECT_FALSE(name.starts_with("x-sso-") || name.starts_with("x-remote-")) << name;
    EXPECT_EQ(kubelet.headers.get("x-other"), "stays");
}

TEST_F(StreamsTest, OnlyTheKubeletsOwnPortIsShownTheServersCertificate) {
    const struct {
        const char* name;
        const char* asked;
        ConnectTarget::Security security;
    } rows[] = {
        {"n1", "10.0.0.5:10260/x", ConnectTarget::Security::Kubelet},
        {"https:n1:10260", "10.0.0.5:10260/x", ConnectTarget::Security::Kubelet},
        {"http:n1:", "10.0.0.5:10260/x", ConnectTarget::Security::Kubelet},
        {"https:n1:6443", "10.0.0.5:6443/x", ConnectTarget::Security::AnyTls},
        {"n1:9100", "10.0.0.5:9100/x", ConnectTarget::Security::Plain},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(get("/api/v1/nodes/" + std::string(row.name) + "/proxy/x").code, 200);
        EXPECT_EQ(kubelet.asked, row.asked);
        EXPECT_EQ(kubelet.security, row.security);
    }
    for (const char* bad : {"ftp:n1:80", "n1:0", "n1:x", "n1:70000", "a:b:c:d", ":80", "https:n1:x"}) {
        const Answer refused = get("/api/v1/nodes/" + std::string(bad) + "/proxy/x");
        EXPECT_EQ(refused.code, 400) << bad;
        EXPECT_EQ(refused.at({"message"}), "invalid node request \"" + std::string(bad) + "\"");
    }
}

TEST_F(StreamsTest, ProxiesDoNotGoWhereOnlyThisMachineCan) {
    post("/api/v1/nodes", R"({"metadata":{"name":"n2"},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}]}})");
    EXPECT_EQ(get("/api/v1/nodes/https:n2:6443/proxy/x").at({"message"}), "address not allowed");
    post("/api/v1/namespaces/default/pods", pod("q", R"(,"nodeName":"n1")"));
    for (const char* address : {"127.0.0.1", "169.254.169.254", "::1", "fe80::1", "0.0.0.0", "224.0.0.1", "::ffff:127.0.0.1"}) {
        kubelet.asked.clear();
        merge("/api/v1/namespaces/default/pods/q/status", R"({"status":{"podIP":")" + std::string(address) + R"("}})");
        EXPECT_EQ(get("/api/v1/namespaces/default/pods/q:80/proxy/x").code, 400) << address;
        EXPECT_EQ(kubelet.asked, "") << address;
    }
}

TEST_F(StreamsTest, ATokenInTheWebSocketProtocolsStaysHere) {
    net::HttpRequest request{.method = "GET", .path = std::string(Pod) + "/exec", .query = "command=ls&stdout=true"};
    request.headers.add("connection", "Upgrade");
    request.headers.add("upgrade", "websocket");
    request.headers.add("sec-websocket-protocol", "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0 ,v4.channel.k8s.io");
    request.headers.add("sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.c2VjcmV0");
    HeaderKeeper keeper;
    ASSERT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper)));
    EXPECT_EQ(kubelet.headers.all("sec-websocket-protocol").size(), 1u);
    EXPECT_EQ(kubelet.headers.get("sec-websocket-protocol"), "v5.channel.k8s.io, v4.channel.k8s.io");
}

/// Takes the connection over, and speaks WebSocket at its other end.
struct SocketKeeper final : net::KeptAnswer {
    explicit SocketKeeper(EventLoop& of) : loop(of) {}
    Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers given) override {
        code = 101;
        headers = std::move(given);
        auto [near, far] = net::make_memory_stream_pair();
        client = net::WebSocket::over(loop, std::move(far), net::WebSocket::Role::Client, "");
        co_return std::move(near);
    }
    Task<std::vector<net::WebSocketMessage>> receive_all() {
        std::vector<net::WebSocketMessage> all;
        for (;;) {
            CO_TRY(auto message, co_await client->receive());
            if (!message) co_return all;
            all.push_back(*std::move(message));
        }
    }
    EventLoop& loop;
    std::unique_ptr<net::WebSocket> client;
};

/// What is written, as it is.
struct PieceKeeper final : net::KeptAnswer {
    Task<> write(net::Bytes chunk) override {
        pieces.push_back(std::move(chunk));
        co_return {};
    }
    std::vector<net::Bytes> pieces;
};

net::HttpRequest by_websocket(std::string path, std::string query, const std::string& protocols) {
    net::HttpRequest request{.method = "GET", .path = std::move(path), .query = std::move(query)};
    request.headers = {{"connection", "Upgrade"},
                       {"upgrade", "websocket"},
                       {"sec-websocket-version", "13"},
                       {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};
    if (!protocols.empty()) request.headers.add("sec-websocket-protocol", protocols);
    return request;
}

net::HttpRequest log_by_websocket(const std::string& pod, const std::string& protocols) {
    return by_websocket(pod + "/log", "follow=true", protocols);
}

TEST_F(StreamsTest, LogsComeAsMessagesOfAWebSocket) {
    struct {
        const char *protocols, *chosen, *first;
        bool binary;
    } const rows[] = {{"binary.k8s.io", "binary.k8s.io", "one\n", true},
                      {"base64.binary.k8s.io, binary.k8s.io", "base64.binary.k8s.io", "b25lCg==", false},
                      {"", "", "one\n", true}};
    for (const auto& row : rows) {
        SocketKeeper keeper(loop);
        ASSERT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), log_by_websocket(Pod, row.protocols), keeper)));
        EXPECT_EQ(kubelet.asked, "10.0.0.5:10260/containerLogs/default/p/c?follow=true");
        EXPECT_FALSE(kubelet.headers.has("upgrade")) << "the kubelet is asked for a plain log";
        EXPECT_EQ(keeper.headers.get("sec-websocket-protocol"), row.chosen);
        const auto messages = sim::run(loop, keeper.receive_all());
        ASSERT_TRUE(messages) << messages.error().message;
        ASSERT_EQ(messages->size(), 2u);
        EXPECT_EQ(messages->front().data, row.first);
        EXPECT_EQ(messages->front().binary, row.binary);
    }
}

TEST_F(StreamsTest, AWatchsEventsComeAsMessagesOfAWebSocket) {
    struct {
        const char *accept, *protocols, *chosen, *first;
        bool binary;
    } const rows[] = {
        {"application/json", "", "", "{\"type\":\"ADDED\",\"object\":{", false},
        {"application/json", "base64url.bearer.authorization.k8s.io.c2VjcmV0, some", "some", "{\"type\":\"ADDED\",\"object\":{", false},
        {"application/vnd.kubernetes.protobuf;stream=watch", "", "",
         "\x0a\x05"
         "ADDED\x12",
         true}};
    for (const auto& row : rows) {
        SCOPED_TRACE(std::string(row.accept) + row.protocols);
        auto request = by_websocket("/api/v1/namespaces/default/pods", "watch=true&timeoutSeconds=5", row.protocols);
        request.headers.add("accept", row.accept);
        SocketKeeper keeper(loop);
        ASSERT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper)));
        EXPECT_EQ(keeper.code, 101);
        EXPECT_EQ(keeper.headers.get("sec-websocket-protocol"), row.chosen);
        const auto messages = sim::run(loop, keeper.receive_all());
        ASSERT_TRUE(messages) << messages.error().message;
        ASSERT_EQ(messages->size(), 1u);
        EXPECT_EQ(messages->front().binary, row.binary);
        EXPECT_TRUE(messages->front().data.starts_with(row.first)) << messages->front().data;
    }
}

TEST_F(StreamsTest, ALargeObjectIsOneMessageOfAWatch) {
    const std::string large(100'000, 'x');
    post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"large"},"data":{"a":")" + large + R"("}})");
    post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"small"}})");
    SocketKeeper keeper(loop);
    auto request = by_websocket("/api/v1/namespaces/default/configmaps", "watch=true&timeoutSeconds=5&resourceVersion=0", "");
    ASSERT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper)));
    const auto messages = sim::run(loop, keeper.receive_all());
    ASSERT_TRUE(messages) << messages.error().message;
    bool found = false;
    for (const auto& message : *messages) {
        const auto event = schema::parse_json(message.data);
        ASSERT_TRUE(event) << message.data.substr(0, 100);
        found |= event->string_at({"object", "data", "a"}) == large;
    }
    EXPECT_TRUE(found);
}

TEST_F(StreamsTest, AllWatchersShareALargeObject) {
    post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"large"},"data":{"a":")" + std::string(100'000, 'x') + R"("}})");
    const auto large_piece = [&](const std::string& form) {
        PieceKeeper keeper;
        net::HttpRequest request{.method = "GET",
                                 .path = "/api/v1/namespaces/default/configmaps",
                                 .query = "watch=true&timeoutSeconds=5&fieldSelector=metadata.name%3Dlarge",
                                 .headers = {{"accept", form}}};
        EXPECT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper)));
        const auto found = std::ranges::find_if(keeper.pieces, [](const net::Bytes& piece) { return piece->size() > 100'000; });
        return found == keeper.pieces.end() ? nullptr : *found;
    };
    for (const char* form : {"application/json", "application/vnd.kubernetes.protobuf;stream=watch"}) {
        const net::Bytes first = large_piece(form);
        ASSERT_TRUE(first) << form;
        EXPECT_TRUE(first == large_piece(form)) << "each has a copy: " << form;
    }
}

TEST_F(StreamsTest, ARefusedWatchIsNoWebSocket) {
    SocketKeeper keeper(loop);
    auto request = by_websocket("/api/v1/namespaces/default/pods", "watch=true&labelSelector=,,", "");
    const auto answered = sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper));
    EXPECT_EQ(keeper.code, 400);
}

TEST_F(StreamsTest, ARefusedLogIsNoWebSocket) {
    kubelet.code = 404;
    kubelet.pieces = {"no such container"};
    SocketKeeper keeper(loop);
    ASSERT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), log_by_websocket(Pod, "binary.k8s.io"), keeper)));
    EXPECT_EQ(keeper.code, 404);
}

TEST_F(StreamsTest, AClientThatClosesItsWebSocketEndsTheLog) {
    kubelet.never_ends = true;
    SocketKeeper keeper(loop);
    bool over = false;
    Scope scope(loop);
    scope.spawn([](auto handled, bool& over) -> Task<> {
        CO_TRY_VOID(co_await std::move(handled));
        over = true;
        co_return {};
    }(api->server().handle_as(loopback_user(), log_by_websocket(Pod, "binary.k8s.io"), keeper), over));
    loop.run_ready();
    ASSERT_TRUE(keeper.client);
    EXPECT_FALSE(over);
    keeper.client->close(1000, "");
    loop.run_ready();
    EXPECT_TRUE(over);
    ASSERT_TRUE(sim::run(loop, scope.close()));
}

TEST_F(StreamsTest, RunningSomethingByAWebSocketNeedsCreate) {
    const auto bind = [&](const std::string& verbs) {
        remove("/apis/rbac.authorization.k8s.io/v1/clusterroles/streams");
        post("/apis/rbac.authorization.k8s.io/v1/clusterroles",
             R"({"metadata":{"name":"streams"},"rules":[{"apiGroups":[""],"resources":["pods/exec","pods/attach","pods/portforward"],)"
             R"("verbs":)" +
                 verbs + "}]}");
        loop.run_ready();
    };
    bind(R"(["get"])");
    post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
         R"({"metadata":{"name":"streams"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"streams"},)"
         R"("subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})");
    loop.run_ready();
    const auto ask = [&](const std::string& path, std::string query) {
        net::HttpRequest request{.method = "GET", .path = std::string(Pod) + path, .query = std::move(query)};
        request.headers.add("connection", "Upgrade");
        request.headers.add("upgrade", "websocket");
        HeaderKeeper keeper;
        EXPECT_TRUE(sim::run(loop, api->server().handle_as({.name = "jane"}, std::move(request), keeper)));
        return keeper.code;
    };
    EXPECT_EQ(ask("/exec", "command=ls&stdout=true"), 403);
    EXPECT_EQ(ask("/attach", "stdout=true"), 403);
    EXPECT_EQ(ask("/portforward", "ports=80"), 403);
    bind(R"(["get","create"])");
    EXPECT_EQ(ask("/exec", "command=ls&stdout=true"), 200);
    EXPECT_EQ(ask("/attach", "stdout=true"), 200);
    EXPECT_EQ(ask("/portforward", "ports=80"), 200);
}

// A role that gives a node more than it has by itself does not reach beyond NodeRestriction, as upstream.
TEST_F(StreamsTest, ConnectionsPassAdmission) {
    post("/apis/rbac.authorization.k8s.io/v1/clusterroles",
         R"({"metadata":{"name":"all"},"rules":[{"apiGroups":[""],"resources":["*"],"verbs":["*"]}]})");
    post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
         R"({"metadata":{"name":"all"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"all"},)"
         R"("subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"system:node:n2"}]})");
    loop.run_ready();
    const auto ask = [&](const std::string& path, std::string query = "") {
        net::HttpRequest request{.method = "POST", .path = path, .query = std::move(query)};
        HeaderKeeper keeper;
        const User node{.name = "system:node:n2", .groups = {"system:nodes"}};
        EXPECT_TRUE(sim::run(loop, api->server().handle_as(node, std::move(request), keeper)));
        return keeper.body;
    };
    const std::string unexpected = R"(unexpected operation of node \"n2\" on pods)";
    EXPECT_THAT(ask(std::string(Pod) + "/exec", "command=ls&stdout=true"), testing::HasSubstr(unexpected));
    EXPECT_THAT(ask(std::string(Pod) + "/portforward", "ports=80"), testing::HasSubstr(unexpected));
    EXPECT_THAT(ask(std::string(Pod) + "/proxy/"), testing::HasSubstr(unexpected));
    EXPECT_THAT(ask("/api/v1/nodes/n1/proxy/"), testing::HasSubstr(R"(node \"n2\" is not allowed to modify node \"n1\")"));
    EXPECT_EQ(kubelet.asked, "");
}

}  // namespace
}  // namespace porthole::apiserver
