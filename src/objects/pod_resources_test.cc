#include "objects/pod_resources.h"

#include <gtest/gtest.h>

namespace porthole::objects {
namespace {

using api::core::v1::Container;
using api::core::v1::PodSpec;

ResourceList amounts(std::initializer_list<std::pair<const char*, const char*>> list) {
    ResourceList made;
    for (const auto& [name, amount] : list) made[name] = Quantity::parse(amount).value();
    return made;
}

Container asking(ResourceList requests, ResourceList limits = {}, bool sidecar = false) {
    Container container;
    container.resources.requests = std::move(requests);
    container.resources.limits = std::move(limits);
    if (sidecar) container.restart_policy = "Always";
    return container;
}

TEST(PodResources, AddsUpContainersAndSidecars) {
    PodSpec spec;
    spec.containers = {asking(amounts({{"cpu", "100m"}})), asking(amounts({{"cpu", "200m"}, {"memory", "1Gi"}}))};
    spec.init_containers = {asking(amounts({{"cpu", "50m"}}), {}, true)};
    EXPECT_EQ(pod_requests(spec), amounts({{"cpu", "350m"}, {"memory", "1Gi"}}));
}

TEST(PodResources, AnInitContainerNeedsItsShareBesideTheSidecarsBeforeIt) {
    PodSpec spec;
    spec.containers = {asking(amounts({{"cpu", "100m"}}))};
    spec.init_containers = {asking(amounts({{"cpu", "1"}}), {}, true), asking(amounts({{"cpu", "2"}})),
                            asking(amounts({{"cpu", "1"}}), {}, true)};
    EXPECT_EQ(pod_requests(spec), amounts({{"cpu", "3"}}));
}

TEST(PodResources, InitContainersNextToSidecarsWithManyResourcesTakeLinearTime) {
    Container sidecar = asking({}, {}, true);
    for (int i = 0; i < 20'000; ++i) sidecar.resources.requests["a.test/" + std::to_string(i)] = Quantity::from_value(1);
    PodSpec spec;
    spec.init_containers.assign(20'000, asking(amounts({{"cpu", "1"}, {"a.test/7", "2"}})));
    spec.init_containers.insert(spec.init_containers.begin(), sidecar);
    const ResourceList sum = pod_requests(spec);
    EXPECT_EQ(sum.size(), 20'001u);
    EXPECT_EQ(sum.at("cpu"), Quantity::from_value(1));
    EXPECT_EQ(sum.at("a.test/7"), Quantity::from_value(3));
    EXPECT_EQ(sum.at("a.test/8"), Quantity::from_value(1));
}

TEST(PodResources, WhatThePodStatesTakesThePlaceOfTheSums) {
    PodSpec spec;
    spec.containers = {asking(amounts({{"cpu", "3"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}}))};
    spec.resources.emplace().requests = amounts({{"cpu", "1"}, {"hugepages-2Mi", "4Mi"}, {"example.com/gpu", "7"}});
    EXPECT_EQ(pod_requests(spec), amounts({{"cpu", "1"}, {"memory", "1Gi"}, {"hugepages-2Mi", "4Mi"}, {"example.com/gpu", "1"}}));
}

TEST(PodResources, OverheadIsAddedToRequestsAndToWhatHasALimit) {
    PodSpec spec;
    spec.containers = {asking(amounts({{"cpu", "1"}}), amounts({{"cpu", "2"}}))};
    spec.overhead = amounts({{"cpu", "10m"}, {"memory", "8Mi"}});
    EXPECT_EQ(pod_requests(spec), amounts({{"cpu", "1010m"}, {"memory", "8Mi"}}));
    EXPECT_EQ(pod_limits(spec), amounts({{"cpu", "2010m"}}));
    EXPECT_EQ(pod_requests(spec, Overhead::Excluded), amounts({{"cpu", "1"}}));
    EXPECT_EQ(pod_limits(spec, Overhead::Excluded), amounts({{"cpu", "2"}}));
}

TEST(PodResources, QosClassIsThatOfTheContainers) {
    const ResourceList both = amounts({{"cpu", "1"}, {"memory", "1Gi"}});
    PodSpec spec;
    spec.containers = {asking({}), asking({})};
    EXPECT_EQ(qos_class(spec), "BestEffort");
    spec.containers = {asking(both, both), asking({}, both)};
    EXPECT_EQ(qos_class(spec), "Guaranteed");
    spec.init_containers = {asking(amounts({{"cpu", "1"}}))};
    EXPECT_EQ(qos_class(spec), "Burstable");
    spec.init_containers = {asking(amounts({{"cpu", "0"}}))};
    EXPECT_EQ(qos_class(spec), "Burstable");
}

TEST(PodResources, QosClassIsThatOfThePodWhereItStatesAny) {
    const ResourceList both = amounts({{"cpu", "1"}, {"memory", "1Gi"}});
    PodSpec spec;
    spec.containers = {asking({})};
    spec.resources.emplace();
    EXPECT_EQ(qos_class(spec), "BestEffort");
    spec.resources->requests = amounts({{"cpu", "1"}});
    EXPECT_EQ(qos_class(spec), "Burstable");
    spec.resources->requests = spec.resources->limits = both;
    EXPECT_EQ(qos_class(spec), "Guaranteed");
}

}  // namespace
}  // namespace porthole::objects
