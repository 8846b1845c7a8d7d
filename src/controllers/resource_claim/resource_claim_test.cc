#include "controllers/resource_claim/resource_claim.h"

#include "controllers/framework/sim/sim_world.h"
#include "controllers/resource_claim/claim_names.h"
#include "controllers/resource_claim/resource_claim_cleaner.h"
#include "objects/owners.h"
#include "objects/resource_claims.h"

namespace porthole::controllers {
namespace {

using api::core::v1::Pod;
using namespace api::resource::v1;

constexpr const char* Finalizer = "resource.kubernetes.io/delete-protection";

class ResourceClaims : public SimWorld {
protected:
    void SetUp() override {
        api.put(object<ResourceClaimTemplate>("gpu", [](ResourceClaimTemplate& made) {
            made.spec.metadata.labels["team"] = "a";
            made.spec.spec.devices.requests.emplace_back().name = "r";
        }));
        run<ResourceClaimController>();
        run<ResourceClaimCleaner>();
        pass(1s);
    }
    template <class T>
    static T object(const std::string& name, const std::function<void(T&)>& fill) {
        T made;
        made.metadata.namespace_ = "ns";
        made.metadata.name = name;
        fill(made);
        return made;
    }
    Pod put_pod(const std::string& name, const std::string& template_name, const std::string& claim = "") {
        Pod stored = api.put(object<Pod>(name, [&](Pod& pod) {
            auto& entry = pod.spec.resource_claims.emplace_back();
            entry.name = "dev";
            if (claim.empty())
                entry.resource_claim_template_name = template_name;
            else
                entry.resource_claim_name = claim;
        }));
        pass(1s);
        return stored;
    }
    /// Bound without a scheduler.
    Pod put_bound_pod(const std::string& name, const std::string& claim) {
        Pod stored = api.put(object<Pod>(name, [&](Pod& pod) {
            pod.spec.node_name = "n";
            auto& entry = pod.spec.resource_claims.emplace_back();
            entry.name = "dev";
            entry.resource_claim_name = claim;
        }));
        pass(1s);
        return stored;
    }
    /// As the scheduler leaves it.
    void allocate(const std::string& claim, const std::vector<Pod>& pods) {
        api.change<ResourceClaim>({"ns", claim}, [&](ResourceClaim& changed) {
            changed.metadata.finalizers = {Finalizer};
            changed.status.allocation.emplace();
            for (const Pod& pod : pods)
                changed.status.reserved_for.push_back({.resource = "pods", .name = pod.metadata.name, .uid = pod.metadata.uid});
        });
        pass(1s);
    }
    std::vector<ResourceClaim> claims() { return api.list<ResourceClaim>("ns"); }
};

TEST_F(ResourceClaims, AreMadeOfTemplatesAndNamedInThePodsStatus) {
    const Pod pod = put_pod("p", "gpu");
    ASSERT_EQ(claims().size(), 1u);
    const ResourceClaim claim = claims().front();
    EXPECT_TRUE(claim.metadata.name.starts_with("p-dev-")) << claim.metadata.name;
    EXPECT_EQ(claim.metadata.labels.at("team"), "a");
    EXPECT_EQ(claim.metadata.annotations.at("resource.kubernetes.io/pod-claim-name"), "dev");
    EXPECT_TRUE(objects::is_controlled_by(claim.metadata, pod.metadata.uid));
    EXPECT_EQ(claim.spec.devices.requests.at(0).name, "r");
    const auto statuses = api.find<Pod>({"ns", "p"})->status.resource_claim_statuses;
    ASSERT_EQ(statuses.size(), 1u);
    EXPECT_EQ(statuses[0].name, "dev");
    EXPECT_EQ(statuses[0].resource_claim_name, claim.metadata.name);
    pass(10min);
    EXPECT_EQ(claims().size(), 1u);
}

TEST_F(ResourceClaims, ThatWereMadeByAPredecessorAreFound) {
    const Pod pod = put_pod("p", "gpu");
    crash();
    api.change<Pod>({"ns", "p"}, [](Pod& changed) { changed.status.resource_claim_statuses.clear(); });
    run<ResourceClaimController>();
    pass(1s);
    EXPECT_EQ(claims().size(), 1u);
    EXPECT_EQ(api.find<Pod>({"ns", "p"})->status.resource_claim_statuses.size(), 1u);
}

TEST_F(ResourceClaims, OfAnotherNamespaceAreNotThePods) {
    const Pod pod = put_pod("p", "later");
    api.put(object<ResourceClaim>("foreign", [&](ResourceClaim& claim) {
        claim.metadata.namespace_ = "other";
        claim.metadata.annotations["resource.kubernetes.io/pod-claim-name"] = "dev";
        claim.metadata.owner_references = {objects::controller_reference(pod)};
    }));
    pass(1s);
    api.change<Pod>({"ns", "p"}, [](Pod& changed) { changed.metadata.labels["a"] = "b"; });
    pass(1min);
    EXPECT_TRUE(api.find<Pod>({"ns", "p"})->status.resource_claim_statuses.empty());
}

TEST_F(ResourceClaims, WaitForTheirTemplate) {
    put_pod("p", "later");
    EXPECT_TRUE(
        has_event("FailedResourceClaimCreation: PodResourceClaim dev: resource claim template \"later\": "
                  "resourceclaimtemplate.resource.k8s.io \"later\" not found"));
    EXPECT_TRUE(claims().empty());
    api.put(object<ResourceClaimTemplate>("later", [](ResourceClaimTemplate&) {}));
    pass(1s);
    EXPECT_EQ(claims().size(), 1u);
}

TEST_F(ResourceClaims, ThatWereDeletedAreMadeAgain) {
    put_pod("p", "gpu");
    api.erase<ResourceClaim>({"ns", claims().front().metadata.name});
    pass(1s);
    EXPECT_EQ(claims().size(), 1u);
    EXPECT_EQ(api.find<Pod>({"ns", "p"})->status.resource_claim_statuses[0].resource_claim_name, claims().front().metadata.name);
}

TEST_F(ResourceClaims, AreFreedAndDeletedWhenTheirPodIsOver) {
    const Pod pod = put_pod("p", "gpu");
    allocate(claims().front().metadata.name, {pod});
    ASSERT_TRUE(claims().front().status.allocation);
    set_phase({"ns", "p"}, "Succeeded");
    pass(1s);
    EXPECT_TRUE(claims().empty());
}

TEST_F(ResourceClaims, OfSeveralPodsAreFreedWithTheLast) {
    api.put(object<ResourceClaim>("shared", [](ResourceClaim&) {}));
    const Pod one = put_pod("one", "", "shared"), two = put_pod("two", "", "shared");
    allocate("shared", {one, two});
    set_phase({"ns", "one"}, "Failed");
    pass(1s);
    ASSERT_EQ(claims().front().status.reserved_for.size(), 1u);
    EXPECT_EQ(claims().front().status.reserved_for[0].name, "two");
    EXPECT_TRUE(claims().front().status.allocation);
    api.erase<Pod>({"ns", "two"});
    pass(1s);
    ASSERT_EQ(claims().size(), 1u) << "it was not made for a pod";
    EXPECT_FALSE(claims().front().status.allocation);
    EXPECT_TRUE(claims().front().status.reserved_for.empty());
    EXPECT_TRUE(claims().front().metadata.finalizers.empty());
}

TEST_F(ResourceClaims, ForExtendedResourcesAreDeletedWhenTheirPodIsOver) {
    const Pod pod = api.put(object<Pod>("p", [](Pod& made) {
        made.spec.node_name = "n";
        made.status.extended_resource_claim_status.emplace().resource_claim_name = "p-extended-resources-x";
    }));
    api.put(object<ResourceClaim>("p-extended-resources-x",
                                  [&](ResourceClaim& claim) { claim.metadata.owner_references = {objects::controller_reference(pod)}; }));
    allocate("p-extended-resources-x", {pod});
    EXPECT_EQ(claims().size(), 1u);
    set_phase({"ns", "p"}, "Succeeded");
    pass(1s);
    EXPECT_TRUE(claims().empty());
}

TEST_F(ResourceClaims, KeepConsumersOfOtherKinds) {
    api.put(object<ResourceClaim>("shared", [](ResourceClaim& claim) {
        claim.status.allocation.emplace();
        claim.status.reserved_for.push_back({.api_group = "example.com", .resource = "jobs", .name = "j", .uid = "u"});
    }));
    pass(1min);
    EXPECT_EQ(claims().front().status.reserved_for.size(), 1u);
}

TEST_F(ResourceClaims, ThatNobodyUsesMayBeDeletedAlthoughAllocated) {
    api.put(object<ResourceClaim>("c", [](ResourceClaim&) {}));
    allocate("c", {});
    EXPECT_TRUE(claims().front().status.allocation) << "only the transition to unused frees it";
    api.remove<ResourceClaim>({"ns", "c"});
    pass(1s);
    EXPECT_TRUE(claims().empty());
}

TEST_F(ResourceClaims, AreReservedForPodsThatSomebodyElsePlaced) {
    api.put(object<ResourceClaim>("c", [](ResourceClaim& claim) {
        claim.metadata.finalizers = {Finalizer};
        claim.status.allocation.emplace();
    }));
    const Pod pod = put_bound_pod("p", "c");
    EXPECT_TRUE(objects::is_reserved_for(claims().front(), pod.metadata.uid));
}

TEST_F(ResourceClaims, AreReservedForNoMorePodsThanAClaimHolds) {
    api.put(object<ResourceClaim>("c", [](ResourceClaim&) {}));
    std::vector<Pod> others(256);
    for (std::size_t i = 0; i < others.size(); ++i) {
        others[i].metadata.name = "other-" + std::to_string(i);
        others[i].metadata.namespace_ = "ns";
        others[i] = api.put(others[i]);
    }
    allocate("c", others);
    const Pod pod = put_bound_pod("p", "c");
    EXPECT_FALSE(objects::is_reserved_for(claims().front(), pod.metadata.uid));
    EXPECT_EQ(claims().front().status.reserved_for.size(), 256u);
}

TEST(ResourceClaimNames, AreCutInProportion) {
    EXPECT_EQ(generated_claim_base("pod", "entry"), "pod-entry-");
    const std::string base = generated_claim_base(std::string(63, 'p'), std::string(21, 'e'));
    EXPECT_EQ(base, std::string(41, 'p') + "-" + std::string(13, 'e'));
}

}  // namespace
}  // namespace porthole::controllers
