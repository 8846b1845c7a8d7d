#include "kubelet/kubelet_fixture.h"

#include "api/coordination_v1.h"
#include "api/storage_v1.h"

namespace porthole::kubelet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(KubeletTest, RegistersItsNodeAndRenewsItsLease) {
    ASSERT_TRUE(until([&] { return api.find<api::coordination::v1::Lease>({"kube-node-lease", "n1"}).has_value(); }));
    const auto node = api.find<core::Node>({"", "n1"});
    ASSERT_TRUE(node);
    EXPECT_EQ(node->metadata.labels.at("kubernetes.io/os"), "linux");
    EXPECT_EQ(node->status.capacity.at("cpu").value(), 4);
    EXPECT_EQ(node->status.allocatable.at("memory").value(), (8ll << 30) - (100ll << 20));
    EXPECT_EQ(node->status.addresses[0].address, "192.0.2.1");
    ASSERT_TRUE(until([&] { return api.find<core::Node>({"", "n1"})->status.conditions.back().status == "True"; }));
    const core::Node now = *api.find<core::Node>({"", "n1"});
    EXPECT_EQ(now.status.conditions.back().type, "Ready");
    EXPECT_THAT(now.status.declared_features, testing::Contains("RestartAllContainersOnContainerExits"));
    const auto csi_node = api.find<api::storage::v1::CSINode>({"", "n1"});
    ASSERT_TRUE(csi_node) << "before the node is ready";
    EXPECT_EQ(csi_node->metadata.owner_references.at(0).uid, now.metadata.uid);
    EXPECT_EQ(now.status.node_info.container_runtime_version, "containerd://1.6.20");
    const auto renewed = [&] { return *api.find<api::coordination::v1::Lease>({"kube-node-lease", "n1"})->spec.renew_time; };
    const MicroTimestamp before = renewed();
    loop.advance(21s);
    EXPECT_EQ(renewed() - before, 20s);
}

TEST_F(KubeletTest, ANodeThatWasDeletedGetsANewCSINode) {
    using api::storage::v1::CSINode;
    const auto owner = [&] {
        const auto node = api.find<core::Node>({"", "n1"});
        const auto csi_node = api.find<CSINode>({"", "n1"});
        return node && csi_node && csi_node->metadata.owner_references.at(0).uid == node->metadata.uid ? node->metadata.uid : "";
    };
    ASSERT_TRUE(until([&] { return !owner().empty(); }));
    const std::string before = owner();
    api.erase<core::Node>({"", "n1"});
    ASSERT_TRUE(until([&] { return !owner().empty() && owner() != before; }, 60s));
}

TEST_F(KubeletTest, WhatOthersSayTheNodeHasStays) {
    ASSERT_TRUE(until([&] { return api.find<core::Node>({"", "n1"}).has_value(); }));
    api.change<core::Node>({"", "n1"}, [](core::Node& node) { node.status.capacity["example.com/card"] = Quantity::from_value(2); });
    loop.advance(6min);  // beyond every report
    auto status = api.find<core::Node>({"", "n1"})->status;
    EXPECT_EQ(status.capacity["example.com/card"].value(), 2);
    EXPECT_EQ(status.allocatable["example.com/card"].value(), 2);
    api.change<core::Node>({"", "n1"}, [](core::Node& node) { node.status.capacity.erase("example.com/card"); });
    loop.advance(6min);
    EXPECT_FALSE(api.find<core::Node>({"", "n1"})->status.allocatable.contains("example.com/card"));
}

TEST_F(KubeletTest, LabelsOfItsSystemStayTrue) {
    const auto system = [&]() -> std::string {
        auto node = api.find<core::Node>({"", "n1"});
        return node ? node->metadata.labels["kubernetes.io/os"] : "";
    };
    ASSERT_TRUE(until([&] { return system() == "linux"; }));
    core::Node node = *api.find<core::Node>({"", "n1"});
    node.metadata.labels["kubernetes.io/os"] = "windows";
    node.metadata.labels.erase("kubernetes.io/arch");
    node.metadata.labels["team"] = "blue";
    api.put(node);
    ASSERT_TRUE(until([&] { return system() == "linux"; }, 11s));
    const core::Node now = *api.find<core::Node>({"", "n1"});
    EXPECT_EQ(now.metadata.labels.at("kubernetes.io/arch"), "amd64");
    EXPECT_EQ(now.metadata.labels.at("team"), "blue");
}

TEST_F(KubeletTest, ABuildOfWindowsThatIsNotListedIsAConditionUntilTheHostIsUpgraded) {
    const auto told = [&] {
        const auto conditions = api.find<core::Node>({"", "n1"})->status.conditions;
        const auto found = std::ranges::find(conditions, "UnsupportedOSBuild", &core::NodeCondition::type);
        return found == conditions.end() ? std::string() : found->status + " " + found->message;
    };
    loop.advance(15s);
    EXPECT_EQ(told(), "");
    stop();
    host.facts.windows_build = "10.0.19045";
    start();
    ASSERT_TRUE(until([&] { return told().starts_with("True Windows build 10.0.19045 is not one"); }));
    EXPECT_THAT(events("UnsupportedOSBuild"), Contains(HasSubstr("Windows build 10.0.19045 is not one")));
    stop();
    host.facts.windows_build = "10.0.20348";
    start();
    EXPECT_TRUE(until([&] { return told().starts_with("False"); }));
}

TEST_F(KubeletTest, AMachineThatTellsNothingOfItsHardwareIsANodeNevertheless) {
    stop();
    api.erase<core::Node>({"", "n1"});
    host.facts = HostFacts{};
    host.facts.operating_system = "windows";
    host.now = HostUsage{};
    start();
    ASSERT_TRUE(until([&] { return api.find<core::Node>({"", "n1"}).has_value(); }));
    const auto node = api.find<core::Node>({"", "n1"});
    EXPECT_EQ(node->metadata.labels.at("kubernetes.io/os"), "windows");
    EXPECT_TRUE(until([&] {
        const auto conditions = api.find<core::Node>({"", "n1"})->status.conditions;
        return !conditions.empty() && conditions.back().type == "Ready" && conditions.back().status == "True";
    }));
}

// EMU-12
TEST_F(KubeletTest, ANodeIsLabelledWithTheWineOfItsPods) {
    const auto wine = [&] {
        const auto node = api.find<core::Node>({"", "n1"});
        const auto label = node ? node->metadata.labels.find("porthole.dev/wine-version") : std::map<std::string, std::string>::iterator();
        return node && label != node->metadata.labels.end() ? label->second : "";
    };
    ASSERT_TRUE(until([&] { return !api.find<core::Node>({"", "n1"})->status.node_info.container_runtime_version.empty(); }));
    EXPECT_EQ(wine(), "") << "of containerd";
    const auto start_with = [&](const char* version) {
        stop();
        runtime.runtime_name = "porthole-wine";
        runtime.runtime_version = version;
        start();
    };
    start_with("0.1.0+wine-8.0");
    EXPECT_TRUE(until([&] { return wine() == "8.0"; }));
    start_with("0.1.0+wine-10.0");
    EXPECT_TRUE(until([&] { return wine() == "10.0"; })) << "another one after a start";
    const auto reported = [&] { return api.find<core::Node>({"", "n1"})->status.node_info.container_runtime_version; };
    for (const char* odd : {"0.1.0+wine-10 (Debian)", "0.1.0+wine-10-"}) {
        start_with(odd);
        EXPECT_TRUE(until([&] { return reported() == std::string("porthole-wine://") + odd; })) << "the node is reported nevertheless";
        EXPECT_EQ(wine(), "10.0");
    }
}

TEST_F(KubeletTest, ARuntimeThatIsTooOldMakesTheNodeNotReadyUntilItIsUpgraded) {
    const auto condition = [&] { return api.find<core::Node>({"", "n1"})->status.conditions.back(); };
    loop.advance(5s);
    runtime.fault = [](const std::string&) { return std::optional<Error>(Error(Reason::Unavailable, "stopped")); };
    ASSERT_TRUE(until([&] { return condition().message == "container runtime is down: stopped"; }));
    runtime.runtime_version = "v1.3.9";
    runtime.fault = nullptr;
    ASSERT_TRUE(until([&] { return condition().message == "container runtime version 1.3.9 < 1.4.0: upgrade containerd"; }));
    EXPECT_EQ(condition().status, "False");
    runtime.runtime_version = "1.4.0";
    EXPECT_TRUE(until([&] { return condition().status == "True"; }));
    EXPECT_EQ(api.find<core::Node>({"", "n1"})->status.node_info.container_runtime_version, "containerd://1.4.0");
}

TEST_F(KubeletTest, ANewNodeIsToldToBeReadyAndNotThatItWasNot) {
    stop();
    api.erase<core::Node>({"", "n1"});
    runtime.network_ready = false;
    start();
    loop.advance(20s);
    EXPECT_THAT(events("NodeNotReady"), IsEmpty());
    runtime.network_ready = true;
    ASSERT_TRUE(until([&] { return !events("NodeReady").empty(); }));
    EXPECT_THAT(events("NodeNotReady"), IsEmpty());
    EXPECT_THAT(events("NodeHasSufficientMemory"), Not(IsEmpty()));
}

TEST_F(KubeletTest, AnUnreachableRuntimeMakesTheNodeNotReadyAndPodsWait) {
    loop.advance(5s);
    runtime.fault = [](const std::string&) { return std::optional<Error>(Error(Reason::Unavailable, "connection refused")); };
    const auto condition = [&] { return api.find<core::Node>({"", "n1"})->status.conditions.back(); };
    ASSERT_TRUE(until([&] { return condition().status == "False"; }));
    EXPECT_EQ(condition().reason, "KubeletNotReady");
    EXPECT_EQ(condition().message, "container runtime is down: connection refused");
    add("p", OneContainer);
    loop.advance(60s);
    EXPECT_FALSE(ready("p"));
    runtime.fault = nullptr;
    EXPECT_TRUE(until([&] { return ready("p") && condition().status == "True"; }));
}

}  // namespace
}  // namespace porthole::kubelet
