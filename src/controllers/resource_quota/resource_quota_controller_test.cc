#include "api/core_v1.h"
#include "api/resource_v1.h"
#include "controllers/framework/sim/sim_world.h"
#include "controllers/resource_quota/resource_quota.h"
#include "schema/json/json.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

const client::NamespacedName Key{"ns", "q"};

struct ResourceQuotaTest : SimWorld {
    void quota(std::map<std::string, std::string> hard) {
        ResourceQuota quota;
        quota.metadata.namespace_ = "ns";
        quota.metadata.name = "q";
        for (const auto& [resource, amount] : hard) quota.spec.hard[resource] = *Quantity::parse(amount);
        api.put(quota);
    }
    void pod(const std::string& name, const char* cpu) {
        Pod pod;
        pod.metadata.namespace_ = "ns";
        pod.metadata.name = name;
        pod.spec.containers.emplace_back().resources.requests["cpu"] = *Quantity::parse(cpu);
        api.put(pod);
        pass(1s);
    }
    std::string used(const std::string& resource) { return api.find<ResourceQuota>(Key)->status.used.at(resource).to_string(); }
};

TEST_F(ResourceQuotaTest, FollowsPodsAsTheyComeEndAndGo) {
    quota({{"pods", "5"}, {"requests.cpu", "2"}});
    run<ResourceQuotaController>();
    EXPECT_EQ(used("pods"), "0");
    EXPECT_EQ(api.find<ResourceQuota>(Key)->status.hard.at("pods").to_string(), "5");
    pod("a", "500m");
    pod("b", "250m");
    EXPECT_EQ(used("pods"), "2");
    EXPECT_EQ(used("requests.cpu"), "750m");
    set_phase({"ns", "a"}, "Succeeded");
    pass(1s);
    EXPECT_EQ(used("pods"), "1");
    api.erase<Pod>({"ns", "b"});
    pass(1s);
    EXPECT_EQ(used("requests.cpu"), "0");
}

TEST_F(ResourceQuotaTest, CountsPodsOfATemplateWithoutReadingEach) {
    for (int i = 0; i < 40; ++i) pod("p" + std::to_string(i), "100m");
    quota({{"pods", "100"}, {"requests.cpu", "10"}});
    run<ResourceQuotaController>();
    EXPECT_EQ(used("requests.cpu"), "4");
    const auto before = shared_objects.times_unpacked();
    pod("other", "50m");
    EXPECT_EQ(used("requests.cpu"), "4050m");
    EXPECT_EQ(used("pods"), "41");
    EXPECT_LT(shared_objects.times_unpacked() - before, 10u);
}

TEST_F(ResourceQuotaTest, CountsCustomResources) {
    int things = 2;
    bool tells_rest = true;
    api.set_answer([&](const client::ApiRequest& request) -> std::optional<schema::Value> {
        if (request.path == "/apis/example.com") return schema::parse_json(R"({"preferredVersion":{"version":"v1"}})").value();
        if (request.path != "/apis/example.com/v1/namespaces/ns/things") return std::nullopt;
        auto list = schema::parse_json(R"({"metadata":{},"items":[]})").value();
        const int shown = request.query == "limit=1" ? 1 : things;
        for (int i = 0; i < shown; ++i) list.find("items")->as_array().push_back(schema::parse_json(R"({"metadata":{}})").value());
        if (shown < things) list.ensure_path({"metadata", "continue"}) = "next";
        if (shown < things && tells_rest) list.ensure_path({"metadata", "remainingItemCount"}) = things - shown;
        return list;
    });
    quota({{"count/things.example.com", "5"}, {"count/others.example.com", "5"}});
    run<ResourceQuotaController>();
    EXPECT_EQ(used("count/things.example.com"), "2");
    EXPECT_EQ(used("count/others.example.com"), "0");
    things = 3;
    tells_rest = false;
    pass(1min);
    EXPECT_EQ(used("count/things.example.com"), "3");
    api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.path.ends_with("/things")) return Error(Reason::ServiceUnavailable, "no answer");
        return std::nullopt;
    });
    pass(1min);
    EXPECT_EQ(used("count/things.example.com"), "3") << "as far as is known";
}

TEST_F(ResourceQuotaTest, CountsKindsByNameFromTheMomentTheyAreLimited) {
    quota({{"pods", "5"}});
    run<ResourceQuotaController>();
    ConfigMap map;
    map.metadata.namespace_ = "ns";
    map.metadata.name = "m";
    api.put(map);
    quota({{"configmaps", "5"}, {"count/deployments.apps", "5"}, {"count/things.example.com", "1"}});
    pass(1s);
    EXPECT_EQ(used("configmaps"), "1");
    EXPECT_EQ(used("count/deployments.apps"), "0");
    EXPECT_EQ(used("count/things.example.com"), "0");
    api.erase<ConfigMap>({"ns", "m"});
    pass(1s);
    EXPECT_EQ(used("configmaps"), "0");
}

TEST_F(ResourceQuotaTest, CountsDevicesOfClaimsAndFollowsTheirClasses) {
    using api::resource::v1::DeviceClass;
    using api::resource::v1::ExactDeviceRequest;
    using api::resource::v1::ResourceClaim;
    quota({{"count/resourceclaims.resource.k8s.io", "5"},
           {"gpu.deviceclass.resource.k8s.io/devices", "5"},
           {"requests.example.com/gpu", "5"}});
    run<ResourceQuotaController>();
    ResourceClaim claim;
    claim.metadata.namespace_ = "ns";
    claim.metadata.name = "c";
    ExactDeviceRequest& exactly = claim.spec.devices.requests.emplace_back().exactly.emplace();
    exactly.device_class_name = "gpu";
    exactly.allocation_mode = "ExactCount";
    exactly.count = 2;
    api.put(claim);
    pass(1s);
    EXPECT_EQ(used("count/resourceclaims.resource.k8s.io"), "1");
    EXPECT_EQ(used("gpu.deviceclass.resource.k8s.io/devices"), "2");
    EXPECT_EQ(used("requests.example.com/gpu"), "0");
    DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.spec.extended_resource_name = "example.com/gpu";
    api.put(gpu);
    pass(1s);
    EXPECT_EQ(used("requests.example.com/gpu"), "2");
    api.erase<ResourceClaim>({"ns", "c"});
    pass(1s);
    EXPECT_EQ(used("requests.example.com/gpu"), "0");
}

TEST_F(ResourceQuotaTest, ANewLimitIsSeenAtOnce) {
    quota({{"pods", "5"}});
    run<ResourceQuotaController>();
    api.change<ResourceQuota>(Key, [](ResourceQuota& quota) { quota.spec.hard["pods"] = Quantity::from_value(7); });
    pass(1s);
    EXPECT_EQ(api.find<ResourceQuota>(Key)->status.hard.at("pods").to_string(), "7");
}

}  // namespace
}  // namespace porthole::controllers
