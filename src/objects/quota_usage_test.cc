#include "objects/quota_usage.h"

#include <gtest/gtest.h>

#include "schema/random_object.h"

namespace porthole::objects {
namespace {

using namespace api::core::v1;

Quantity quantity(const char* text) { return *Quantity::parse(text); }

Container container(const char* cpu_request, const char* cpu_limit = nullptr) {
    Container made;
    if (cpu_request) made.resources.requests["cpu"] = quantity(cpu_request);
    if (cpu_limit) made.resources.limits["cpu"] = quantity(cpu_limit);
    return made;
}

TEST(QuotaUsage, APodUsesWhatItsContainersAskForTogetherOrItsLargestInitContainer) {
    Pod pod;
    pod.spec.containers = {container("100m", "1"), container("200m")};
    pod.spec.init_containers = {container("50m")};
    auto usage = usage_of(pod, {});
    EXPECT_EQ(usage.at("requests.cpu").to_string(), "300m");
    EXPECT_EQ(usage.at("cpu").to_string(), "300m");
    EXPECT_EQ(usage.at("limits.cpu").to_string(), "1");
    EXPECT_EQ(usage.at("pods").to_string(), "1");
    pod.spec.init_containers.push_back(container("2"));
    EXPECT_EQ(usage_of(pod, {}).at("cpu").to_string(), "2");
    Container sidecar = container("100m");
    sidecar.restart_policy = "Always";
    pod.spec.init_containers = {sidecar, container("250m")};
    EXPECT_EQ(usage_of(pod, {}).at("cpu").to_string(), "400m") << "a sidecar runs beside the containers";
}

TEST(QuotaUsage, APodUsesWhatItStatesForItself) {
    Pod pod;
    pod.spec.containers = {container("100m", "1")};
    pod.spec.resources.emplace().requests["cpu"] = quantity("2");
    pod.spec.resources->limits["cpu"] = quantity("3");
    const auto usage = usage_of(pod, {});
    EXPECT_EQ(usage.at("cpu").to_string(), "2");
    EXPECT_EQ(usage.at("limits.cpu").to_string(), "3");
}

TEST(QuotaUsage, AnEndedPodIsCountedOnlyAsAnObject) {
    Pod pod;
    pod.spec.containers = {container("1")};
    pod.status.phase = "Succeeded";
    EXPECT_EQ(usage_of(pod, {}).size(), 1u);
    EXPECT_TRUE(usage_of(pod, {}).contains("count/pods"));
}

TEST(QuotaUsage, APartOfAPodCountsAsThePod) {
    const SystemTime now{std::chrono::hours(24 * 365 * 50)};
    int ended = 0, crossing = 0;
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        auto made = schema::RandomObject(seed).make(Pod::schema_type());
        Pod& pod = *static_cast<Pod*>(made.get());
        if (seed % 3 == 0) pod.status.phase = "Succeeded";
        if (seed % 4 == 0 && !pod.spec.containers.empty()) pod.spec.containers[0].resources.requests["cpu"] = quantity("100m");
        if (seed % 5 == 0 && !pod.spec.init_containers.empty()) pod.spec.init_containers[0].restart_policy = "Always";
        const Pod part = quota_part(pod);
        EXPECT_EQ(usage_of(part, now), usage_of(pod, now));
        for (const char* scope :
             {"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity", "PriorityClass"}) {
            ResourceQuotaSpec quota;
            quota.scopes = {scope};
            EXPECT_EQ(covers(quota, part), covers(quota, pod)) << scope;
            crossing += quota.scopes[0] == "CrossNamespacePodAffinity" && covers(quota, pod);
        }
        ended += usage_of(pod, now).size() == 1;
    }
    EXPECT_GT(ended, 0);
    EXPECT_GT(crossing, 0) << "the objects are as different as they should be";
}

TEST(QuotaUsage, ServicesAndClaimsByWhatTheyTake) {
    Service service;
    service.spec.type = "LoadBalancer";
    service.spec.ports.resize(2);
    EXPECT_EQ(usage_of(service).at("services.loadbalancers").to_string(), "1");
    EXPECT_EQ(usage_of(service).at("services.nodeports").to_string(), "2");
    service.spec.type = "ClusterIP";
    EXPECT_FALSE(usage_of(service).contains("services.nodeports"));
    PersistentVolumeClaim claim;
    claim.spec.storage_class_name = "fast";
    claim.spec.resources.requests["storage"] = quantity("5Gi");
    EXPECT_EQ(usage_of(claim).at("requests.storage").to_string(), "5Gi");
    EXPECT_EQ(usage_of(claim).at("fast.storageclass.storage.k8s.io/requests.storage").to_string(), "5Gi");
}

TEST(QuotaUsage, ScopesChoosePods) {
    Pod best_effort, burstable;
    best_effort.spec.containers.resize(1);
    burstable.spec.containers = {container("1")};
    burstable.spec.priority_class_name = "high";
    burstable.spec.active_deadline_seconds = 5;
    const auto scoped = [](const char* scope) {
        ResourceQuotaSpec quota;
        quota.scopes = {scope};
        return quota;
    };
    EXPECT_TRUE(covers(scoped("BestEffort"), best_effort));
    EXPECT_FALSE(covers(scoped("BestEffort"), burstable));
    EXPECT_TRUE(covers(scoped("NotBestEffort"), burstable));
    EXPECT_TRUE(covers(scoped("Terminating"), burstable));
    EXPECT_TRUE(covers(scoped("NotTerminating"), best_effort));
    ResourceQuotaSpec by_class;
    by_class.scope_selector.emplace().match_expressions.push_back({.scope_name = "PriorityClass", .operator_ = "In", .values = {"high"}});
    EXPECT_TRUE(covers(by_class, burstable));
    EXPECT_FALSE(covers(by_class, best_effort));
    EXPECT_TRUE(covers({}, best_effort));
    best_effort.spec.resources.emplace().requests["cpu"] = quantity("1");
    EXPECT_FALSE(covers(scoped("BestEffort"), best_effort)) << "its own requests count";
}

TEST(QuotaUsage, ScopesOfClaimsAreTheirAttributes) {
    PersistentVolumeClaim plain, tuned, changing;
    tuned.spec.volume_attributes_class_name = "gold";
    changing.spec.volume_attributes_class_name = "gold";
    changing.status.current_volume_attributes_class_name = "silver";
    ResourceQuotaSpec any, gold, silver, not_gold, pods;
    any.scopes = {"VolumeAttributesClass"};
    pods.scopes = {"BestEffort"};
    const auto select = [](ResourceQuotaSpec& quota, const char* operation, const char* name) {
        quota.scope_selector.emplace().match_expressions.push_back(
            {.scope_name = "VolumeAttributesClass", .operator_ = operation, .values = {name}});
    };
    select(gold, "In", "gold");
    select(silver, "In", "silver");
    select(not_gold, "NotIn", "gold");
    EXPECT_TRUE(covers(ResourceQuotaSpec(), plain));
    EXPECT_FALSE(covers(any, plain));
    EXPECT_TRUE(covers(any, tuned));
    EXPECT_TRUE(covers(gold, tuned));
    EXPECT_FALSE(covers(silver, tuned));
    EXPECT_TRUE(covers(silver, changing)) << "it still has them";
    EXPECT_TRUE(covers(not_gold, plain));
    EXPECT_FALSE(covers(pods, tuned)) << "a scope of pods";
}

TEST(QuotaUsage, AClaimUsesWhatIsAllocatedForIt) {
    PersistentVolumeClaim claim;
    claim.spec.resources.requests["storage"] = *Quantity::parse("1Gi");
    claim.status.allocated_resources["storage"] = *Quantity::parse("3Gi");
    EXPECT_EQ(usage_of(claim).at("requests.storage"), *Quantity::parse("3Gi"));
}

}  // namespace
}  // namespace porthole::objects
