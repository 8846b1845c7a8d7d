#include "objects/claim_usage.h"

#include <gtest/gtest.h>

#include <limits>

#include "objects/owners.h"

namespace porthole::objects {
namespace {

using namespace api::resource::v1;
using api::core::v1::Container;
using api::core::v1::Pod;

const std::string Devices = "gpu.deviceclass.resource.k8s.io/devices", Extended = "requests.example.com/gpu",
                  Implicit = "requests.deviceclass.resource.kubernetes.io/gpu";

struct ClaimUsageTest : testing::Test {
    ClaimUsageTest() {
        pod_.metadata.name = "p";
        pod_.metadata.uid = "u";
        Container& container = pod_.spec.containers.emplace_back();
        container.resources.requests["example.com/gpu"] = Quantity::from_value(2);
    }
    static ResourceClaim claim(const std::string& name, std::int64_t count, const std::string& mode = "ExactCount") {
        ResourceClaim made;
        made.metadata.name = name;
        ExactDeviceRequest& exactly = made.spec.devices.requests.emplace_back().exactly.emplace();
        exactly.device_class_name = "gpu";
        exactly.allocation_mode = mode;
        exactly.count = count;
        return made;
    }
    ResourceClaim of_pod(const std::string& name, std::int64_t count) const {
        ResourceClaim made = claim(name, count);
        made.metadata.annotations["resource.kubernetes.io/extended-resource-claim"] = "true";
        made.metadata.owner_references = {controller_reference(pod_)};
        return made;
    }
    std::string used(const ResourceClaim& claim, const std::string& resource, const ResourceClaim* other = nullptr) const {
        DeviceClass gpu;
        gpu.metadata.name = "gpu";
        gpu.spec.extended_resource_name = "example.com/gpu";
        ClaimUsage::Objects<ResourceClaim> claims;
        if (other) claims.push_back(std::make_shared<ResourceClaim>(*other));
        return amount_of(ClaimUsage({std::make_shared<DeviceClass>(gpu)}, {std::make_shared<Pod>(pod_)}, claims, {}).of(claim), resource)
            .to_string();
    }
    Pod pod_;
};

TEST_F(ClaimUsageTest, DevicesCountForTheirClassAndForTheExtendedResourceThatItOffers) {
    EXPECT_EQ(used(claim("c", 3), Devices), "3");
    EXPECT_EQ(used(claim("c", 3), Extended), "3");
    EXPECT_EQ(used(claim("c", 3), Implicit), "3");
    EXPECT_EQ(used(claim("c", 3), "count/resourceclaims.resource.k8s.io"), "1");
    EXPECT_EQ(used(claim("c", 0, "All"), Devices), "32") << "as many as a claim can have";
    EXPECT_EQ(used(claim("c", 3, "Newer"), Devices), "0");
}

TEST_F(ClaimUsageTest, HugeCountsAddUp) {
    ResourceClaim huge = claim("c", std::numeric_limits<std::int64_t>::max());
    huge.spec.devices.requests.push_back(huge.spec.devices.requests[0]);
    EXPECT_EQ(used(huge, Devices), "9223372036854775807") << "the largest that is written";
}

TEST_F(ClaimUsageTest, OfAlternativesTheLargestOfEachClassCounts) {
    ResourceClaim either = claim("c", 1);
    DeviceRequest& request = either.spec.devices.requests.emplace_back();
    for (const int count : {2, 4, 3}) {
        DeviceSubRequest& one = request.first_available.emplace_back();
        one.device_class_name = count == 4 ? "big" : "gpu";
        one.allocation_mode = "ExactCount";
        one.count = count;
    }
    EXPECT_EQ(used(either, Devices), "4") << "1 and 3";
    EXPECT_EQ(used(either, "big.deviceclass.resource.k8s.io/devices"), "4");
}

TEST_F(ClaimUsageTest, WhatThePodOfTheClaimAsksForIsNotCountedTwice) {
    EXPECT_EQ(used(of_pod("c", 3), Extended), "1") << "the pod counts 2";
    EXPECT_EQ(used(of_pod("c", 3), Devices), "3");
    EXPECT_EQ(used(of_pod("c", 2), Extended), "0");
    pod_.status.phase = "Succeeded";
    EXPECT_EQ(used(of_pod("c", 2), Extended), "2") << "a pod that has ended counts nothing";
}

TEST_F(ClaimUsageTest, OnlyOneClaimOfAPodIsSparedWhatThePodCounts) {
    const ResourceClaim first = of_pod("a", 2);
    EXPECT_EQ(used(of_pod("b", 2), Extended, &first), "2");
    EXPECT_EQ(used(first, Extended, &first), "0");
    pod_.status.extended_resource_claim_status.emplace().resource_claim_name = "b";
    EXPECT_EQ(used(of_pod("b", 2), Extended, &first), "0") << "the pod says which one is its own";
    EXPECT_EQ(used(first, Extended, &first), "2");
    ResourceClaim of_another = of_pod("b", 2);
    of_another.metadata.owner_references[0].uid = "other";
    EXPECT_EQ(used(of_another, Extended), "2");
}

}  // namespace
}  // namespace porthole::objects
