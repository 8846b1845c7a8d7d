#include "controllers/garbage_collector/garbage_collector.h"

#include "api/apps_v1.h"
#include "controllers/framework/sim/sim_world.h"
#include "controllers/garbage_collector/graph.h"
#include "objects/owners.h"

namespace porthole::controllers {
namespace {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;
using api::core::v1::ConfigMap;
using api::core::v1::Node;
using api::core::v1::Pod;

struct GarbageCollectorTest : SimWorld {
    template <class T, class... Owners>
    T put(const std::string& name, const Owners&... owners) {
        T object;
        object.metadata.namespace_ = "ns";
        object.metadata.name = name;
        object.metadata.owner_references = {objects::controller_reference(owners)...};
        return api.put(object);
    }
    void begin() {
        run<GarbageCollector>();
        pass(2s);
    }
    template <class T>
    bool there(const std::string& name) {
        return api.find<T>({"ns", name}).has_value();
    }
    void delete_deployment(const std::string& policy) {
        api.remove<Deployment>({"ns", "web"}, {.propagation_policy = policy});
        pass(5s);
    }
    /// web → web-1 → pod
    void family() {
        const auto deployment = put<Deployment>("web");
        const auto set = put<ReplicaSet>("web-1", deployment);
        put<Pod>("pod", set);
    }
};

TEST(GarbageGraph, ManyOwnersTakeLinearTime) {
    constexpr int Owners = 30'000;
    garbage::Graph graph({.check = [](const auto&) {}, .orphan = [](const auto&) {}});
    const auto kind = std::make_shared<const garbage::KindName>("v1", "ConfigMap");
    const auto owned = [](int owners) {
        garbage::Item item{.key = {"ns", "a"}, .uid = "u"};
        for (int i = 0; i < owners; ++i)
            item.owners.push_back({.api_version = "v1", .kind = "Pod", .name = "p", .uid = "u" + std::to_string(i)});
        return std::make_shared<const garbage::Item>(std::move(item));
    };
    graph.observed(kind, owned(Owners));
    graph.observed(kind, owned(Owners - 1));
    graph.observed(kind, owned(Owners));
    EXPECT_EQ(graph.dependents("u" + std::to_string(Owners - 1)).size(), 1u);
    graph.observed(kind, owned(0));
    EXPECT_EQ(graph.size(), 1u);
}

TEST_F(GarbageCollectorTest, LeavesWhatHasAnOwnerOrNone) {
    family();
    put<ConfigMap>("settings");
    begin();
    pass(10min);
    EXPECT_TRUE(there<Pod>("pod") && there<ReplicaSet>("web-1") && there<ConfigMap>("settings"));
}

TEST_F(GarbageCollectorTest, BackgroundTakesTheFamilyAfterItsHead) {
    family();
    begin();
    delete_deployment("Background");
    EXPECT_FALSE(there<Deployment>("web") || there<ReplicaSet>("web-1") || there<Pod>("pod"));
}

TEST_F(GarbageCollectorTest, ForegroundKeepsTheHeadUntilTheFamilyIsGone) {
    family();
    api.change<Pod>({"ns", "pod"}, [](Pod& pod) { pod.spec.node_name = "n1"; });
    begin();
    delete_deployment("Foreground");
    EXPECT_TRUE(api.find<Pod>({"ns", "pod"})->metadata.deletion_timestamp);
    EXPECT_TRUE(api.find<ReplicaSet>({"ns", "web-1"})->metadata.deletion_timestamp);
    EXPECT_TRUE(there<Deployment>("web"));
    kubelet();
    pass(5s);
    EXPECT_FALSE(there<Deployment>("web") || there<ReplicaSet>("web-1") || there<Pod>("pod"));
}

TEST_F(GarbageCollectorTest, OrphaningFreesTheFamily) {
    family();
    begin();
    delete_deployment("Orphan");
    EXPECT_FALSE(there<Deployment>("web"));
    ASSERT_TRUE(there<ReplicaSet>("web-1"));
    EXPECT_TRUE(api.find<ReplicaSet>({"ns", "web-1"})->metadata.owner_references.empty());
    EXPECT_TRUE(there<Pod>("pod"));
}

TEST_F(GarbageCollectorTest, FindsThoseWhoseOwnerWentWhileNobodyWatched) {
    family();
    api.erase<Deployment>({"ns", "web"});
    begin();
    pass(5s);
    EXPECT_FALSE(there<ReplicaSet>("web-1") || there<Pod>("pod"));
}

TEST_F(GarbageCollectorTest, ANamesakeIsNoOwner) {
    const auto first = put<ConfigMap>("owner");
    put<ConfigMap>("dependent", first);
    api.erase<ConfigMap>({"ns", "owner"});
    put<ConfigMap>("owner");
    begin();
    pass(5s);
    EXPECT_FALSE(there<ConfigMap>("dependent"));
    EXPECT_TRUE(there<ConfigMap>("owner"));
}

TEST_F(GarbageCollectorTest, OneLivingOwnerIsEnough) {
    const auto one = put<ConfigMap>("one"), two = put<ConfigMap>("two");
    put<ConfigMap>("dependent", one, two);
    begin();
    api.remove<ConfigMap>({"ns", "one"});
    pass(5s);
    ASSERT_TRUE(there<ConfigMap>("dependent"));
    ASSERT_EQ(api.find<ConfigMap>({"ns", "dependent"})->metadata.owner_references.size(), 1u);
    EXPECT_EQ(api.find<ConfigMap>({"ns", "dependent"})->metadata.owner_references[0].name, "two");
    api.remove<ConfigMap>({"ns", "two"});
    pass(5s);
    EXPECT_FALSE(there<ConfigMap>("dependent"));
}

TEST_F(GarbageCollectorTest, OwnersInOtherNamespacesDoNotCount) {
    const auto owner = put<ConfigMap>("owner");
    ConfigMap stranger;
    stranger.metadata.namespace_ = "other";
    stranger.metadata.name = "stranger";
    stranger.metadata.owner_references = {objects::controller_reference(owner)};
    api.put(stranger);
    begin();
    pass(5s);
    EXPECT_FALSE(api.find<ConfigMap>({"other", "stranger"}));
    EXPECT_TRUE(there<ConfigMap>("owner"));
    EXPECT_TRUE(has_event("OwnerRefInvalidNamespace: ownerRef [v1/ConfigMap, namespace: other, name: owner, uid: " + owner.metadata.uid +
                          "] does not exist in namespace \"other\""));
}

TEST_F(GarbageCollectorTest, AnObjectOfAnotherNamespaceHoldsUpNoDeletion) {
    for (const char* policy : {"Foreground", "Orphan"}) {
        SCOPED_TRACE(policy);
        const auto owner = put<ConfigMap>("owner");
        ConfigMap stranger;
        stranger.metadata.namespace_ = "other";
        stranger.metadata.name = "stranger";
        stranger.metadata.finalizers = {"example.com/never"};
        stranger.metadata.owner_references = {objects::controller_reference(owner)};
        api.put(stranger);
        if (std::string(policy) == "Foreground") begin();
        // Whoever may write it may also keep others from writing it, for example by its size.
        api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
            if (request.method != "PATCH" || request.path.find("/stranger") == request.path.npos) return std::nullopt;
            return Error(Reason::Invalid, "too large");
        });
        pass(5s);
        api.remove<ConfigMap>({"ns", "owner"}, {.propagation_policy = policy});
        pass(1min);
        EXPECT_FALSE(there<ConfigMap>("owner"));
        api.set_fault({});
        api.erase<ConfigMap>({"other", "stranger"});
    }
}

TEST_F(GarbageCollectorTest, AnOwnerThatComesWhileAWrongReferenceIsLookedUpKeepsItsOwn) {
    ConfigMap wrong;
    wrong.metadata.namespace_ = "other";
    wrong.metadata.name = "wrong";
    wrong.metadata.finalizers = {"example.com/never"};
    wrong.metadata.owner_references.push_back({.api_version = "v1", .kind = "ConfigMap", .name = "owner", .uid = "u-owner"});
    ConfigMap owner;
    owner.metadata.namespace_ = "ns";
    owner.metadata.name = "owner";
    owner.metadata.uid = "u-owner";
    begin();
    api.set_latency(1s);
    api.put(wrong);
    pass(1500ms);  // by now it is asked for other/owner
    api.put(owner);
    pass(10s);
    ASSERT_EQ(api.find<ConfigMap>({"ns", "owner"})->metadata.uid, "u-owner");
    put<ConfigMap>("dependent", owner);
    pass(10s);
    ASSERT_TRUE(there<ConfigMap>("dependent"));
    api.erase<ConfigMap>({"ns", "owner"});
    pass(1min);
    EXPECT_FALSE(there<ConfigMap>("dependent"));
}

TEST_F(GarbageCollectorTest, AWrongReferenceHarmsNobodyElse) {
    const auto owner = put<ConfigMap>("owner");
    auto wrong = owner;
    wrong.metadata.name = "misspelt";
    put<ConfigMap>("a-wrong", wrong);
    put<ConfigMap>("b-right", owner);
    begin();
    pass(5s);
    EXPECT_FALSE(there<ConfigMap>("a-wrong"));
    EXPECT_TRUE(there<ConfigMap>("b-right"));
    api.remove<ConfigMap>({"ns", "owner"});
    pass(5s);
    EXPECT_FALSE(there<ConfigMap>("b-right"));
}

TEST_F(GarbageCollectorTest, AClusterScopedObjectOfANamespacedOwnerStays) {
    const auto owner = put<ConfigMap>("owner");
    auto gone = objects::controller_reference(owner);
    gone.uid = "gone";
    Node node;
    node.metadata.name = "n1";
    node.metadata.owner_references = {objects::controller_reference(owner)};
    api.put(node);
    node.metadata.name = "n2";
    node.metadata.owner_references = {gone};
    api.put(node);
    begin();
    pass(1h);
    EXPECT_TRUE(api.find<Node>({"", "n1"}));
    EXPECT_TRUE(api.find<Node>({"", "n2"})) << "its owner may be in any namespace";
    bool told = false;
    for (const std::string& event : events()) told |= event.starts_with("OwnerRefInvalidNamespace: ");
    EXPECT_TRUE(told);
}

TEST_F(GarbageCollectorTest, ClusterScopedOwnersOwnNamespacedObjects) {
    Node node;
    node.metadata.name = "n1";
    node = api.put(node);
    put<Pod>("mirror", node);
    begin();
    pass(5s);
    EXPECT_TRUE(there<Pod>("mirror"));
    api.remove<Node>({"", "n1"});
    pass(5s);
    EXPECT_FALSE(there<Pod>("mirror"));
}

TEST_F(GarbageCollectorTest, CirclesDoNotBlockAForegroundDeletion) {
    auto a = put<ConfigMap>("a");
    const auto b = put<ConfigMap>("b", a);
    a.metadata.owner_references = {objects::controller_reference(b)};
    api.put(a);
    begin();
    api.remove<ConfigMap>({"ns", "a"}, {.propagation_policy = "Foreground"});
    pass(1min);
    EXPECT_FALSE(there<ConfigMap>("a") || there<ConfigMap>("b"));
}

TEST_F(GarbageCollectorTest, OwnersOfAnUnknownKindKeepTheirOwn) {
    ConfigMap object;
    object.metadata.namespace_ = "ns";
    object.metadata.name = "dependent";
    auto& owner = object.metadata.owner_references.emplace_back();
    owner.api_version = "example.com/v1";
    owner.kind = "Widget";
    owner.name = owner.uid = "w";
    api.put(object);
    begin();
    pass(1h);
    EXPECT_TRUE(there<ConfigMap>("dependent"));
}

TEST_F(GarbageCollectorTest, ManyInventedOwnersAreLookedForInOneList) {
    const auto one = put<ConfigMap>("one");
    ConfigMap object;
    object.metadata.namespace_ = "ns";
    object.metadata.name = "dependent";
    object.metadata.owner_references = {objects::controller_reference(one)};
    for (int i = 0; i < 300; ++i)
        object.metadata.owner_references.push_back(
            {.api_version = "v1", .kind = "ConfigMap", .name = "one", .uid = "u" + std::to_string(i)});
    auto one_more = object;
    one_more.metadata.name = "orphan";
    std::erase_if(one_more.metadata.owner_references, [&](const auto& owner) { return owner.uid == one.metadata.uid; });
    begin();
    api.clear_requests();
    api.put(object);
    api.put(one_more);
    pass(10s);
    ASSERT_TRUE(there<ConfigMap>("dependent"));
    EXPECT_EQ(api.find<ConfigMap>({"ns", "dependent"})->metadata.owner_references.size(), 1u);
    EXPECT_FALSE(there<ConfigMap>("orphan"));
    EXPECT_LT(api.requests().size(), 20u);
}

TEST_F(GarbageCollectorTest, SoManyAbsentOwnersAreRemembered) {
    const auto one = put<ConfigMap>("one");
    begin();
    // Objects of 45 owners each that do not exist: first each owner is looked for, then the objects ask for them.
    const auto requests_for = [&](int objects, const std::string& name) {
        api.clear_requests();
        for (int i = 0; i < objects; ++i) {
            ConfigMap object;
            object.metadata.namespace_ = "ns";
            object.metadata.name = name + std::to_string(i);
            object.metadata.owner_references = {objects::controller_reference(one)};
            for (int j = 0; j < 45; ++j) {
                const std::string owner = object.metadata.name + "-" + std::to_string(j);
                object.metadata.owner_references.push_back({.api_version = "v1", .kind = "ConfigMap", .name = owner, .uid = owner});
            }
            api.put(object);
        }
        pass(1min);
        for (int i = 0; i < objects; ++i)
            EXPECT_EQ(api.find<ConfigMap>({"ns", name + std::to_string(i)})->metadata.owner_references.size(), 1u);
        return std::ranges::count_if(api.requests(), [&](const auto& seen) {
            return seen.method == "GET" && seen.path.find("/" + name) != seen.path.npos && seen.path.find('-') != seen.path.npos;
        });
    };
    EXPECT_EQ(requests_for(10, "few"), 450);
    EXPECT_GT(requests_for(20, "many"), 900) << "some were forgotten, and looked for again";
}

TEST_F(GarbageCollectorTest, AFewOwnersThatAreSharedWithAnObjectOfManyAreLookedUp) {
    ConfigMap many, few;
    many.metadata.namespace_ = few.metadata.namespace_ = "ns";
    many.metadata.name = "many";
    few.metadata.name = "few";
    many.metadata.owner_references = {objects::controller_reference(put<ConfigMap>("one"))};
    for (int i = 0; i < 100; ++i)
        many.metadata.owner_references.push_back(
            {.api_version = "v1", .kind = "ConfigMap", .name = "gone", .uid = "u" + std::to_string(i)});
    few.metadata.owner_references.push_back({.api_version = "v1", .kind = "ConfigMap", .name = "gone", .uid = "u7"});
    begin();
    api.put(many);
    api.put(few);
    pass(10s);
    EXPECT_TRUE(there<ConfigMap>("many"));
    EXPECT_FALSE(there<ConfigMap>("few"));
}

TEST_F(GarbageCollectorTest, DeletesNothingOnAnAnswerItCannotTrust) {
    family();
    api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.path.find("/deployments") == request.path.npos) return std::nullopt;
        return Error(Reason::InternalError, "etcd is away");
    });
    begin();
    pass(10min);
    EXPECT_TRUE(there<ReplicaSet>("web-1") && there<Pod>("pod"));
    api.set_fault({});
    pass(1h);
    EXPECT_TRUE(there<ReplicaSet>("web-1") && there<Pod>("pod"));
}

TEST_F(GarbageCollectorTest, FinishesWhatACrashInterrupted) {
    family();
    begin();
    api.set_latency(50ms);
    api.remove<Deployment>({"ns", "web"}, {.propagation_policy = "Foreground"});
    pass(120ms);
    crash();
    api.drop_watches();
    api.expire_watches();
    run<GarbageCollector>();
    pass(1min);
    EXPECT_FALSE(there<Deployment>("web") || there<ReplicaSet>("web-1") || there<Pod>("pod"));
}

}  // namespace
}  // namespace porthole::controllers
