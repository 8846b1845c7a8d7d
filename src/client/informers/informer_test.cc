#include "client/informers/informer.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "client/fake/fake_api.h"
#include "client/informers/shared_objects.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::client {
namespace {

using api::core::v1::Pod;

Pod pod(const std::string& name, const std::string& node = "") {
    Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = name;
    pod.spec.node_name = node;
    return pod;
}

struct InformerTest : testing::Test {
    InformerTest() { watch(pods); }
    ~InformerTest() override { EXPECT_TRUE(sim::run(loop, scope.close())); }

    void watch(Informer<Pod>& informer) {
        informer.subscribe({
            .added = [this](const auto& now) { heard += "+" + now->metadata.name; },
            .updated = [this](const auto& old,
                              const auto& now) { heard += "~" + now->metadata.name + old->spec.node_name + now->spec.node_name; },
            .deleted = [this](const auto& last) { heard += "-" + last->metadata.name; },
        });
    }
    void start() {
        scope.spawn(pods.run());
        loop.advance(1s);
    }
    std::string take() { return std::exchange(heard, ""); }
    std::size_t lists() {
        return static_cast<std::size_t>(std::ranges::count_if(api.requests(), [](const auto& request) { return request.method == "GET"; }));
    }

    sim::SimLoop loop;
    FakeApi api{loop};
    Client client{api};
    SeededRandom random{7};
    InformerContext context{loop, client, random, Logger(make_null_sink(), "test")};
    Informer<Pod> pods{context};
    std::string heard;
    Scope scope{loop};
};

/// Hands one object's bytes over spoiled, in lists and in watches.
class SpoilingTransport final : public Transport {
public:
    SpoilingTransport(Transport& below, std::string name) : below_(below), name_("\"name\":\"" + name + "\"") {}
    Task<ApiResponse> call(ApiRequest request) override {
        CO_TRY(ApiResponse response, co_await below_.call(std::move(request)));
        if (response.body) response.body = std::make_shared<const std::string>(spoiled(*response.body));
        co_return response;
    }
    Task<std::unique_ptr<ApiStream>> watch(ApiRequest request) override {
        CO_TRY(std::unique_ptr<ApiStream> stream, co_await below_.watch(std::move(request)));
        co_return std::unique_ptr<ApiStream>(std::make_unique<Stream>(*this, std::move(stream)));
    }

private:
    struct Stream final : ApiStream {
        Stream(const SpoilingTransport& owner, std::unique_ptr<ApiStream> below) : owner(owner), below(std::move(below)) {}
        Task<std::optional<net::Bytes>> next() override {
            CO_TRY(std::optional<net::Bytes> event, co_await below->next());
            if (event) event = std::make_shared<const std::string>(owner.spoiled(**event));
            co_return event;
        }
        const SpoilingTransport& owner;
        std::unique_ptr<ApiStream> below;
    };
    /// The name's type is wrong: no struct can take it.
    std::string spoiled(std::string text) const {
        for (std::size_t at = text.find(name_); at != text.npos; at = text.find(name_, at)) text.replace(at, name_.size(), "\"name\":[7]");
        return text;
    }
    Transport& below_;
    std::string name_;
};

TEST_F(InformerTest, LeavesOutAnObjectThatCannotBeReadAndFollowsTheRest) {
    SpoilingTransport spoiling(api, "bad");
    Client through(spoiling);
    Informer<Pod> informer({loop, through, random, Logger(make_null_sink(), "test")});
    watch(informer);
    api.put(pod("bad"));
    api.put(pod("good"));
    scope.spawn(informer.run());
    loop.advance(1s);
    EXPECT_EQ(take(), "+good");
    EXPECT_TRUE(informer.synced());
    api.change<Pod>({"ns", "bad"}, [](Pod& pod) { pod.spec.node_name = "n"; });
    api.put(pod("later"));
    loop.advance(1s);
    EXPECT_EQ(take(), "+later") << "the watch goes on past the bad event";
    const std::size_t before = lists();
    loop.advance(1min);
    EXPECT_EQ(lists(), before) << "and is not tried again from before it";
}

TEST_F(InformerTest, SharesEachVersionWithTheOthersOfTheProcess) {
    SharedObjects shared;
    const InformerContext sharing{loop, client, random, context.log, &shared};
    auto first = std::make_unique<Informer<Pod>>(sharing), second = std::make_unique<Informer<Pod>>(sharing);
    Scope both(loop);
    both.spawn(first->run());
    both.spawn(second->run());
    api.put(pod("a"));
    api.put(pod("b"));
    loop.advance(1s);
    EXPECT_EQ(first->find({"ns", "a"}), second->find({"ns", "a"})) << "one object, not two that are equal";
    EXPECT_NE(first->find({"ns", "a"}), first->find({"ns", "b"}));

    api.put(pod("a", "n1"));
    loop.run_ready();
    EXPECT_EQ(second->find({"ns", "a"})->spec.node_name, "n1");
    EXPECT_EQ(shared.size(), 2u) << "nobody holds the old version any more";
    ASSERT_TRUE(sim::run(loop, both.close()));
    first.reset();
    second.reset();
    EXPECT_EQ(shared.size(), 0u);
}

TEST_F(InformerTest, PackedPodsAreReadAndFoundAsOthersAre) {
    SharedObjects shared(0);
    Informer<Pod> packing({loop, client, random, context.log, &shared});
    const auto by_node = packing.add_index([](const Pod& pod) { return std::vector{pod.spec.node_name}; });
    watch(packing);
    api.put(pod("a", "n1"));
    api.put(pod("b", "n1"));
    Scope following(loop);
    following.spawn(packing.run());
    loop.advance(1s);
    EXPECT_EQ(take(), "+a+b");
    EXPECT_LT(shared.decoded_json(), 300u) << "only the one that was read last is not packed";
    using Counts = InformerCore::IndexCounts;
    const auto before = shared.times_unpacked();
    EXPECT_EQ(by_node.counts(), (Counts{{"n1", 2}}));
    EXPECT_EQ(shared.times_unpacked(), before) << "counting decodes nothing";

    api.put(pod("b", "n2"));
    loop.run_ready();
    EXPECT_EQ(take(), "~bn1n2") << "the handler sees the version that was packed, and the new one";
    EXPECT_EQ(packing.find({"ns", "b"})->spec.node_name, "n2");
    EXPECT_EQ(by_node.counts(), (Counts{{"n1", 1}, {"n2", 1}}));
    EXPECT_EQ(by_node.find("n2").at(0)->metadata.name, "b");
    EXPECT_EQ(packing.list().size(), 2u);
    EXPECT_EQ(packing.list("ns").at(0)->metadata.name, "a");

    api.erase<Pod>({"ns", "a"});
    loop.run_ready();
    EXPECT_EQ(take(), "-a");
    EXPECT_EQ(by_node.counts(), (Counts{{"n2", 1}}));
    watch(packing);
    EXPECT_EQ(take(), "+b") << "a late handler";
    EXPECT_TRUE(sim::run(loop, following.close()));
}

TEST_F(InformerTest, DoesNotHoldAllPodsOfItsFirstListDecoded) {
    SharedObjects shared(0);
    Informer<Pod> packing({loop, client, random, context.log, &shared});
    std::size_t most = 0;
    packing.subscribe({.added = [&](const auto&) { most = std::max(most, shared.decoded_json()); }});
    for (int i = 0; i < 30; ++i) api.put(pod("pod-" + std::to_string(i)));
    Scope following(loop);
    following.spawn(packing.run());
    loop.advance(1s);
    EXPECT_EQ(packing.size(), 30u);
    EXPECT_GT(most, 0u);
    EXPECT_LT(most, 2000u) << "one or two of them";
    EXPECT_TRUE(sim::run(loop, following.close()));
}

TEST_F(InformerTest, DeliversWhatIsThereAndThenEveryChange) {
    api.put(pod("a"));
    EXPECT_FALSE(pods.synced());
    start();
    EXPECT_TRUE(pods.synced());
    EXPECT_EQ(take(), "+a");
    api.put(pod("b"));
    api.put(pod("a", "n1"));
    api.erase<Pod>({"ns", "b"});
    loop.run_ready();
    EXPECT_EQ(take(), "+b~an1-b");
    EXPECT_EQ(pods.find({"ns", "a"})->spec.node_name, "n1");
    EXPECT_EQ(pods.size(), 1u);
    EXPECT_EQ(lists(), 1u);
}

TEST_F(InformerTest, ListsInPagesOf500) {
    start();
    const auto listed = std::ranges::find_if(api.requests(), [](const auto& request) { return request.method == "GET"; });
    ASSERT_NE(listed, api.requests().end());
    EXPECT_NE((listed->query + "&").find("limit=500&"), std::string::npos) << listed->query;
}

TEST_F(InformerTest, ResumesABrokenWatchWithoutListingAgain) {
    api.put(pod("a"));
    start();
    api.drop_watches();
    api.put(pod("b"));
    loop.advance(2s);
    EXPECT_EQ(take(), "+a+b");
    EXPECT_EQ(lists(), 1u);
}

TEST_F(InformerTest, AnExpiredWatchIsRelistedAndOnlyDifferencesAreHeard) {
    for (const char* name : {"gone", "kept", "changed"}) api.put(pod(name));
    start();
    EXPECT_EQ(take(), "+changed+gone+kept");
    api.drop_watches();
    api.erase<Pod>({"ns", "gone"});
    api.put(pod("changed", "n2"));
    api.put(pod("new"));
    api.expire_watches();
    loop.advance(10s);
    EXPECT_EQ(take(), "-gone~changedn2+new");
    EXPECT_EQ(lists(), 2u);
}

TEST_F(InformerTest, WaitsLongerAndLongerForAServerThatIsAway) {
    int asked = 0;
    api.set_fault([&](const ApiRequest&) {
        ++asked;
        return Error(Reason::Unavailable, "connection refused");
    });
    start();
    loop.advance(10min);
    EXPECT_GT(asked, 10);
    EXPECT_LT(asked, 40);
    api.set_fault({});
    api.put(pod("a"));
    loop.advance(1min);
    EXPECT_EQ(take(), "+a");
}

/// Lists are the API's; every watch brings one bookmark of long ago and ends.
class EndsEveryWatch final : public Transport {
public:
    explicit EndsEveryWatch(Transport& api) : api_(api) {}
    Task<ApiResponse> call(ApiRequest request) override { return api_.call(std::move(request)); }
    Task<std::unique_ptr<ApiStream>> watch(ApiRequest) override {
        ++watches;
        co_return std::make_unique<OneBookmark>();
    }
    int watches = 0;

private:
    class OneBookmark final : public ApiStream {
        Task<std::optional<net::Bytes>> next() override {
            if (std::exchange(over_, true)) co_return std::nullopt;
            co_return std::make_shared<const std::string>(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}})");
        }
        bool over_ = false;
    };
    Transport& api_;
};

TEST_F(InformerTest, WaitsLongerAndLongerForAServerThatEndsWatchesWithNothingNew) {
    EndsEveryWatch server(api);
    Client asking(server);
    Informer<Pod> informer({loop, asking, random, context.log});
    Scope following(loop);
    following.spawn(informer.run());
    loop.advance(10min);
    EXPECT_GT(server.watches, 10);
    EXPECT_LT(server.watches, 40);
    EXPECT_TRUE(sim::run(loop, following.close()));
}

TEST_F(InformerTest, FindsByIndexAsObjectsMove) {
    const auto by_node = pods.add_index([](const Pod& pod) { return std::vector{pod.spec.node_name}; });
    api.put(pod("a", "n1"));
    api.put(pod("b", "n1"));
    start();
    EXPECT_EQ(by_node.find("n1").size(), 2u);
    api.put(pod("b", "n2"));
    api.erase<Pod>({"ns", "a"});
    loop.run_ready();
    EXPECT_TRUE(by_node.find("n1").empty());
    ASSERT_EQ(by_node.find("n2").size(), 1u);
    EXPECT_EQ(by_node.find("n2")[0]->metadata.name, "b");
}

TEST_F(InformerTest, ASelectionForgetsWhatNoLongerFits) {
    Informer<Pod> mine(context, {.field_selector = "spec.nodeName=n1"});
    api.put(pod("a", "n1"));
    api.put(pod("b", "n2"));
    scope.spawn(mine.run());
    loop.advance(1s);
    EXPECT_EQ(mine.list().size(), 1u);
    api.put(pod("a", "n3"));
    api.put(pod("b", "n1"));
    loop.run_ready();
    ASSERT_EQ(mine.list().size(), 1u);
    EXPECT_EQ(mine.list()[0]->metadata.name, "b");
}

TEST_F(InformerTest, ALateHandlerHearsOfWhatIsCached) {
    api.put(pod("a"));
    start();
    take();
    watch(pods);
    EXPECT_EQ(take(), "+a");
}

TEST_F(InformerTest, OneSelectionIsShared) {
    Informers informers(context);
    EXPECT_EQ(&informers.get<Pod>(), &informers.get<Pod>());
    EXPECT_NE(&informers.get<Pod>(), &informers.get<Pod>({.namespace_ = "x"}));
    informers.start();
    EXPECT_TRUE(sim::run(loop, informers.wait_for_sync(), 10s));
    EXPECT_TRUE(sim::run(loop, informers.close()));
}

}  // namespace
}  // namespace porthole::client
