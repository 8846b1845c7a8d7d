#include <deque>

#include "apiserver/access_fixture.h"

namespace porthole::apiserver {
namespace {

/// Priority and fairness with few seats: global-default has one.
class AccessFlows : public Access {
protected:
    ApiServerOptions options() override {
        ApiServerOptions chosen = example_options();
        chosen.limits.mutating = 4;
        chosen.limits.reading = 4;
        chosen.limits.waiting_reads = waiting_reads;
        return chosen;
    }
    void SetUp() override {
        Access::SetUp();
        grant(R"({"apiGroups":[""],"resources":["pods"],"verbs":["list","watch"]})");
    }
    void TearDown() override {
        EXPECT_TRUE(sim::run(loop, flood.close()));
        Access::TearDown();
    }
    /// Goes on while others ask. A list of a revision that never comes holds its seat for three seconds, as there are no waiting_reads.
    HeaderKeeper& begin(const User& user, const std::string& path, const std::string& query) {
        HeaderKeeper& keeper = keepers.emplace_back();
        net::HttpRequest request{.method = "GET", .path = path, .query = query};
        flood.spawn(api->server().handle_as(user, std::move(request), keeper));
        return keeper;
    }
    HeaderKeeper& begin_list(const User& user) { return begin(user, "/api/v1/pods", "resourceVersion=999999"); }
    std::string page(const std::string& name) { return get("/debug/api_priority_and_fairness/" + name).text; }

    std::size_t waiting_reads = 0;
    std::deque<HeaderKeeper> keepers;
    Scope flood{loop};
};

class AccessFutureReads : public AccessFlows {
protected:
    AccessFutureReads() { waiting_reads = 8; }
};

TEST_F(AccessFutureReads, WaitWithoutASeat) {
    HeaderKeeper& list = begin_list(jane());
    HeaderKeeper& watch =
        begin(jane(), "/api/v1/pods", "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999");
    HeaderKeeper& denied = begin(jane(), "/api/v1/secrets", "resourceVersion=999999");
    HeaderKeeper& other = begin(jane(), "/version", "");
    loop.run_ready();
    EXPECT_EQ(other.code, 200) << "there is one seat";
    EXPECT_EQ(denied.code, 403);
    EXPECT_EQ(list.code, 0);
    EXPECT_EQ(watch.code, 0);
    loop.advance(std::chrono::seconds(4));
    EXPECT_EQ(list.code, 504);
    EXPECT_TRUE(list.body.contains("ResourceVersionTooLarge")) << list.body;
    EXPECT_FALSE(list.headers.get("x-kubernetes-pf-flowschema-uid").empty()) << "hundreds that end at once are answered in turn";
    EXPECT_EQ(watch.code, 504);
}

TEST_F(AccessFutureReads, AreServedWhenTheVersionIsThere) {
    const std::uint64_t now = api->store().revision().value;
    HeaderKeeper& list = begin(jane(), "/api/v1/pods", "resourceVersion=" + std::to_string(now + 1));
    loop.run_ready();
    EXPECT_EQ(list.code, 0);
    ASSERT_EQ(post("/api/v1/namespaces", R"({"metadata":{"name":"new"}})").code, 201);
    loop.run_ready();
    EXPECT_EQ(list.code, 200);
}

TEST_F(AccessFutureReads, OfOneUserAreAQuarterOfAll) {
    for (int i = 0; i < 3; ++i) begin_list(jane());
    const User joe{.name = "joe", .groups = {std::string(GroupAuthenticated)}};
    ASSERT_EQ(post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                   R"({"metadata":{"name":"joe"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"granted"},)"
                   R"("subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"joe"}]})")
                  .code,
              201);
    loop.run_ready();
    HeaderKeeper& of_joe = begin_list(joe);
    loop.run_ready();
    EXPECT_EQ(keepers[1].code, 0);
    EXPECT_EQ(keepers[2].code, 429);
    EXPECT_EQ(keepers[2].headers.get("retry-after"), "1");
    EXPECT_EQ(of_joe.code, 0);
    loop.advance(std::chrono::seconds(4));
    EXPECT_EQ(begin_list(jane()).code, 0) << "there is room again";
}

TEST_F(AccessFlows, AFloodIsRefusedAndNobodyElseIs) {
    ASSERT_EQ(post("/api/v1/nodes", R"({"metadata":{"name":"n1"}})").code, 201);
    loop.run_ready();
    for (int i = 0; i < 400; ++i) begin_list(jane());
    loop.run_ready();
    const auto refused = std::ranges::count(keepers, 429, &HeaderKeeper::code);
    EXPECT_EQ(refused, 400 - 1 - 6 * 50) << "one is served, the hand of six queues is full";
    const auto& last = *std::ranges::find(keepers, 429, &HeaderKeeper::code);
    EXPECT_EQ(last.headers.get("retry-after"), "1");
    EXPECT_TRUE(last.body.contains(R"("reason":"TooManyRequests")")) << last.body;
    EXPECT_TRUE(last.body.contains("Too many requests, please try again later.")) << last.body;

    const User node{.name = "system:node:n1", .groups = {"system:nodes", std::string(GroupAuthenticated)}};
    HeaderKeeper& of_node = begin(node, "/api/v1/nodes/n1", "");
    HeaderKeeper& of_master = begin(loopback_user(), "/api/v1/nodes/n1", "");
    HeaderKeeper& probe = begin(jane(), "/readyz", "");
    loop.run_ready();
    EXPECT_EQ(of_node.code, 200);
    EXPECT_EQ(of_master.code, 200);
    EXPECT_EQ(probe.code, 200);
    EXPECT_EQ(get("/api/v1/pods").code, 200) << "a component";

    HeaderKeeper& quiet = begin({.name = "joe", .groups = {std::string(GroupAuthenticated)}}, "/version", "");
    loop.advance(std::chrono::seconds(4));
    EXPECT_EQ(quiet.code, 200) << "before the 300 that wait";
    EXPECT_TRUE(page("dump_priority_levels").contains("\nglobal-default,    6,            false,  false,       29"))
        << page("dump_priority_levels");
    EXPECT_TRUE(page("dump_requests?includeRequestDetails=1").contains("jane,             list,   /api/v1/pods,"))
        << page("dump_requests?includeRequestDetails=1").substr(0, 2000);
}

TEST_F(AccessFlows, ThoseWhoMayNotWaitTooAndAreTold) {
    begin_list(jane());
    HeaderKeeper& denied = begin(jane(), "/api/v1/secrets", "");
    loop.run_ready();
    EXPECT_EQ(denied.code, 0);
    loop.advance(std::chrono::seconds(4));
    EXPECT_EQ(denied.code, 403);
}

TEST_F(AccessFlows, AWatchHoldsItsSeatOnlyWhileItBegins) {
    HeaderKeeper& watch = begin(jane(), "/api/v1/pods", "watch=true");
    loop.run_ready();
    EXPECT_EQ(watch.code, 200);
    HeaderKeeper& other = begin(jane(), "/version", "");
    loop.run_ready();
    EXPECT_EQ(other.code, 200);
}

/// Does not take the head of an answer.
struct SlowPeer final : net::HttpResponder {
    Task<> respond(int, net::Headers, std::vector<net::Bytes>) override { co_return {}; }
    Task<> start(int, net::Headers) override {
        begun = true;
        co_return co_await taken.wait();
    }
    Task<> write(net::Bytes) override { co_return {}; }
    Task<> finish(net::Headers) override { co_return {}; }
    Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers) override { co_return Error(Reason::BadRequest, "no upgrade"); }
    bool started() const override { return begun; }

    bool begun = false;
    Event taken;
};

TEST_F(AccessFlows, AWatchWhosePeerDoesNotTakeTheHeadHoldsNoSeat) {
    SlowPeer slow;
    net::HttpRequest request{.method = "GET", .path = "/api/v1/pods", .query = "watch=true&resourceVersion=1"};
    flood.spawn(api->server().handle_as(jane(), std::move(request), slow));
    loop.run_ready();
    ASSERT_TRUE(slow.begun);
    HeaderKeeper& other = begin(jane(), "/version", "");
    loop.run_ready();
    EXPECT_EQ(other.code, 200);
    EXPECT_TRUE(sim::run(loop, flood.close()));
}

TEST_F(AccessFlows, AnswersTellHowTheyWereClassified) {
    const auto uid = [&](const std::string& path) {
        return std::string(get("/apis/flowcontrol.apiserver.k8s.io/v1/" + path).at({"metadata", "uid"}));
    };
    HeaderKeeper& one = begin(jane(), "/version", "");
    loop.run_ready();
    EXPECT_EQ(one.headers.get("x-kubernetes-pf-flowschema-uid"), uid("flowschemas/global-default"));
    EXPECT_EQ(one.headers.get("x-kubernetes-pf-prioritylevel-uid"), uid("prioritylevelconfigurations/global-default"));
    EXPECT_TRUE(
        get("/metrics")
            .text.contains(
                R"(apiserver_flowcontrol_dispatched_requests_total{priority_level="global-default",flow_schema="global-default"} 1)"));
}

TEST_F(AccessFlows, FollowTheObjects) {
    const std::string flows = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
    ASSERT_EQ(
        post(flows,
             R"({"metadata":{"name":"janes"},"spec":{"matchingPrecedence":50,"priorityLevelConfiguration":{"name":"janes"},"rules":[{)"
             R"("subjects":[{"kind":"User","user":{"name":"jane"}}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}})")
            .code,
        201);
    loop.advance(std::chrono::seconds(1));
    const auto dangling = [&](const std::string& name) {
        const Answer found = get(flows + "/" + name);
        const schema::Value* condition = found.body.at_path({"status", "conditions"});
        return condition ? std::string(condition->as_array().at(0).string_at({"status"})) : found.text;
    };
    EXPECT_EQ(dangling("janes"), "True");
    EXPECT_EQ(dangling("global-default"), "False");
    const std::string levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
    ASSERT_EQ(post(levels, R"({"metadata":{"name":"janes"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}})").code,
              201);
    loop.advance(std::chrono::seconds(1));
    EXPECT_EQ(dangling("janes"), "False");
    HeaderKeeper& one = begin(jane(), "/version", "");
    loop.run_ready();
    EXPECT_EQ(one.headers.get("x-kubernetes-pf-flowschema-uid"), get(flows + "/janes").at({"metadata", "uid"}));
}

TEST_F(AccessFlows, DefaultsAreKeptAsTheirAnnotationSays) {
    const std::string levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/";
    const auto shares = [&](const std::string& name) {
        const Answer answer = get(levels + name);
        const schema::Value* found = answer.body.at_path({"spec", "limited", "nominalConcurrencyShares"});
        return found ? found->as_int() : -1;
    };
    const char* const changed = R"({"spec":{"limited":{"nominalConcurrencyShares":77}}})";
    ASSERT_EQ(merge(levels + "system", changed).code, 200);
    ASSERT_EQ(
        merge(
            levels + "node-high",
            R"({"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":"false"}},"spec":{"limited":{"nominalConcurrencyShares":77}}})")
            .code,
        200);
    ASSERT_EQ(
        merge(
            levels + "workload-low",
            R"({"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":null}},"spec":{"limited":{"nominalConcurrencyShares":77}}})")
            .code,
        200);
    EXPECT_EQ(merge(levels + "catch-all", changed).code, 422);
    EXPECT_EQ(merge(levels + "exempt", R"({"spec":{"exempt":{"nominalConcurrencyShares":9}}})").code, 200);
    ASSERT_EQ(remove(levels + "global-default").code, 200);
    ASSERT_EQ(remove(levels + "catch-all").code, 200);
    ASSERT_EQ(post("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
                   R"({"metadata":{"name":"older","annotations":{"apf.kubernetes.io/autoupdate-spec":"true"}},)"
                   R"("spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}})")
                  .code,
              201);
    loop.advance(std::chrono::seconds(61));
    EXPECT_EQ(shares("system"), 30);
    EXPECT_EQ(shares("node-high"), 77);
    EXPECT_EQ(shares("workload-low"), 77) << "somebody has changed it";
    EXPECT_EQ(get(levels + "workload-low").body.at_path({"metadata", "annotations", "apf.kubernetes.io/autoupdate-spec"})->as_string(),
              "false");
    EXPECT_EQ(get(levels + "exempt").body.at_path({"spec", "exempt", "nominalConcurrencyShares"})->as_int(), 9);
    EXPECT_EQ(shares("global-default"), 20) << "missing ones are made again";
    EXPECT_EQ(shares("catch-all"), 5);
    EXPECT_EQ(get(levels + "older").code, 404) << "no release that is running has it";
}

}  // namespace
}  // namespace porthole::apiserver
