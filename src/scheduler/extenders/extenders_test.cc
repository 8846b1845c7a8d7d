#include "scheduler/extenders/extenders.h"

#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "scheduler/running_scheduler_fixture.h"
#include "schema/json/json.h"

namespace porthole::scheduler {
namespace {

namespace core = api::core::v1;
using namespace std::chrono_literals;
using schema::Value;

/// An extender that a test plays, by what it answers to each verb.
struct FakeExtender {
    std::map<std::string, std::function<std::string(const Value& request)>> answers;  ///< a body of JSON
    std::map<std::string, std::vector<Value>> requests;
    int code = 200;
    bool is_dead = false;
    Duration takes = Duration::zero();
};

class FakeTransport final : public ExtenderTransport {
public:
    FakeTransport(sim::SimLoop& loop, FakeExtender& extender, Duration timeout) : loop_(loop), extender_(extender), timeout_(timeout) {}
    Task<net::HttpResponse> post(std::string verb, std::string body, std::size_t answer_bytes) override {
        const Value request = schema::parse_json(body).value();
        extender_.requests[verb].push_back(request);
        CO_TRY_VOID(co_await loop_.sleep(std::min(extender_.takes, timeout_)));
        if (extender_.takes > timeout_) co_return Error(Reason::Timeout, "extender timed out");
        if (extender_.is_dead) co_return Error(Reason::Unavailable, "connection refused");
        net::HttpResponse response{.code = extender_.code, .headers = {}, .body = extender_.answers.at(verb)(request)};
        if (response.body.size() > answer_bytes) co_return Error(Reason::RequestEntityTooLarge, "the answer is longer");
        co_return response;
    }

private:
    sim::SimLoop& loop_;
    FakeExtender& extender_;
    Duration timeout_;
};

ExtenderConfiguration filtering(std::string url = "http://one.test") {
    return {.url_prefix = std::move(url), .filter_verb = "filter", .node_cache_capable = true};
}

/// A base, as it must be there before the scheduler.
struct FakeExtenders {
    std::map<std::string, FakeExtender> extenders;  ///< by URL
};

struct ExtenderWorld : FakeExtenders, testing::RunningScheduler {
    explicit ExtenderWorld(std::vector<ExtenderConfiguration> configured)
        : RunningScheduler(configuration(std::move(configured)), [this](const ExtenderConfiguration& extender) {
              return std::make_unique<FakeTransport>(loop, extenders[extender.url_prefix], extender.timeout);
          }) {}
    static Configuration configuration(std::vector<ExtenderConfiguration> extenders) {
        Configuration configuration;
        configuration.extenders = std::move(extenders);
        return configuration;
    }

    FakeExtender& extender(const std::string& url = "http://one.test") { return extenders[url]; }
    void add_node(const std::string& name, const char* cpu = "4") { api.put(testing::api_node(name, cpu)); }
    /// A pod, and time for a decision.
    void add_pod(const std::string& name, const char* cpu = "100m") {
        api.put(testing::api_pod(name, cpu));
        loop.advance(500ms);
    }
};

std::string accepts(const std::string& node) { return R"({"NodeNames": [")" + node + R"("]})"; }

TEST(Extender, ChoosesAmongTheNodesThatFit) {
    ExtenderWorld world({filtering()});
    for (const char* name : {"a", "b", "c"}) world.add_node(name);
    world.add_node("small", "1");
    world.extender().answers["filter"] = [](const Value&) { return accepts("b"); };
    world.add_pod("web", "2");
    EXPECT_EQ(world.node_of("web"), "b");
    const Value& asked = world.extender().requests["filter"].at(0);
    EXPECT_EQ(asked.string_at({"Pod", "metadata", "name"}), "web");
    EXPECT_EQ(asked.find("NodeNames")->as_array().size(), 3u) << "not the node that is too small";
    EXPECT_TRUE(asked.find("Nodes")->is_null());
}

TEST(Extender, GetsNodesWhereItDoesNotKnowThem) {
    ExtenderConfiguration configured = filtering();
    configured.node_cache_capable = false;
    ExtenderWorld world({configured});
    world.add_node("a");
    world.extender().answers["filter"] = [](const Value& request) {
        return schema::to_json(Value::object({{"Nodes", *request.find("Nodes")}}));
    };
    world.add_pod("web");
    EXPECT_EQ(world.node_of("web"), "a");
    EXPECT_TRUE(world.extender().requests["filter"].at(0).find("NodeNames")->is_null());
}

TEST(Extender, GivesReasonsAndAnyEventBringsTheNextAttempt) {
    ExtenderWorld world({filtering()});
    for (const char* name : {"a", "b", "c"}) world.add_node(name);
    world.add_node("small", "1");
    world.extender().answers["filter"] = [](const Value&) {
        return R"({"NodeNames": [], "FailedNodes": {"a": "no licence", "b": "no licence"}, "FailedAndUnresolvableNodes": {"c": "too old"}})";
    };
    world.add_pod("web", "2");
    EXPECT_EQ(world.why_not("web").substr(0, world.why_not("web").find(" no new claims")),
              "Unschedulable: 0/4 nodes are available: 1 Insufficient cpu, 1 too old, 2 no licence.");
    world.extender().answers["filter"] = [](const Value&) { return accepts("a"); };
    world.loop.advance(1min);
    EXPECT_EQ(world.node_of("web"), "");
    world.add_node("d");
    world.loop.advance(1s);
    EXPECT_EQ(world.node_of("web"), "a");
}

TEST(Extender, IsAskedAfterTheOneBeforeIt) {
    ExtenderWorld world({filtering("http://one.test"), filtering("http://two.test")});
    for (const char* name : {"a", "b"}) world.add_node(name);
    world.extender("http://one.test").answers["filter"] = [](const Value&) { return accepts("b"); };
    world.extender("http://two.test").answers["filter"] = [](const Value&) { return R"({"FailedNodes": {"b": "no"}})"; };
    world.add_pod("web");
    EXPECT_EQ(schema::to_json(*world.extender("http://two.test").requests["filter"].at(0).find("NodeNames")), R"(["b"])");
    EXPECT_TRUE(world.why_not("web").starts_with("Unschedulable: 0/2 nodes are available: 1 no.")) << world.why_not("web");
}

TEST(Extender, ThatFailsMakesThePodWaitAndIsAskedAgain) {
    struct {
        const char *name, *why;
        std::function<void(FakeExtender&)> fails;
    } const rows[] = {
        {"dead", "Post \"http://one.test/filter\": connection refused", [](FakeExtender& one) { one.is_dead = true; }},
        {"slow", "Post \"http://one.test/filter\": context deadline exceeded", [](FakeExtender& one) { one.takes = 1min; }},
        {"refuses", "failed filter with extender at URL http://one.test/filter, code 500", [](FakeExtender& one) { one.code = 500; }},
        {"endless", "Post \"http://one.test/filter\": the answer is longer",
         [](FakeExtender& one) { one.answers["filter"] = [](const Value&) { return std::string(2 << 20, ' '); }; }},
        {"invents", "extender \"http://one.test\" claims a filtered node \"x\" which is not found in the input node list",
         [](FakeExtender& one) { one.answers["filter"] = [](const Value&) { return accepts("x"); }; }},
        {"says so", "out of order",
         [](FakeExtender& one) { one.answers["filter"] = [](const Value&) { return R"({"Error":"out of order"})"; }; }},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        ExtenderWorld world({filtering()});
        world.add_node("a");
        world.extender().answers["filter"] = [](const Value&) { return accepts("a"); };
        row.fails(world.extender());
        world.add_pod("web");
        world.loop.advance(6s);
        EXPECT_EQ(world.why_not("web"), std::string("SchedulerError: ") + row.why);
        EXPECT_EQ(world.event_of("web", "FailedScheduling"), std::string("Warning: ") + row.why);
        world.extender() = FakeExtender();
        world.extender().answers["filter"] = [](const Value&) { return accepts("a"); };
        world.loop.advance(11s);
        EXPECT_EQ(world.node_of("web"), "a");
    }
}

TEST(Extender, ThatMayBeIgnoredStopsNothing) {
    ExtenderConfiguration optional = filtering("http://optional.test");
    optional.ignorable = true;
    ExtenderWorld world({optional, filtering()});
    for (const char* name : {"a", "b"}) world.add_node(name);
    world.extender("http://optional.test").is_dead = true;
    world.extender().answers["filter"] = [](const Value&) { return accepts("b"); };
    world.add_pod("web");
    EXPECT_EQ(world.node_of("web"), "b");
    EXPECT_EQ(world.extender("http://optional.test").requests["filter"].at(0).find("NodeNames")->as_array().size(), 1u)
        << "it is asked last";
}

TEST(Extender, ScoresWithItsWeight) {
    ExtenderConfiguration one{.url_prefix = "http://one.test", .prioritize_verb = "score", .weight = 20, .node_cache_capable = true};
    ExtenderConfiguration other = one;
    other.url_prefix = "http://two.test";
    other.weight = 1;
    ExtenderWorld world({one, other});
    for (const char* name : {"a", "b", "c"}) world.add_node(name);
    world.extender("http://one.test").answers["score"] = [](const Value&) {
        return R"([{"Host": "c", "Score": 10}, {"Host": "x", "Score": 10}])";
    };
    world.extender("http://two.test").answers["score"] = [](const Value&) { return R"([{"Host": "a", "Score": 10}])"; };
    world.add_pod("web");
    EXPECT_EQ(world.node_of("web"), "c");
    world.extender("http://one.test").is_dead = true;
    world.add_pod("db");
    EXPECT_EQ(world.node_of("db"), "a") << "a failure to score is ignored";
}

TEST(Extender, IsAskedOnlyAboutPodsWithItsResources) {
    ExtenderConfiguration configured = filtering();
    configured.managed_resources = {"example.com/licence"};
    ExtenderWorld world({configured});
    world.add_node("a");
    world.extender().answers["filter"] = [](const Value&) { return R"({"FailedNodes": {"a": "no"}})"; };
    world.add_pod("web");
    EXPECT_EQ(world.node_of("web"), "a");
    core::Pod pod = testing::api_pod("licensed");
    pod.spec.containers[0].resources.limits = {{"example.com/licence", Quantity::from_value(0)}};
    world.api.put(pod);
    world.loop.advance(500ms);
    EXPECT_EQ(world.node_of("licensed"), "");
    EXPECT_EQ(world.extender().requests["filter"].size(), 1u);
}

TEST(Extender, DoesNotPlaceAPodWhereItNoLongerFits) {
    ExtenderWorld world({filtering()});
    world.add_node("a");
    world.add_node("b");
    world.extender().answers["filter"] = [](const Value& request) {
        return schema::to_json(Value::object({{"NodeNames", *request.find("NodeNames")}}));
    };
    world.extender().takes = 2s;
    world.add_pod("web");
    world.api.change<core::Node>({"", "a"}, [](core::Node& node) { node.spec.unschedulable = true; });
    world.loop.advance(2s);
    EXPECT_EQ(world.node_of("web"), "b");
    world.add_pod("db");
    world.api.remove<core::Node>({"", "b"});
    world.loop.advance(2s);
    EXPECT_TRUE(world.why_not("db").starts_with("Unschedulable: 0/1 nodes are available: 1 node(s) were unschedulable."))
        << world.why_not("db");
    world.add_node("c");  // it is not missed, even if it comes while the extender is asked
    world.extender().answers["filter"] = [](const Value&) { return accepts("c"); };
    world.loop.advance(15s);
    EXPECT_EQ(world.node_of("db"), "c");
}

TEST(Extender, IsNotWaitedForOnceThePodIsGone) {
    ExtenderWorld world({filtering()});
    world.add_node("a");
    world.extender().answers["filter"] = [](const Value&) { return accepts("a"); };
    world.extender().takes = 2s;
    world.add_pod("web");
    world.api.remove<core::Pod>({"default", "web"});
    world.loop.advance(10s);
    EXPECT_EQ(world.node_of("web"), "gone");
    EXPECT_EQ(world.event_of("web", "FailedScheduling"), "");
    EXPECT_EQ(world.scheduler.counts().scheduled, 0u);
}

TEST(Extender, Binds) {
    ExtenderConfiguration binder{.url_prefix = "http://one.test", .bind_verb = "bind"};
    ExtenderWorld world({binder});
    world.add_node("a");
    world.extender().answers["bind"] = [&](const Value& request) {
        const std::string name(request.string_at({"PodName"}));
        world.api.change<core::Pod>({"default", name}, [&](core::Pod& pod) { pod.spec.node_name = request.string_at({"Node"}); });
        return "{}";
    };
    world.add_pod("web");
    EXPECT_EQ(world.node_of("web"), "a");
    EXPECT_EQ(world.event_of("web", "Scheduled"), "Normal: Successfully assigned default/web to a");
    EXPECT_EQ(world.extender().requests["bind"].at(0).string_at({"PodNamespace"}), "default");
    EXPECT_NE(world.extender().requests["bind"].at(0).string_at({"PodUID"}), "");

    world.extender().answers["bind"] = [](const Value&) { return R"({"Error": "not today"})"; };
    world.add_pod("db");
    EXPECT_EQ(world.node_of("db"), "");
    EXPECT_EQ(world.why_not("db"), "SchedulerError: not today");
}

TEST(Extender, ThatMayBeIgnoredLeavesTheBindingToTheScheduler) {
    ExtenderConfiguration binder{.url_prefix = "http://one.test", .bind_verb = "bind", .ignorable = true};
    ExtenderWorld world({binder});
    world.add_node("a");
    world.extender().is_dead = true;
    world.add_pod("web");
    EXPECT_EQ(world.node_of("web"), "a");
}

struct PreemptingWorld : ExtenderWorld {
    explicit PreemptingWorld(bool ignorable = false)
        : ExtenderWorld(
              {{.url_prefix = "http://one.test", .preempt_verb = "preempt", .node_cache_capable = true, .ignorable = ignorable}}) {
        for (const char* name : {"a", "b"}) {
            add_node(name, "1");
            core::Pod low = testing::api_pod(std::string("on-") + name, "1");
            low.spec.node_name = name;
            low.spec.termination_grace_period_seconds = 0;
            api.put(low);
        }
        loop.advance(500ms);
    }
    void add_important() {
        core::Pod important = testing::api_pod("important", "1");
        important.spec.priority = 100;
        api.put(important);
        loop.advance(800ms);
    }
    std::string uid_of(const std::string& name) { return api.find<core::Pod>({"default", name})->metadata.uid; }
    std::string victims(const std::string& node, const std::string& uid) {
        return R"({"NodeNameToMetaVictims": {")" + node + R"(": {"Pods": [{"UID": ")" + uid + R"("}], "NumPDBViolations": 0}}})";
    }
};

TEST(Extender, ReviewsWhoIsEvicted) {
    PreemptingWorld world;
    world.extender().answers["preempt"] = [&](const Value&) { return world.victims("b", world.uid_of("on-b")); };
    world.add_important();
    EXPECT_EQ(world.extender().requests["preempt"].at(0).find("NodeNameToMetaVictims")->as_object().size(), 2u);
    EXPECT_EQ(world.node_of("on-a"), "a");
    EXPECT_EQ(world.node_of("on-b"), "gone");
    world.loop.advance(5s);
    EXPECT_EQ(world.node_of("important"), "b");
}

TEST(Extender, EvictsNobodyWhereItsAnswerIsWrong) {
    struct {
        const char *name, *node, *victim, *why;
    } const rows[] = {
        {"another node's pod", "a", "on-b", "preemption: extender: http://one.test claims to preempt pod (UID: &{on-b}) on node: a, but"},
        {"an unknown node", "x", "on-a", "preemption: nodeinfo not found for node name \"x\""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        PreemptingWorld world;
        world.extender().answers["preempt"] = [&](const Value&) { return world.victims(row.node, row.victim); };
        world.add_important();
        EXPECT_NE(world.why_not("important").find(row.why), std::string::npos) << world.why_not("important");
        EXPECT_EQ(world.node_of("on-a") + world.node_of("on-b"), "ab");
    }
}

TEST(Extender, ThatLeavesNobodyToEvictSaysNo) {
    PreemptingWorld world;
    world.extender().answers["preempt"] = [&](const Value&) { return "{}"; };
    world.add_important();
    EXPECT_TRUE(world.why_not("important").ends_with("preemption: no candidate node for preemption")) << world.why_not("important");
}

TEST(Extender, ThatMayBeIgnoredDoesNotStopPreemption) {
    PreemptingWorld world(true);
    world.extender().is_dead = true;
    world.add_important();
    EXPECT_TRUE(world.node_of("on-a") == "gone" || world.node_of("on-b") == "gone");
}

TEST(Extender, AcceptsOrRefusesTheNodeThatAPodIsNominatedFor) {
    ExtenderWorld world({filtering()});
    world.add_node("a");
    world.add_node("b");
    world.extender().answers["filter"] = [](const Value&) { return R"({"NodeNames": ["b"]})"; };
    core::Pod pod = testing::api_pod("web");
    pod.status.nominated_node_name = "b";
    world.api.put(pod);
    world.loop.advance(500ms);
    EXPECT_EQ(world.node_of("web"), "b");
    EXPECT_EQ(world.extender().requests["filter"].size(), 1u);

    world.extender().answers["filter"] = [](const Value& request) {
        return request.find("NodeNames")->as_array().size() == 1 ? R"({"FailedNodes": {"b": "no"}})" : R"({"NodeNames": ["a"]})";
    };
    pod = testing::api_pod("db");
    pod.status.nominated_node_name = "b";
    world.api.put(pod);
    world.loop.advance(500ms);
    EXPECT_EQ(world.node_of("db"), "a");
}

}  // namespace
}  // namespace porthole::scheduler
