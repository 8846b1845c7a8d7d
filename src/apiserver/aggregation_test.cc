// API aggregation as clients meet it: the whole API server, and extension servers that the test plays.
#include "apiserver/access_fixture.h"
#include "apiserver/outgoing/outgoing_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using schema::Value;

constexpr const char* ApiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr const char* Wardle = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.wardle.example.com";
constexpr const char* Flunders = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders";
constexpr const char* Url = "https://10.244.0.7:8443";
constexpr const char* FlunderList =
    R"({"kind":"APIResourceList","groupVersion":"wardle.example.com/v1alpha1","resources":[{"name":"flunders",)"
    R"("singularName":"flunder","namespaced":true,"kind":"Flunder","verbs":["create","delete","get","list","watch"]}]})";

net::HttpResponse answer_of(int code, std::string body, std::string type = "application/json") {
    return {.code = code, .headers = {{"content-type", std::move(type)}}, .body = std::move(body)};
}

class Aggregation : public Access {
protected:
    OutgoingClients* outgoing() override { return &servers; }
    ApiServerOptions options() override {
        ApiServerOptions chosen = ApiServerFixture::options();
        chosen.front_proxy_certificate_pem = "certificate";
        chosen.front_proxy_key_pem = "key";
        return chosen;
    }
    FakeServers::Server& extension() { return servers.at(Url); }

    void make_service(const std::string& ports = R"([{"name":"","port":443,"targetPort":8443,"protocol":"TCP"}])") {
        ASSERT_EQ(post("/api/v1/namespaces/default/services",
                       R"({"metadata":{"name":"ext"},"spec":{"selector":{"a":"b"},"ports":)" + ports + "}}")
                      .code,
                  201);
    }
    void make_endpoint(const std::string& address = "10.244.0.7", const std::string& ready = "true") {
        const Answer made = post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                                 R"({"metadata":{"name":"ext-1","labels":{"kubernetes.io/service-name":"ext"}},"addressType":"IPv4",)"
                                 R"("endpoints":[{"addresses":[")" +
                                     address + R"("],"conditions":{"ready":)" + ready + R"(}}],"ports":[{"name":"","port":8443}]})");
        ASSERT_EQ(made.code, 201) << made.text;
    }
    static std::string api_service(const std::string& more = "",
                                   const std::string& priorities = R"("groupPriorityMinimum":2000,"versionPriority":200)") {
        return R"({"metadata":{"name":"v1alpha1.wardle.example.com"},"spec":{"group":"wardle.example.com","version":"v1alpha1",)" +
               priorities + R"(,"service":{"namespace":"default","name":"ext"},"caBundle":"Y2E=")" + more + "}}";
    }
    /// Serves flunders by plain documents.
    void serve() {
        extension().answer = [](const net::HttpRequest& request) {
            if (request.path == "/apis/wardle.example.com/v1alpha1") return answer_of(200, FlunderList);
            if (request.path == "/apis") return answer_of(200, R"({"kind":"APIGroupList","apiVersion":"v1","groups":[]})");
            return answer_of(200, R"({"kind":"FlunderList","items":[]})");
        };
    }
    void aggregate() {
        make_service();
        make_endpoint();
        serve();
        ASSERT_EQ(post(ApiServices, api_service()).code, 201);
        loop.run_ready();
        ASSERT_EQ(condition(), "True Passed all checks passed");
        extension().requests.clear();
    }
    /// "STATUS REASON MESSAGE" of the condition Available.
    std::string condition(const std::string& path = Wardle) {
        const Answer object = get(path);
        const Value* conditions = object.body.at_path({"status", "conditions"});
        if (!conditions || conditions->as_array().empty()) return "none";
        const Value& one = conditions->as_array()[0];
        return std::string(one.string_at({"status"})) + " " + std::string(one.string_at({"reason"})) + " " +
               std::string(one.string_at({"message"}));
    }
    std::vector<std::string> groups() {
        std::vector<std::string> names;
        for (const Value& group : get("/apis").body.find("groups")->as_array()) names.emplace_back(group.string_at({"name"}));
        return names;
    }
    HeaderKeeper ask(net::HttpRequest request, User user = loopback_user()) {
        HeaderKeeper keeper;
        EXPECT_TRUE(sim::run(loop, api->server().handle_as(std::move(user), std::move(request), keeper)));
        return keeper;
    }

    FakeServers servers{loop};
};

// --- Objects of what this server serves ---

TEST_F(Aggregation, EveryBuiltInGroupVersionHasItsObject) {
    const Answer apps = get(std::string(ApiServices) + "/v1.apps");
    EXPECT_EQ(apps.code, 200);
    EXPECT_EQ(apps.at({"metadata", "labels", "kube-aggregator.kubernetes.io/automanaged"}), "onstart");
    EXPECT_EQ(apps.body.at_path({"spec", "groupPriorityMinimum"})->as_int(), 17800);
    EXPECT_EQ(apps.body.at_path({"spec", "versionPriority"})->as_int(), 15);
    EXPECT_EQ(condition(std::string(ApiServices) + "/v1.apps"), "True Local Local APIServices are always available");
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.").code, 200);
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.apiregistration.k8s.io").code, 404) << "as upstream";
    const auto order = groups();
    EXPECT_EQ(order[0], "apiregistration.k8s.io");
    EXPECT_EQ(order[1], "apps");
    EXPECT_EQ(order[2], "events.k8s.io");
    const Answer autoscaling = get("/apis/autoscaling");
    EXPECT_EQ(autoscaling.at({"preferredVersion", "version"}), "v2");
    const Answer table = call("GET", std::string(ApiServices) + "/v1.apps", "", "", "application/json;as=Table;v=v1;g=meta.k8s.io");
    const auto& cells = table.body.at_path({"rows"})->as_array()[0].find("cells")->as_array();
    EXPECT_EQ(cells[0].string_or(""), "v1.apps");
    EXPECT_EQ(cells[1].string_or(""), "Local");
    EXPECT_EQ(cells[2].string_or(""), "True");
}

TEST_F(Aggregation, ADefinitionsVersionsComeAndGoWithIt) {
    const std::string definition =
        R"({"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets",)"
        R"("singular":"widget","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":)"
        R"({"type":"object"}}}]}})";
    const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    ASSERT_EQ(post(definitions, definition).code, 201);
    loop.run_ready();
    const Answer object = get(std::string(ApiServices) + "/v1.example.com");
    EXPECT_EQ(object.at({"metadata", "labels", "kube-aggregator.kubernetes.io/automanaged"}), "true");
    EXPECT_EQ(object.body.at_path({"spec", "groupPriorityMinimum"})->as_int(), 1000);
    EXPECT_EQ(object.body.at_path({"spec", "versionPriority"})->as_int(), 100);
    const auto order = groups();
    EXPECT_EQ(order[order.size() - 2], "example.com") << "before the metrics API only, which has no object";
    // Changed by hand, it is put right; deleted, it is made again.
    ASSERT_EQ(merge(std::string(ApiServices) + "/v1.example.com", R"({"spec":{"versionPriority":7}})").code, 200);
    loop.run_ready();
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.example.com").body.at_path({"spec", "versionPriority"})->as_int(), 100);
    ASSERT_EQ(remove(std::string(ApiServices) + "/v1.example.com").code, 200);
    loop.run_ready();
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.example.com").code, 200);
    ASSERT_EQ(remove(definitions + "/widgets.example.com").code, 200);
    loop.advance(5s);
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.example.com").code, 404);
}

TEST_F(Aggregation, ObjectsOfBuiltInGroupsAreCorrectedByAStartOnly) {
    ASSERT_EQ(merge(std::string(ApiServices) + "/v1.apps", R"({"spec":{"versionPriority":7}})").code, 200);
    ASSERT_EQ(remove(std::string(ApiServices) + "/v1.batch").code, 200);
    loop.run_ready();
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.apps").body.at_path({"spec", "versionPriority"})->as_int(), 7);
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.batch").code, 404);
    EXPECT_EQ(get("/apis/batch/v1/jobs").code, 200) << "served all the same";
    TearDown();
    SetUpAgain();
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.apps").body.at_path({"spec", "versionPriority"})->as_int(), 15);
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.batch").code, 200);
}

// --- Availability ---

TEST_F(Aggregation, AvailabilitySaysWhatIsMissing) {
    ASSERT_EQ(post(ApiServices, api_service()).code, 201);
    loop.run_ready();
    EXPECT_EQ(condition(), "False ServiceNotFound service/ext in \"default\" is not present");
    make_service(R"([{"name":"https","port":8000}])");
    loop.run_ready();
    EXPECT_EQ(condition(), "False ServicePortError service/ext in \"default\" is not listening on port 443");
    ASSERT_EQ(remove("/api/v1/namespaces/default/services/ext").code, 200);
    make_service();
    loop.run_ready();
    EXPECT_EQ(condition(), "False EndpointsNotFound cannot find endpointslices for service/ext in \"default\"");
    make_endpoint("10.244.0.7", "false");
    loop.run_ready();
    EXPECT_EQ(condition(), "False MissingEndpoints endpointslices for service/ext in \"default\" have no addresses with port name \"\"");
    ASSERT_EQ(remove("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/ext-1").code, 200);
    make_endpoint();
    loop.run_ready();
    EXPECT_EQ(condition(),
              "False FailedDiscoveryCheck failing or missing response from https://10.244.0.7:8443/apis/wardle.example.com/v1alpha1: "
              "Get \"https://10.244.0.7:8443/apis/wardle.example.com/v1alpha1\": connection refused");
    EXPECT_TRUE(get("/metrics").text.contains("aggregator_unavailable_apiservice{name=\"v1alpha1.wardle.example.com\"} 1\n"));
    extension().answer = [](const net::HttpRequest&) { return answer_of(403, "no"); };
    loop.advance(31s);
    EXPECT_EQ(condition(),
              "False FailedDiscoveryCheck failing or missing response from https://10.244.0.7:8443/apis/wardle.example.com/v1alpha1: "
              "bad status from https://10.244.0.7:8443/apis/wardle.example.com/v1alpha1: 403");
    serve();
    loop.advance(31s);
    EXPECT_EQ(condition(), "True Passed all checks passed");
    EXPECT_TRUE(get("/metrics").text.contains("aggregator_unavailable_apiservice{name=\"v1alpha1.wardle.example.com\"} 0\n"));
    extension().answer = {};
    loop.advance(31s);
    EXPECT_TRUE(condition().starts_with("False FailedDiscoveryCheck"));
    EXPECT_TRUE(
        get("/metrics")
            .text.contains(
                "aggregator_unavailable_apiservice_total{name=\"v1alpha1.wardle.example.com\",reason=\"FailedDiscoveryCheck\"} 1\n"));
}

TEST_F(Aggregation, AConditionThatSomeoneElseWroteIsPutRight) {
    aggregate();
    ASSERT_EQ(merge(std::string(Wardle) + "/status",
                    R"({"status":{"conditions":[{"type":"Available","status":"False","reason":"Mine","message":"m"},)"
                    R"({"type":"StatusUpdated","status":"True","reason":"E2E","message":"set"}]}})")
                  .code,
              200);
    loop.run_ready();
    EXPECT_EQ(condition(), "True Passed all checks passed");
    EXPECT_TRUE(get(Wardle).text.contains("StatusUpdated")) << "other conditions stay";
}

// --- Requests ---

TEST_F(Aggregation, ARequestGoesToTheServiceWithTheUserInHeaders) {
    aggregate();
    grant(R"({"apiGroups":["wardle.example.com"],"resources":["flunders"],"verbs":["*"]})");
    User user = jane();
    user.uid = "u-1";
    user.extra = {{"example.com/scope%", {"a", "b"}}};
    const std::string body = R"({"kind":"Flunder"})";
    const HeaderKeeper made = ask({.method = "POST",
                                   .path = Flunders,
                                   .query = "fieldManager=kubectl%20client&dryRun=All",
                                   .headers = {{"content-type", "application/json"},
                                               {"user-agent", "kubectl"},
                                               {"authorization", "Bearer secret"},
                                               {"x-remote-user", "admin"},
                                               {"x-remote-group", "system:masters"},
                                               {"x-remote-extra-evil", "yes"},
                                               {"impersonate-user", ""},
                                               {"connection", "close, x-private"},
                                               {"x-private", "1"},
                                               {"x-forwarded-for", "1.2.3.4"}},
                                   .body = body,
                                   .peer = {.address = "10.0.0.9"}},
                                  user);
    EXPECT_EQ(made.code, 200);
    EXPECT_EQ(made.body, R"({"kind":"FlunderList","items":[]})");
    ASSERT_EQ(extension().requests.size(), 1u);
    const net::HttpRequest& sent = extension().requests[0];
    EXPECT_EQ(sent.method, "POST");
    EXPECT_EQ(sent.path, Flunders);
    EXPECT_EQ(sent.query, "fieldManager=kubectl%20client&dryRun=All");
    EXPECT_EQ(sent.body, body);
    EXPECT_EQ(sent.headers.get("host"), "ext.default.svc:443");
    EXPECT_EQ(sent.headers.get("user-agent"), "kubectl");
    EXPECT_EQ(sent.headers.all("x-remote-user"), std::vector<std::string_view>{"jane"});
    EXPECT_EQ(sent.headers.all("x-remote-uid"), std::vector<std::string_view>{"u-1"});
    EXPECT_EQ(sent.headers.all("x-remote-group"), std::vector<std::string_view>{"system:authenticated"});
    EXPECT_EQ(sent.headers.all("x-remote-extra-example.com%2Fscope%25"), (std::vector<std::string_view>{"a", "b"}));
    EXPECT_FALSE(sent.headers.has("x-remote-extra-evil"));
    EXPECT_FALSE(sent.headers.has("authorization"));
    EXPECT_FALSE(sent.headers.has("impersonate-user"));
    EXPECT_FALSE(sent.headers.has("x-private"));
    EXPECT_EQ(sent.headers.get("x-forwarded-for"), "1.2.3.4, 10.0.0.9");
    EXPECT_FALSE(sent.headers.get("audit-id").empty());
    const client::ClientConfig& opened = extension().config;
    EXPECT_EQ(opened.server_name, "ext.default.svc");
    EXPECT_EQ(opened.ca_pem, "ca");
    EXPECT_FALSE(opened.insecure_skip_verify);
    EXPECT_EQ(opened.certificate_pem, "certificate");
    EXPECT_EQ(opened.key_pem, "key");
}

TEST_F(Aggregation, RequestsAreAuthorizedBeforeTheyArePassedOn) {
    aggregate();
    EXPECT_EQ(as(jane(), "GET", Flunders).code, 403);
    EXPECT_EQ(as(jane(), "POST", Flunders, "{}").code, 403);
    EXPECT_TRUE(extension().requests.empty());
    grant(R"({"apiGroups":["wardle.example.com"],"resources":["flunders"],"verbs":["list"]})");
    EXPECT_EQ(as(jane(), "GET", Flunders).code, 200);
    EXPECT_EQ(as(jane(), "GET", std::string(Flunders) + "?watch=1").code, 403);
    EXPECT_EQ(as(jane(), "GET", std::string(Flunders) + "/a").code, 403);
    EXPECT_EQ(extension().requests.size(), 1u);
}

TEST_F(Aggregation, WhatIsPassedOnIsWhatWasAuthorized) {
    aggregate();
    const struct {
        const char* name;
        const char* path;
        const char* query;
        const char* sent;  ///< "" for refused
        const char* sent_query;
    } rows[] = {
        {"double slashes", "//apis//wardle.example.com/v1alpha1//namespaces/a/flunders", "",
         "/apis/wardle.example.com/v1alpha1/namespaces/a/flunders", ""},
        {"an escape", "/apis/wardle.example.com/v1alpha1/namespaces/a/flun%64ers/x%20y", "",
         "/apis/wardle.example.com/v1alpha1/namespaces/a/flunders/x%20y", ""},
        {"a slash in a name", "/apis/wardle.example.com/v1alpha1/namespaces/a%2F..%2Fb/flunders", "", "", ""},
        {"upwards", "/apis/wardle.example.com/v1alpha1/namespaces/a/../b/flunders", "", "", ""},
        {"upwards by an escape", "/apis/wardle.example.com/v1alpha1/namespaces/a/%2e%2e/b/flunders", "", "", ""},
        {"the rest of a proxy's path", "/apis/wardle.example.com/v1alpha1/namespaces/a/flunders/x/proxy/b%2Fc/", "",
         "/apis/wardle.example.com/v1alpha1/namespaces/a/flunders/x/proxy/b%2Fc/", ""},
        {"a watch", "/apis/wardle.example.com/v1alpha1/flunders", "limit=5&watch=T", "/apis/wardle.example.com/v1alpha1/flunders",
         "watch=true&limit=5"},
        {"no watch", "/apis/wardle.example.com/v1alpha1/flunders", "watch=f&watch=1", "/apis/wardle.example.com/v1alpha1/flunders", ""},
        {"a query", "/apis/wardle.example.com/v1alpha1/flunders", "labelSelector=a+in+(b)&limit=5&&flag",
         "/apis/wardle.example.com/v1alpha1/flunders", "labelSelector=a%20in%20%28b%29&limit=5&flag="},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        extension().requests.clear();
        const HeaderKeeper answer = ask({.method = "GET", .path = row.path, .query = row.query});
        if (std::string(row.sent).empty()) {
            EXPECT_EQ(answer.code, 400);
            EXPECT_TRUE(extension().requests.empty());
            continue;
        }
        ASSERT_EQ(extension().requests.size(), 1u) << answer.body;
        EXPECT_EQ(extension().requests[0].path, row.sent);
        EXPECT_EQ(extension().requests[0].query, row.sent_query);
    }
}

TEST_F(Aggregation, AnUnavailableServiceIs503) {
    make_service();
    ASSERT_EQ(post(ApiServices, api_service()).code, 201);
    loop.run_ready();
    HeaderKeeper answer = ask({.method = "GET", .path = Flunders});
    EXPECT_EQ(answer.code, 503);
    EXPECT_EQ(answer.body, "service unavailable\n");
    make_endpoint();
    serve();
    loop.run_ready();
    ASSERT_EQ(ask({.method = "GET", .path = Flunders}).code, 200);
    extension().answer = {};
    answer = ask({.method = "GET", .path = Flunders});
    EXPECT_EQ(answer.code, 503);
    EXPECT_EQ(answer.body, "error trying to reach service: connection refused\n");
}

TEST_F(Aggregation, ARedirectIsNotPassedOn) {
    aggregate();
    extension().answer = [](const net::HttpRequest&) {
        return net::HttpResponse{.code = 302, .headers = {{"location", "https://elsewhere/"}}, .body = ""};
    };
    const HeaderKeeper answer = ask({.method = "GET", .path = Flunders});
    EXPECT_EQ(answer.code, 502);
    EXPECT_EQ(answer.body, "the backend attempted to redirect this request, which is not permitted");
    EXPECT_FALSE(answer.headers.has("location"));
}

TEST_F(Aggregation, AServiceThatLeadsBackIsNoLoop) {
    aggregate();
    net::HttpRequest kept;
    extension().answer = [&](const net::HttpRequest& request) {
        kept = request;
        return answer_of(200, "{}");
    };
    ASSERT_EQ(ask({.method = "GET", .path = Flunders}).code, 200);
    extension().requests.clear();
    const HeaderKeeper answer = ask(kept);
    EXPECT_EQ(answer.code, 503);
    EXPECT_EQ(answer.body, "error trying to reach service: the service refers back to this server\n");
    EXPECT_TRUE(extension().requests.empty());
}

TEST_F(Aggregation, AUserThatNoHeaderCanNameIsRefused) {
    aggregate();
    const HeaderKeeper answer =
        ask({.method = "GET", .path = Flunders}, {.name = "a\r\nx-remote-group: system:masters", .groups = {std::string(GroupMasters)}});
    EXPECT_EQ(answer.code, 503);
    EXPECT_TRUE(extension().requests.empty());
}

TEST_F(Aggregation, WatchesPassEachPieceAsItComes) {
    aggregate();
    extension().stream = [](const net::HttpRequest&) -> Result<std::unique_ptr<net::HttpBody>> {
        class Events final : public net::HttpBody {
        public:
            int code() const override { return 200; }
            const net::Headers& headers() const override { return headers_; }
            Task<std::optional<std::string>> next() override {
                static constexpr const char* Pieces[] = {
                    R"({"type":"ADDED","object":{"metadata":{"na)",
                    "me\":\"a\"}}}\n{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n\n"};
                if (at_ == 2) co_return std::optional<std::string>();
                co_return std::optional<std::string>(Pieces[at_++]);
            }

        private:
            net::Headers headers_{{"content-type", "application/json"}, {"transfer-encoding", "chunked"}};
            std::size_t at_ = 0;
        };
        return std::make_unique<Events>();
    };
    WatchReader events = watch(Flunders, "");
    EXPECT_EQ(events.next(), "ADDED a");
    EXPECT_EQ(events.next(), "DELETED b");
    EXPECT_EQ(events.next(), "END");
    EXPECT_EQ(extension().requests[0].query, "watch=true");
}

TEST_F(Aggregation, ARefusedUpgradeIsPassedBack) {
    aggregate();
    extension().upgrade = [](const net::HttpRequest&) -> Result<net::Upgraded> {
        net::Upgraded refused;
        refused.response = answer_of(403, "no exec here");
        return refused;
    };
    const HeaderKeeper answer = ask({.method = "POST",
                                     .path = std::string(Flunders) + "/x/exec",
                                     .query = "command=ls",
                                     .headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}, {"x-remote-user", "admin"}}});
    EXPECT_EQ(answer.code, 403);
    EXPECT_EQ(answer.body, "no exec here");
    const net::HttpRequest& sent = extension().requests[0];
    EXPECT_EQ(sent.headers.get("connection"), "Upgrade");
    EXPECT_EQ(sent.headers.get("upgrade"), "SPDY/3.1");
    EXPECT_EQ(sent.headers.all("x-remote-user"), std::vector<std::string_view>{"system:apiserver"});
}

TEST_F(Aggregation, ASlowServerEndsWithTheRequestsTime) {
    aggregate();
    extension().takes = 2h;
    const HeaderKeeper answer = ask({.method = "GET", .path = Flunders});
    EXPECT_EQ(answer.code, 504);
}

TEST_F(Aggregation, AnAnswerWithoutEndDoesNotFillTheMemoryOfComponents) {
    aggregate();
    extension().stream = [](const net::HttpRequest&) -> Result<std::unique_ptr<net::HttpBody>> {
        class Endless final : public net::HttpBody {
        public:
            int code() const override { return 200; }
            const net::Headers& headers() const override { return headers_; }
            Task<std::optional<std::string>> next() override { co_return std::optional(std::string(4 << 20, 'x')); }

        private:
            net::Headers headers_;
        };
        return std::make_unique<Endless>();
    };
    const auto answer = sim::run(loop, transport->call({.method = "GET", .path = Flunders}));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason, Reason::RequestEntityTooLarge);
    WatchReader events = watch(Flunders, "");
    EXPECT_EQ(events.next(1min), "");
}

// --- Which group versions ---

TEST_F(Aggregation, DeletingTheObjectWithdrawsTheApi) {
    aggregate();
    ASSERT_EQ(get("/apis/wardle.example.com").code, 200);
    ASSERT_EQ(remove(Wardle).code, 200);
    loop.run_ready();
    EXPECT_EQ(get("/apis/wardle.example.com").code, 404);
    EXPECT_EQ(get("/apis/wardle.example.com/v1alpha1").code, 404);
    EXPECT_EQ(get(Flunders).code, 404);
    extension().requests.clear();
    loop.advance(2min);
    EXPECT_TRUE(extension().requests.empty()) << "nobody asks any more";
    EXPECT_FALSE(get("/metrics").text.contains("wardle"));
}

TEST_F(Aggregation, ABuiltInGroupVersionCanBeGivenAwayButForThisOne) {
    make_service();
    make_endpoint();
    serve();
    for (const char* one : {"v1.batch", "v1."}) {
        ASSERT_EQ(merge(std::string(ApiServices) + "/" + one, R"({"spec":{"service":{"namespace":"default","name":"ext"}}})").code, 200);
    }
    ASSERT_EQ(
        post(ApiServices, R"({"metadata":{"name":"v1.apiregistration.k8s.io"},"spec":{"group":"apiregistration.k8s.io","version":"v1",)"
                          R"("groupPriorityMinimum":1,"versionPriority":1,"service":{"namespace":"default","name":"ext"}}})")
            .code,
        201);
    loop.run_ready();
    EXPECT_EQ(get("/apis/batch/v1/namespaces/default/jobs").text, R"({"kind":"FlunderList","items":[]})");
    EXPECT_EQ(get("/api/v1/namespaces/default").at({"kind"}), "Namespace");
    EXPECT_EQ(get(std::string(ApiServices) + "/v1.apps").at({"kind"}), "APIService");
    EXPECT_EQ(groups()[0], "apiregistration.k8s.io");
}

// --- Discovery ---

TEST_F(Aggregation, DiscoveryShowsTheGroupAtItsPriority) {
    aggregate();
    const auto order = groups();
    EXPECT_EQ(order[order.size() - 2], "wardle.example.com") << "before the metrics API only, which has no object";
    const Answer group = get("/apis/wardle.example.com");
    EXPECT_EQ(group.at({"preferredVersion", "groupVersion"}), "wardle.example.com/v1alpha1");
    EXPECT_EQ(get("/apis/wardle.example.com/v1alpha1").text, FlunderList) << "from the extension server itself";
    ASSERT_EQ(merge(Wardle, R"({"spec":{"groupPriorityMinimum":19000}})").code, 200);
    loop.run_ready();
    EXPECT_EQ(groups()[1], "wardle.example.com");
    EXPECT_EQ(groups()[2], "apps");
}

TEST_F(Aggregation, AggregatedDiscoveryShowsItsResourcesAndWhetherTheyAreFresh) {
    aggregate();
    const auto shown = [&] {
        const Answer all = call("GET", "/apis", "", "", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
        for (const Value& group : all.body.find("items")->as_array())
            if (group.string_at({"metadata", "name"}) == "wardle.example.com") return schema::to_json(*group.find("versions"));
        return std::string("none");
    };
    const std::string resources =
        R"([{"version":"v1alpha1","resources":[{"resource":"flunders","responseKind":{"group":"","version":"","kind":"Flunder"},)"
        R"("scope":"Namespaced","singularResource":"flunder","verbs":["create","delete","get","list","watch"]}],"freshness":)";
    EXPECT_EQ(shown(), resources + R"("Current"}])");
    extension().answer = {};
    loop.advance(1min);
    EXPECT_EQ(shown(), resources + R"("Stale"}])") << "what was known is still shown";
    extension().answer = [](const net::HttpRequest& request) {
        if (request.path != "/apis") return answer_of(200, "{}");
        return answer_of(
            200,
            R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v9","resources":)"
            R"([{"resource":"evil","scope":"Cluster","verbs":["get"]}]}]},{"metadata":{"name":"wardle.example.com"},"versions":)"
            R"([{"version":"v1alpha1","resources":[{"resource":"fischers","scope":"Cluster","verbs":["get"]}]}]}]})",
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    };
    loop.advance(1min);
    EXPECT_EQ(shown(), R"([{"version":"v1alpha1","resources":[{"resource":"fischers","scope":"Cluster","singularResource":"",)"
                       R"("verbs":["get"]}],"freshness":"Current"}])");
    EXPECT_FALSE(
        call("GET", "/apis", "", "", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").text.contains("evil"));
}

TEST_F(Aggregation, HostileDocumentsHurtOnlyTheirOwnGroup) {
    aggregate();
    const std::string nested = std::string(100000, '[');
    const std::string huge = "\"" + std::string(3 << 20, 'x') + "\"";
    for (const std::string& body :
         {std::string("{"), std::string("null"), nested, huge, std::string("[]"), std::string(R"({"items":"x"})")}) {
        extension().answer = [body](const net::HttpRequest& request) {
            return answer_of(
                200, body,
                request.path == "/apis" ? "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" : "application/json");
        };
        loop.advance(2min);
        const Answer all = call("GET", "/apis", "", "", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
        EXPECT_EQ(all.code, 200);
        EXPECT_TRUE(all.text.contains("deployments"));
        EXPECT_EQ(get("/apis/apps/v1").code, 200);
    }
}

TEST_F(Aggregation, OpenApiNamesTheDocumentOfTheServerThatHasIt) {
    make_service();
    make_endpoint();
    extension().answer = [](const net::HttpRequest& request) {
        if (request.path == "/openapi/v3")
            return answer_of(200, R"({"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=EVIL"},)"
                                  R"("apis/wardle.example.com/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/x?hash=ABC"}}})");
        if (request.path.starts_with("/openapi/")) return answer_of(200, R"({"openapi":"3.0.0"})");
        return answer_of(request.path == "/apis" ? 404 : 200, FlunderList);
    };
    const std::string before = get("/openapi/v3").text;
    EXPECT_FALSE(before.contains("wardle"));
    ASSERT_EQ(post(ApiServices, api_service()).code, 201);
    loop.run_ready();
    const std::string index = get("/openapi/v3").text;
    EXPECT_TRUE(index.contains(
        R"("apis/wardle.example.com/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/wardle.example.com/v1alpha1?hash=ABC"})"));
    EXPECT_FALSE(index.contains("EVIL"));
    extension().requests.clear();
    EXPECT_EQ(as(jane(), "GET", "/openapi/v3/apis/wardle.example.com/v1alpha1?hash=ABC").body, R"({"openapi":"3.0.0"})");
    EXPECT_EQ(extension().requests[0].path, "/openapi/v3/apis/wardle.example.com/v1alpha1");
    EXPECT_EQ(extension().requests[0].query, "");
    EXPECT_EQ(extension().requests[0].headers.get("x-remote-user"), "jane");
    EXPECT_TRUE(get("/openapi/v3/apis/apps/v1").text.contains("Deployment"));
    extension().answer = {};
    loop.advance(1min);
    EXPECT_EQ(get("/openapi/v3").text, before);
    EXPECT_EQ(get("/openapi/v3/apis/wardle.example.com/v1alpha1").code, 503);
}

TEST_F(Aggregation, TheOpenApiV2DocumentHoldsThatOfTheServerWhileItCanBeReached) {
    make_service();
    make_endpoint();
    std::string tag = "one";
    extension().answer = [&tag](const net::HttpRequest& request) {
        if (request.path != "/openapi/v2") return answer_of(request.path == "/apis" ? 404 : 200, FlunderList);
        if (request.headers.get("if-none-match") == tag) return answer_of(304, "");
        net::HttpResponse answer = answer_of(
            200, R"({"paths":{"/apis/wardle.example.com/v1alpha1/)" + tag + R"(":{"get":{"operationId":"x"}},"/apis/apps/v1":{}}})");
        answer.headers.add("etag", tag);
        return answer;
    };
    const std::string before = get("/openapi/v2").text;
    ASSERT_EQ(post(ApiServices, api_service()).code, 201);
    loop.run_ready();
    EXPECT_TRUE(get("/openapi/v2").body.at_path({"paths", "/apis/wardle.example.com/v1alpha1/one"}));
    EXPECT_FALSE(get("/openapi/v2").body.at_path({"paths", "/apis/apps/v1"}));
    loop.advance(1min);
    EXPECT_TRUE(get("/openapi/v2").body.at_path({"paths", "/apis/wardle.example.com/v1alpha1/one"}))
        << "the server said that it still holds";
    const Answer converted = get("/openapi/v3/apis/wardle.example.com/v1alpha1");
    EXPECT_TRUE(converted.body.at_path({"paths", "/apis/wardle.example.com/v1alpha1/one", "get"})) << "this server has none of version 3";
    EXPECT_TRUE(get("/openapi/v3").body.at_path({"paths", "apis/wardle.example.com/v1alpha1"}));
    tag = "two";
    loop.advance(1min);
    EXPECT_TRUE(get("/openapi/v2").body.at_path({"paths", "/apis/wardle.example.com/v1alpha1/two"}));
    EXPECT_FALSE(get("/openapi/v2").body.at_path({"paths", "/apis/wardle.example.com/v1alpha1/one"}));
    extension().answer = {};
    loop.advance(1min);
    EXPECT_EQ(get("/openapi/v2").text, before);
}

TEST_F(Aggregation, DocumentsStayWhileTheServerIsTooSlowToSayThemAgain) {
    make_service();
    make_endpoint();
    bool slow = false;
    extension().answer = [&slow](const net::HttpRequest& request) -> Result<net::HttpResponse> {
        if (request.path == "/openapi/v2" && slow) return Error(Reason::Timeout, "answer of the server timed out");
        if (request.path == "/openapi/v2") return answer_of(200, R"({"paths":{"/apis/wardle.example.com/v1alpha1":{"get":{}}}})");
        return answer_of(request.path == "/apis" ? 404 : 200, FlunderList);
    };
    ASSERT_EQ(post(ApiServices, api_service()).code, 201);
    loop.run_ready();
    const std::string before = get("/openapi/v2").text;
    ASSERT_TRUE(before.contains("/apis/wardle.example.com/v1alpha1"));
    slow = true;
    loop.advance(2min);
    EXPECT_EQ(condition(), "True Passed all checks passed");
    EXPECT_EQ(get("/openapi/v2").text, before);
    ASSERT_EQ(call("PATCH", Wardle, R"({"spec":{"caBundle":"Y2I="}})", "application/merge-patch+json").code, 200);
    loop.run_ready();
    EXPECT_EQ(condition(), "True Passed all checks passed");
    EXPECT_FALSE(get("/openapi/v2").text.contains("wardle")) << "those of another server are not its own";
}

TEST_F(Aggregation, ConnectionsToServicesReachNothingThatOnlyThisMachineHas) {
    aggregate();
    EXPECT_TRUE(extension().config.global_only);
}

TEST_F(Aggregation, AServiceIsThereWhileOneOfItsEndpointsIs) {
    make_service();
    ASSERT_EQ(post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                   R"({"metadata":{"name":"ext-1","labels":{"kubernetes.io/service-name":"ext"}},"addressType":"IPv4","endpoints":)"
                   R"([{"addresses":["10.244.0.6"]},{"addresses":["10.244.0.7"]}],"ports":[{"name":"","port":8443}]})")
                  .code,
              201);
    serve();
    ASSERT_EQ(post(ApiServices, api_service()).code, 201);
    loop.run_ready();
    loop.advance(2min);
    EXPECT_EQ(condition(), "True Passed all checks passed") << "10.244.0.6 does not answer";
    int answered = 0;
    for (int i = 0; i < 100; ++i) answered += ask({.method = "GET", .path = Flunders}).code == 200;
    EXPECT_GT(answered, 20) << "requests are spread";
    EXPECT_LT(answered, 80);
}

// --- The kind ---

TEST_F(Aggregation, RefusesBadObjectsInKubernetesWords) {
    const std::string start = "APIService.apiregistration.k8s.io \"v1alpha1.wardle.example.com\" is invalid: ";
    const struct {
        const char* name;
        std::string body;
        std::string message;
    } rows[] = {
        {"priority", api_service("", R"("groupPriorityMinimum":0,"versionPriority":1001)"),
         "[spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000, spec.versionPriority: Invalid value: 1001: "
         "must "
         "be positive and less than 1000]"},
        {"both kinds of trust", api_service(R"(,"insecureSkipTLSVerify":true)"),
         "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const Answer refused = post(ApiServices, row.body);
        EXPECT_EQ(refused.code, 422);
        EXPECT_EQ(refused.at({"message"}), start + row.message);
    }
    const Answer misnamed = post(ApiServices, R"({"metadata":{"name":"x"},"spec":{"group":"g","version":"v1","groupPriorityMinimum":1,)"
                                              R"("versionPriority":1,"caBundle":"YQ=="}})");
    EXPECT_EQ(
        misnamed.at({"message"}),
        "APIService.apiregistration.k8s.io \"x\" is invalid: [metadata.name: Invalid value: \"x\": must be "
        "`spec.version+\".\"+spec.group`: \"v1.g\", spec.caBundle: Invalid value: \"1 bytes\": local APIServices may not have a caBundle]");
}

}  // namespace
}  // namespace porthole::apiserver
