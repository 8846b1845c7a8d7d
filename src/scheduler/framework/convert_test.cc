#include "scheduler/framework/convert.h"

#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::scheduler {
namespace {

PodInfo read(const char* json) { return pod_info(schema::decode_json<api::core::v1::Pod>(json).value()); }

TEST(PodInfo, AsksForTheMostThatIsInUseAtATime) {
    struct {
        const char *name, *json;
        std::int64_t milli_cpu, memory;
    } const rows[] = {
        {"containers add up", R"({"spec": {"containers": [{"resources": {"requests": {"cpu": "300m", "memory": "1Gi"}}},
                                                          {"resources": {"requests": {"cpu": "1"}}}]}})",
         1300, 1 << 30},
        {"the largest init container", R"({"spec": {"containers": [{"resources": {"requests": {"cpu": "300m"}}}],
            "initContainers": [{"resources": {"requests": {"cpu": "900m"}}}, {"resources": {"requests": {"cpu": "500m"}}}]}})",
         900, 0},
        {"side-cars run beside all", R"({"spec": {"containers": [{"resources": {"requests": {"cpu": "300m"}}}],
            "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
                               {"resources": {"requests": {"cpu": "900m"}}}]}})",
         1000, 0},
        {"overhead comes on top", R"({"spec": {"overhead": {"cpu": "10m", "memory": "1Mi"},
                                               "containers": [{"resources": {"requests": {"cpu": "300m"}}}]}})",
         310, 1 << 20},
        {"the pod's own requests count instead", R"({"spec": {"resources": {"requests": {"cpu": "2"}},
            "containers": [{"resources": {"requests": {"cpu": "300m", "memory": "1Mi"}}}]}})",
         2000, 1 << 20},
        {"a resize holds the larger", R"({"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "100m"}}}]},
            "status": {"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "400m"}}]}})",
         400, 0},
        {"a resize that the node can never do holds nothing",
         R"({"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "9"}}}]}, "status": {
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
            "containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "400m"}, "resources": {"requests": {"cpu": "500m"}}}]}})",
         500, 0},
        {"a resize of the pod as a whole, too", R"({"spec": {"resources": {"requests": {"cpu": "1"}}, "containers": [{"name": "a"}]},
            "status": {"allocatedResources": {"cpu": "3", "memory": "1Mi"}, "resources": {"requests": {"cpu": "2"}}}})",
         3000, 0},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const PodInfo info = read(row.json);
        EXPECT_EQ(info.requests.milli_cpu, row.milli_cpu);
        EXPECT_EQ(info.requests.memory, row.memory);
    }
}

TEST(PodInfo, SumsOfWhatPodsAskForDoNotOverflow) {
    const PodInfo info = read(R"({"spec": {"containers": [{"resources": {"requests": {"memory": "9223372036854775807"}}},
                                                          {"resources": {"requests": {"memory": "9223372036854775807"}}}]}})");
    Resources node;
    for (int i = 0; i < 1000; ++i) {
        node += info.requests;
        EXPECT_GE(node.memory, info.requests.memory);
    }
    EXPECT_GT(info.requests.memory, 1LL << 47);
}

TEST(PodInfo, OnlyCpuMemoryAndHugePagesAreStatedForThePodAsAWhole) {
    const PodInfo info = read(R"({"spec": {"resources": {"requests": {"hugepages-2Mi": "4Mi", "example.com/gpu": "7"}},
        "containers": [{"resources": {"requests": {"hugepages-2Mi": "2Mi", "example.com/gpu": "1"}}}]}})");
    EXPECT_EQ(info.requests.extended_amount("hugepages-2Mi"), 4 << 20);
    EXPECT_EQ(info.requests.extended_amount("example.com/gpu"), 1);
}

TEST(PodInfo, AnUnknownOperatorHoldsForNoNode) {
    const PodInfo info = read(R"({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Like", "values": ["a"]}]}]}}}}})");
    EXPECT_FALSE(info.accepts_node({{"zone", "a"}}, "n"));
    EXPECT_FALSE(info.accepts_node({}, "n"));
}

TEST(PodInfo, TolerationsOfAnUnknownOperatorOrEffectCoverNoTaint) {
    const PodInfo info = read(R"({"spec": {"tolerations": [{"key": "a", "operator": "Gt", "value": "1"},
                                                           {"key": "a", "operator": "Exists", "effect": "NoAdmit"}]}})");
    EXPECT_TRUE(info.tolerations.empty());
}

TEST(PodInfo, TolerationsCoverTaintsAsUpstreamDoes) {
    const Taint taint{.key = "dedicated", .value = "db", .effect = TaintEffect::NoSchedule};
    EXPECT_TRUE((Toleration{.key = "dedicated", .value = "db"}).tolerates(taint));
    EXPECT_TRUE((Toleration{.value = "db"}).tolerates(taint)) << "an empty key covers every key";
    EXPECT_TRUE((Toleration{.exists = true}).tolerates(taint));
    EXPECT_FALSE((Toleration{.value = "web"}).tolerates(taint));
    EXPECT_FALSE((Toleration{.exists = true, .effect = TaintEffect::NoExecute}).tolerates(taint));
}

TEST(PodInfo, ScoresContainersWithoutRequestsByAStandIn) {
    const PodInfo info = read(R"({"spec": {"containers": [{}, {"resources": {"requests": {"cpu": "1"}}}]}})");
    EXPECT_EQ(info.requests.milli_cpu, 1000);
    EXPECT_EQ(info.scored_milli_cpu, 1100);
    EXPECT_EQ(info.scored_memory, 400LL << 20);
}

TEST(PodInfo, ReadsPortsImagesAndAffinity) {
    const PodInfo info = read(R"({"metadata": {"namespace": "ns", "labels": {"app": "a", "v": "1"}}, "spec": {
        "containers": [{"image": "reg:5000/x", "ports": [{"containerPort": 80}, {"containerPort": 90, "hostPort": 9000, "protocol": "UDP"}]},
                       {"image": "y:2"}],
        "volumes": [{"name": "v", "image": {"reference": "z"}}],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 7, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}}]}},
        "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "a"}}, "matchLabelKeys": ["v", "absent"]}]}})");
    EXPECT_EQ(info.host_ports, (std::vector<HostPort>{{"0.0.0.0", "UDP", 9000}}));
    EXPECT_EQ(info.images, (std::vector<std::string>{"reg:5000/x:latest", "y:2", "z:latest"}));
    ASSERT_EQ(info.preferred_affinity.size(), 1u);
    EXPECT_EQ(info.preferred_affinity[0].weight, -7);
    EXPECT_EQ(info.preferred_affinity[0].namespaces, std::set<std::string>{"ns"});
    ASSERT_EQ(info.spread_constraints.size(), 1u);
    EXPECT_FALSE(info.spread_constraints[0].required);
    EXPECT_TRUE(info.spread_constraints[0].selector.matches({{"app", "a"}, {"v", "1"}}));
    EXPECT_FALSE(info.spread_constraints[0].selector.matches({{"app", "a"}, {"v", "2"}}));
}

TEST(PodInfo, OnANodeItKeepsWhatMattersToOtherPods) {
    PodInfo info = read(R"({"metadata": {"namespace": "ns", "labels": {"app": "a"}}, "spec": {"nodeName": "n", "nodeSelector": {"a": "b"},
        "tolerations": [{"operator": "Exists"}], "schedulingGates": [{"name": "g"}],
        "containers": [{"image": "x", "ports": [{"hostPort": 1}], "resources": {"requests": {"cpu": "1"}}}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone",
            "labelSelector": {"matchLabels": {"app": "a"}}}]},
          "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}},
        "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}})");
    ASSERT_FALSE(info.tolerations.empty() || info.images.empty() || info.scheduling_gates.empty() || info.node_selector.empty());
    forget_search(info);
    EXPECT_TRUE(info.tolerations.empty() && info.images.empty() && info.scheduling_gates.empty() && info.node_selector.empty());
    EXPECT_TRUE(info.spread_constraints.empty() && !info.required_node_terms);
    EXPECT_EQ(info.node_name, "n");
    EXPECT_EQ(info.labels, (Labels{{"app", "a"}}));
    EXPECT_EQ(info.requests.milli_cpu, 1000);
    EXPECT_EQ(info.host_ports.size(), 1u);
    EXPECT_EQ(info.anti_affinity.size(), 1u);
}

TEST(PodInfo, OfInitContainersOnlySideCarsKeepTheirHostPorts) {
    const PodInfo info = read(R"({"spec": {"initContainers": [{"ports": [{"containerPort": 1, "hostPort": 1}]},
        {"restartPolicy": "Always", "ports": [{"containerPort": 2, "hostPort": 2}]}],
        "containers": [{"ports": [{"containerPort": 3, "hostPort": 3}]}]}})");
    EXPECT_EQ(info.host_ports, (std::vector<HostPort>{{"0.0.0.0", "TCP", 2}, {"0.0.0.0", "TCP", 3}}));
}

TEST(PodInfo, KnowsWhoWasPreempted) {
    const std::string ends = R"("metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"})";
    const auto preempted = [](const std::string& metadata, const char* status, const char* reason) {
        return read(("{" + metadata + R"(, "status": {"conditions": [{"type": "DisruptionTarget", "status": ")" + status +
                     R"(", "reason": ")" + reason + "\"}]}}")
                        .c_str())
            .preempted;
    };
    EXPECT_TRUE(preempted(ends, "True", "PreemptionByScheduler"));
    EXPECT_FALSE(preempted(ends, "False", "PreemptionByScheduler"));
    EXPECT_FALSE(preempted(ends, "True", "EvictionByEvictionAPI"));
    EXPECT_FALSE(preempted(R"("metadata": {})", "True", "PreemptionByScheduler"));
}

TEST(PodInfo, NamesTheResourceClaimsThatAreNeeded) {
    const PodInfo info = read(R"({"spec": {"resourceClaims": [{"name": "own", "resourceClaimName": "shared"},
        {"name": "made", "resourceClaimTemplateName": "t"}, {"name": "none", "resourceClaimTemplateName": "t"},
        {"name": "waits", "resourceClaimTemplateName": "t"}]},
        "status": {"resourceClaimStatuses": [{"name": "made", "resourceClaimName": "pod-made-x1"}, {"name": "none"}]}})");
    const std::vector<PodDeviceClaim> expected = {{"own", "shared", false}, {"made", "pod-made-x1", true}, {"waits", "", true}};
    EXPECT_EQ(info.device_claims, expected);
}

TEST(PodInfo, NamesAClaimOnceThatManyEntriesOrVolumesName) {
    const PodInfo info = read(R"({"spec": {"resourceClaims": [{"name": "a", "resourceClaimName": "shared"},
        {"name": "b", "resourceClaimName": "shared"}, {"name": "c", "resourceClaimTemplateName": "t"},
        {"name": "d", "resourceClaimTemplateName": "t"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "w", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "x", "persistentVolumeClaim": {"claimName": "another"}}]},
        "status": {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "shared"}]}})");
    const std::vector<PodDeviceClaim> expected = {{"a", "shared", false}, {"c", "shared", true}, {"d", "", true}};
    EXPECT_EQ(info.device_claims, expected);
    EXPECT_EQ(info.claims, (std::vector<std::string>{"data", "another"}));
}

}  // namespace
}  // namespace porthole::scheduler
