// What a kubelet does alike on Linux and on Windows.
#include "kubelet/kubelet_fixture.h"

namespace porthole::kubelet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct KubeletOfBothSystemsTest : KubeletTest, testing::WithParamInterface<const char*> {
    KubeletOfBothSystemsTest() {
        stop();
        host.facts.operating_system = GetParam();
        start();
    }
};
INSTANTIATE_TEST_SUITE_P(Systems, KubeletOfBothSystemsTest, testing::Values("linux", "windows"),
                         [](const auto& info) { return std::string(info.param); });

// NET-36, IPM-09
TEST_P(KubeletOfBothSystemsTest, NET36_EveryAddressOfAPodIsInItsStatusAndInTheDownwardApi) {
    runtime.second_address_prefix = "fd00:10:244::";
    add("p",
        R"({"containers":[{"name":"a","image":"image:1","env":[{"name":"IPS","valueFrom":{"fieldRef":{"fieldPath":"status.podIPs"}}}]}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const core::PodStatus status = pod("p").status;
    EXPECT_EQ(status.pod_ip, "10.244.0.1");
    ASSERT_EQ(status.pod_ips.size(), 2u);
    EXPECT_EQ(status.pod_ips[0].ip, "10.244.0.1");
    EXPECT_EQ(status.pod_ips[1].ip, "fd00:10:244::1");
    const auto& variables = runtime.find("p", "a")->config.envs;
    const auto found = std::ranges::find(variables, "IPS", &cri::KeyValue::key);
    ASSERT_NE(found, variables.end());
    EXPECT_EQ(found->value, "10.244.0.1,fd00:10:244::1");
}

// SCH-15
TEST_P(KubeletOfBothSystemsTest, SCH15_NoMorePodsAreAdmittedThanTheNodeMayHave) {
    stop();
    max_pods = 2;
    start();
    for (const char* name : {"a", "b"}) {
        add(name, OneContainer);
        ASSERT_TRUE(until([&] { return ready(name); }));
    }
    ASSERT_TRUE(until([&] { return api.find<core::Node>({"", "n1"})->status.allocatable.at("pods").to_string() == "2"; }));
    add("c", OneContainer);
    ASSERT_TRUE(until([&] { return pod("c").status.phase == "Failed"; }));
    EXPECT_EQ(pod("c").status.reason, "OutOfpods");
    EXPECT_THAT(pod("c").status.message, HasSubstr("Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2"));
}

// PAU-05
TEST_P(KubeletOfBothSystemsTest, PAU05_ASandboxImageThatIsNotTheRuntimesIsReportedOnTheNode) {
    const auto told = [&](const std::string& given, const std::string& configuration) {
        stop();
        sandbox_image = given;
        runtime.configuration = configuration;
        start();
        loop.advance(10s);
        return events("SandboxImageMismatch");
    };
    constexpr const char* Runtimes = R"({"sandboxImage":"registry.test/pause:3.9"})";
    EXPECT_THAT(told("registry.test/pause:3.9", Runtimes), IsEmpty());
    EXPECT_THAT(told("", Runtimes), IsEmpty()) << "none was given";
    for (const char* unknown : {"", "{}", "{", R"({"sandboxImage":5})"})
        EXPECT_THAT(told("kubeletwin/pause", unknown), IsEmpty()) << unknown;
    EXPECT_THAT(told("kubeletwin/pause", Runtimes),
                ElementsAre("--pod-infra-container-image is kubeletwin/pause, but the container runtime makes sandboxes of "
                            "registry.test/pause:3.9: it is set in the runtime's own configuration"));
    loop.advance(1min);
    EXPECT_EQ(events("SandboxImageMismatch").size(), 1u) << "once";
}

}  // namespace
}  // namespace porthole::kubelet
