#include "controllers/namespace/namespace.h"

#include <algorithm>

#include "api/apps_v1.h"
#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using api::apps::v1::Deployment;
using api::core::v1::ConfigMap;
using api::core::v1::Namespace;
using api::core::v1::NamespaceCondition;
using api::core::v1::Pod;

const client::NamespacedName Key{"", "ns"};

struct NamespaceTest : SimWorld {
    NamespaceTest() {
        Namespace space;
        space.metadata.name = "ns";
        api.put(space);
        put<ConfigMap>("ns", "settings");
        put<ConfigMap>("other", "settings");
        put<Deployment>("ns", "web");
    }
    template <class T>
    T put(const std::string& namespace_, const std::string& name, std::vector<std::string> finalizers = {}) {
        T object;
        object.metadata.namespace_ = namespace_;
        object.metadata.name = name;
        object.metadata.finalizers = std::move(finalizers);
        return api.put(object);
    }
    void begin() {
        run<NamespaceController>();
        api.remove<Namespace>(Key);
        pass(5s);
    }
    std::string condition(const std::string& type) {
        const auto space = api.find<Namespace>(Key);
        if (!space) return "gone";
        for (const NamespaceCondition& condition : space->status.conditions)
            if (condition.type == type) return condition.status + " " + condition.reason + ": " + condition.message;
        return "none";
    }
};

TEST_F(NamespaceTest, EmptiesAndRemovesIt) {
    begin();
    EXPECT_FALSE(api.find<Namespace>(Key));
    EXPECT_TRUE(api.list<ConfigMap>("ns").empty());
    EXPECT_TRUE(api.list<Deployment>("ns").empty());
    EXPECT_EQ(api.list<ConfigMap>("other").size(), 1u);
}

TEST_F(NamespaceTest, LeavesOthersAlone) {
    run<NamespaceController>();
    pass(1min);
    EXPECT_EQ(api.find<Namespace>(Key)->status.phase, "Active");
    EXPECT_EQ(api.list<ConfigMap>("ns").size(), 1u);
}

TEST_F(NamespaceTest, LetsPodsEndBeforeItTakesWhatTheyNeed) {
    put<Pod>("ns", "web");
    api.change<Pod>({"ns", "web"}, [](Pod& pod) { pod.spec.node_name = "n1"; });
    begin();
    EXPECT_TRUE(api.find<Pod>({"ns", "web"})->metadata.deletion_timestamp);
    EXPECT_EQ(api.list<ConfigMap>("ns").size(), 1u);
    EXPECT_EQ(condition("NamespaceContentRemaining"),
              "True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances");
    kubelet();
    pass(2s);
    EXPECT_EQ(condition("NamespaceContentRemaining"), "gone");
}

TEST_F(NamespaceTest, SaysWhichFinalizersHoldIt) {
    put<ConfigMap>("ns", "held", {"example.com/hold"});
    begin();
    EXPECT_EQ(
        condition("NamespaceFinalizersRemaining"),
        "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances");
    EXPECT_EQ(condition("NamespaceContentRemaining"),
              "True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances");
    EXPECT_EQ(condition("NamespaceDeletionDiscoveryFailure"), "False ResourcesDiscovered: All resources successfully discovered");
    api.change<ConfigMap>({"ns", "held"}, [](ConfigMap& object) { object.metadata.finalizers.clear(); });
    pass(1min);
    EXPECT_FALSE(api.find<Namespace>(Key));
}

TEST_F(NamespaceTest, StaysWhenSomeGroupsCannotBeDiscovered) {
    bool down = true;
    api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (down && request.path == "/apis/apps/v1") return Error(Reason::ServiceUnavailable, "the server is currently unable");
        return std::nullopt;
    });
    begin();
    EXPECT_EQ(condition("NamespaceDeletionDiscoveryFailure"),
              "True DiscoveryFailed: Discovery failed for some groups, 1 failing: apps/v1: the server is currently unable");
    EXPECT_TRUE(api.list<ConfigMap>("ns").empty()) << "the rest is deleted all the same";
    down = false;
    pass(20min);
    EXPECT_FALSE(api.find<Namespace>(Key));
}

TEST_F(NamespaceTest, ReportsWhatCannotBeDeleted) {
    api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method == "DELETE" && request.path.ends_with("/configmaps")) return Error(Reason::InternalError, "a webhook is down");
        return std::nullopt;
    });
    begin();
    EXPECT_EQ(condition("NamespaceDeletionContentFailure"),
              "True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: configmaps: a webhook is down");
    EXPECT_TRUE(api.list<Deployment>("ns").empty());
    api.set_fault({});
    pass(20min);
    EXPECT_FALSE(api.find<Namespace>(Key));
}

}  // namespace
}  // namespace porthole::controllers
