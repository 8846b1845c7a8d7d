#include "kubelet/pod_resources/pod_resources.h"

#include <gtest/gtest.h>

#include "schema/protobuf/protobuf.h"

namespace porthole::kubelet {
namespace {

namespace core = api::core::v1;
namespace told = api::podresources::v1;

core::Container container(const char* name) {
    core::Container made;
    made.name = name;
    return made;
}

/// "main: vendor.com/gpu=g0,g1 claim/d0(cdi-0)"
std::string text(const told::PodResources& resources) {
    std::string text;
    for (const told::ContainerResources& one : resources.containers) {
        text += (text.empty() ? "" : "; ") + one.name + ":";
        for (const auto& devices : one.devices) {
            text += " " + devices.resource_name;
            for (const std::string& id : devices.device_ids) text += (id == devices.device_ids.front() ? "=" : ",") + id;
        }
        for (const auto& claim : one.dynamic_resources)
            for (const auto& device : claim.claim_resources) {
                text += " " + claim.claim_name + "/" + device.driver_name + "/" + device.pool_name + "/" + device.device_name;
                for (const auto& cdi : device.cdi_devices) text += "(" + cdi.name + ")";
            }
    }
    return text;
}

TEST(PodResources, AreThoseOfContainersAndSidecars) {
    core::Pod pod;
    pod.metadata.name = "p";
    pod.metadata.namespace_ = "ns";
    pod.metadata.uid = "uid";
    pod.spec.init_containers = {container("init"), container("sidecar")};
    pod.spec.init_containers[1].restart_policy = "Always";
    pod.spec.containers = {container("main"), container("other")};
    pod.spec.resource_claims = {{.name = "dev", .resource_claim_name = "claim"}};
    pod.spec.containers[0].resources.claims = {{.name = "dev", .request = "r1"}};
    pod.spec.containers[1].resources.claims = {{.name = "dev"}, {.name = "unknown"}};
    DeviceAllocations allocations;
    allocations["uid"]["init"]["vendor.com/gpu"].ids = {"g0"};
    allocations["uid"]["sidecar"]["vendor.com/gpu"].ids = {"g1"};
    allocations["uid"]["main"]["vendor.com/gpu"].ids = {"g0", "g2"};
    allocations["other"]["main"]["vendor.com/gpu"].ids = {"g3"};
    PreparedClaims claims;
    claims["1"] = {.namespace_ = "ns", .name = "claim", .uid = "1"};
    claims["1"].drivers["d.com"] = {{.pool = "p", .device = "d0", .requests = {"r0"}, .cdi_ids = {"c0"}},
                                    {.pool = "p", .device = "d1", .requests = {"r1"}, .cdi_ids = {}}};
    claims["2"] = {.namespace_ = "elsewhere", .name = "claim", .uid = "2"};
    const told::PodResources resources = pod_resources(pod, allocations, claims);
    EXPECT_EQ(resources.name + " " + resources.namespace_, "p ns");
    EXPECT_EQ(text(resources),
              "sidecar: vendor.com/gpu=g1; main: vendor.com/gpu=g0,g2 claim/d.com/p/d1; other: claim/d.com/p/d0(c0) claim/d.com/p/d1");
}

TEST(PodResources, HaveTheDevicesThatAreExtendedResources) {
    core::Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.spec.containers = {container("main"), container("other")};
    pod.status.extended_resource_claim_status.emplace();
    pod.status.extended_resource_claim_status->resource_claim_name = "made";
    pod.status.extended_resource_claim_status->request_mappings = {
        {.container_name = "main", .resource_name = "d.com/gpu", .request_name = "r0"}};
    PreparedClaims claims;
    claims["1"] = {.namespace_ = "ns", .name = "made", .uid = "1"};
    claims["1"].drivers["d.com"] = {{.pool = "p", .device = "d0", .requests = {"r0"}, .cdi_ids = {}}};
    EXPECT_EQ(text(pod_resources(pod, {}, claims)), "main: made/d.com/p/d0; other:");
}

TEST(PodResources, DevicesThatManyContainersShareEndBeforeTheAnswerIsTooLarge) {
    core::Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.spec.resource_claims = {{.name = "dev", .resource_claim_name = "claim"}};
    pod.status.extended_resource_claim_status.emplace();
    pod.status.extended_resource_claim_status->resource_claim_name = "claim";
    for (int i = 0; i < 2000; ++i) {
        core::Container& one = pod.spec.containers.emplace_back(container(("c" + std::to_string(i)).c_str()));
        one.resources.claims = {{.name = "dev"}};
        pod.status.extended_resource_claim_status->request_mappings.push_back(
            {.container_name = one.name, .resource_name = "d.com/gpu", .request_name = "r"});
    }
    PreparedClaims claims;
    claims["1"] = {.namespace_ = "ns", .name = "claim", .uid = "1"};
    for (int i = 0; i < 32; ++i) claims["1"].drivers["d.com"].push_back({.pool = "p", .device = "d" + std::to_string(i), .cdi_ids = {"c"}});
    const told::PodResources resources = pod_resources(pod, {}, claims);
    EXPECT_EQ(resources.containers.size(), 2000u);
    EXPECT_EQ(resources.containers.front().dynamic_resources.at(0).claim_resources.size(), 32u);
    const std::size_t bytes = schema::encode_protobuf(resources).size();
    EXPECT_GT(bytes, 50'000u);
    EXPECT_LT(bytes, 200'000u);
}

TEST(PodResources, AllocatableDevicesAreGroupedByResource) {
    const auto response = allocatable_resources({{"a.com/x", {"1", "2"}}, {"b.com/y", {}}});
    ASSERT_EQ(response.devices.size(), 2u);
    EXPECT_EQ(response.devices[0].resource_name, "a.com/x");
    EXPECT_EQ(response.devices[0].device_ids, (std::vector<std::string>{"1", "2"}));
}

}  // namespace
}  // namespace porthole::kubelet
