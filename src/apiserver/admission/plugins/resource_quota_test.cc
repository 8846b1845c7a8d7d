#include <malloc.h>

#include "api/core_v1.h"
#include "api/resource_v1.h"
#include "apiserver/admission/admission_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

struct ResourceQuotaTest : AdmissionTest {
    void quota(std::map<std::string, std::string> hard, std::vector<std::string> scopes = {}) {
        ResourceQuota quota;
        quota.metadata.namespace_ = "ns";
        quota.metadata.name = "q";
        for (const auto& [resource, amount] : hard) quota.spec.hard[resource] = *Quantity::parse(amount);
        quota.spec.scopes = std::move(scopes);
        put(quota);
    }
    Pod pod(const std::string& name, const char* cpu = nullptr) {
        Pod made;
        made.metadata.namespace_ = "ns";
        made.metadata.name = name;
        auto& container = made.spec.containers.emplace_back();
        container.name = "main";
        if (cpu) container.resources.requests["cpu"] = *Quantity::parse(cpu);
        return made;
    }
    ConfigMap map(const std::string& name) {
        ConfigMap made;
        made.metadata.namespace_ = "ns";
        made.metadata.name = name;
        return made;
    }
    AdmissionPluginPtr plugin_ = make_resource_quota(given_);
};

TEST_F(ResourceQuotaTest, WithoutAQuotaEverythingPasses) { EXPECT_EQ(create(*plugin_, pod("a")), ""); }

TEST_F(ResourceQuotaTest, RefusesWhatWouldExceedTheQuotaInKubernetesWords) {
    quota({{"pods", "1"}, {"configmaps", "1"}});
    put(pod("a"));
    EXPECT_EQ(create(*plugin_, pod("b")), "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1");
    EXPECT_EQ(error_.reason, Reason::Forbidden);
    EXPECT_EQ(create(*plugin_, map("m")), "");
}

TEST_F(ResourceQuotaTest, AClaimMayComeIntoAQuotasScopeLater) {
    quota({{"persistentvolumeclaims", "1"}}, {"VolumeAttributesClass"});
    const auto claim = [](const char* name, std::optional<std::string> attributes) {
        PersistentVolumeClaim made;
        made.metadata.namespace_ = "ns";
        made.metadata.name = name;
        made.spec.volume_attributes_class_name = std::move(attributes);
        return made;
    };
    put(claim("a", "gold"));
    EXPECT_EQ(create(*plugin_, claim("b", std::nullopt)), "");
    const std::string refusal =
        "persistentvolumeclaims \"b\" is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1, used: "
        "persistentvolumeclaims=1, limited: persistentvolumeclaims=1";
    EXPECT_EQ(create(*plugin_, claim("b", "silver")), refusal);
    put(claim("b", std::nullopt));
    EXPECT_EQ(update(*plugin_, claim("b", std::nullopt), claim("b", "silver")), refusal);
    EXPECT_EQ(update(*plugin_, claim("a", "gold"), claim("a", "silver")), "") << "it is counted already";
}

TEST_F(ResourceQuotaTest, ClaimsCountByTheClassesOfTheirDevices) {
    using api::resource::v1::DeviceClass;
    using api::resource::v1::ExactDeviceRequest;
    using api::resource::v1::ResourceClaim;
    DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.spec.extended_resource_name = "example.com/gpu";
    put(gpu);
    const auto claim = [](const char* name, std::int64_t count) {
        ResourceClaim made;
        made.metadata.namespace_ = "ns";
        made.metadata.name = name;
        ExactDeviceRequest& exactly = made.spec.devices.requests.emplace_back().exactly.emplace();
        exactly.device_class_name = "gpu";
        exactly.allocation_mode = "ExactCount";
        exactly.count = count;
        return made;
    };
    quota({{"gpu.deviceclass.resource.k8s.io/devices", "3"}, {"requests.example.com/gpu", "4"}});
    put(claim("a", 2));
    EXPECT_EQ(create(*plugin_, claim("b", 2)),
              "resourceclaims.resource.k8s.io \"b\" is forbidden: exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io/devices=2, "
              "used: gpu.deviceclass.resource.k8s.io/devices=2, limited: gpu.deviceclass.resource.k8s.io/devices=3");
    EXPECT_EQ(create(*plugin_, claim("b", 1)), "");
    Pod wants = pod("p");
    wants.spec.containers[0].resources.requests["example.com/gpu"] = Quantity::from_value(2);
    EXPECT_EQ(
        create(*plugin_, wants),
        "pods \"p\" is forbidden: exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=3, limited: "
        "requests.example.com/gpu=4")
        << "claims and pods use it together, those too that are on their way";
}

TEST_F(ResourceQuotaTest, CountsEveryKindByName) {
    quota({{"count/configmaps", "1"}});
    put(map("a"));
    EXPECT_EQ(create(*plugin_, map("b")),
              "configmaps \"b\" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=1, "
              "limited: count/configmaps=1");
}

TEST_F(ResourceQuotaTest, WhatIsLimitedMustBeStated) {
    quota({{"cpu", "2"}, {"limits.memory", "1Gi"}});
    EXPECT_EQ(create(*plugin_, pod("a")), "pods \"a\" is forbidden: failed quota: q: must specify cpu for: main; limits.memory for: main");
}

TEST_F(ResourceQuotaTest, APodWithResourcesOfItsOwnNeedNotStateThoseOfItsContainers) {
    quota({{"cpu", "2"}});
    Pod whole = pod("a");
    whole.spec.resources.emplace().requests["cpu"] = *Quantity::parse("3");
    EXPECT_EQ(create(*plugin_, whole), "pods \"a\" is forbidden: exceeded quota: q, requested: cpu=3, used: cpu=0, limited: cpu=2");
    whole.spec.resources->requests["cpu"] = *Quantity::parse("2");
    EXPECT_EQ(create(*plugin_, whole), "");
}

TEST_F(ResourceQuotaTest, AmountsAddUpExactly) {
    quota({{"requests.cpu", "1"}});
    put(pod("a", "700m"));
    EXPECT_EQ(create(*plugin_, pod("b", "300m")), "");
    EXPECT_EQ(create(*plugin_, pod("c", "1m")),
              "pods \"c\" is forbidden: exceeded quota: q, requested: requests.cpu=1m, used: requests.cpu=1, limited: requests.cpu=1")
        << "the write before has passed and is on its way";
}

TEST_F(ResourceQuotaTest, AWriteThatWasNeverStoredIsForgotten) {
    quota({{"pods", "1"}});
    EXPECT_EQ(create(*plugin_, pod("a")), "");
    EXPECT_NE(create(*plugin_, pod("b")), "");
    loop_.advance(std::chrono::seconds(3));
    EXPECT_EQ(create(*plugin_, pod("b")), "");
}

TEST_F(ResourceQuotaTest, WhatNoQuotaLimitsIsNotKept) {
    quota({{"pods", "1"}});
    ConfigMap large = map("");
    large.data["a"] = std::string(10'000, 'a');
    const std::size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 1000; ++i) {
        large.metadata.name = "m" + std::to_string(i);
        EXPECT_EQ(create(*plugin_, large), "");
    }
    EXPECT_LT(mallinfo2().uordblks, before + 5'000'000);
}

TEST_F(ResourceQuotaTest, ScopesLeaveOtherPodsAlone) {
    quota({{"pods", "0"}}, {"BestEffort"});
    EXPECT_NE(create(*plugin_, pod("a")), "");
    EXPECT_EQ(create(*plugin_, pod("b", "1")), "");
    EXPECT_EQ(create(*plugin_, map("m")), "");
}

TEST_F(ResourceQuotaTest, AnUpdateCountsOnlyWhatItAdds) {
    quota({{"services.nodeports", "1"}});
    Service before;
    before.metadata.namespace_ = "ns";
    before.metadata.name = "s";
    before.spec.type = "NodePort";
    before.spec.ports.resize(1);
    put(before);
    Service after = before;
    after.metadata.labels["x"] = "y";
    EXPECT_EQ(update(*plugin_, before, after), "");
    after.spec.ports.resize(2);
    EXPECT_NE(update(*plugin_, before, after), "");
}

TEST_F(ResourceQuotaTest, UpdatesSideBySideDoNotOverrunAQuotaTogether) {
    quota({{"requests.cpu", "3"}});
    put(pod("a", "1"));
    put(pod("b", "1"));
    EXPECT_EQ(update(*plugin_, pod("a", "1"), pod("a", "2")), "");
    EXPECT_EQ(update(*plugin_, pod("a", "1"), pod("a", "2")), "") << "the same once more is no second one";
    EXPECT_EQ(update(*plugin_, pod("b", "1"), pod("b", "2")),
              "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=3, limited: requests.cpu=3");
    put(pod("a", "1"));  // another write came before
    EXPECT_EQ(update(*plugin_, pod("b", "1"), pod("b", "2")), "");
}

}  // namespace
}  // namespace porthole::apiserver
