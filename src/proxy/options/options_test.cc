#include "proxy/options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::proxy {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

struct Command {
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    std::map<std::string, std::string> environment;

    Result<KubeProxyOptions> parse(std::vector<std::string> arguments) { return parse_kube_proxy_options(arguments, environment, files); }
    std::string error(std::vector<std::string> arguments) {
        const auto options = parse(std::move(arguments));
        return options ? "" : options.error().message;
    }
};

// SVC-32
TEST(KubeProxyOptions, SVC32_TakesThePublishedCommandLines) {
    Command command;
    const auto bridge =
        command.parse({"--v=4", "--proxy-mode=kernelspace", "--hostname-override=WIN-1", "--kubeconfig=c:\\k\\config",
                       "--network-name=cbr0", "--enable-dsr=false", "--cluster-cidr=10.244.0.0/16", "--log-dir=C:\\var\\log",
                       "--logtostderr=false", "--service", "--master=https://192.0.2.1:6443", "--bind-address=192.0.2.13"});
    ASSERT_TRUE(bridge) << bridge.error().message;
    EXPECT_EQ(bridge->kernelspace.node_name, "win-1");
    EXPECT_EQ(bridge->kernelspace.network_name, "cbr0");
    EXPECT_EQ(bridge->kernelspace.node_ip->to_string(), "192.0.2.13");
    EXPECT_FALSE(bridge->kernelspace.enable_dsr);
    EXPECT_FALSE(bridge->log_to_stderr);
    EXPECT_TRUE(bridge->windows_service);
    EXPECT_EQ(bridge->healthz_port, 10256);
    EXPECT_THAT(bridge->warnings, IsEmpty());
    const auto overlay =
        command.parse({"--kubeconfig", "k", "--network-name", "vxlan0", "--source-vip", "10.244.3.254", "--enable-dsr=true",
                       "--feature-gates=WinOverlay=true,WinDSR=true", "--healthz-bind-address=127.0.0.1:9000"});
    ASSERT_TRUE(overlay) << overlay.error().message;
    EXPECT_EQ(overlay->kernelspace.source_vip->to_string(), "10.244.3.254");
    EXPECT_TRUE(overlay->kernelspace.enable_dsr);
    EXPECT_EQ(overlay->healthz_port, 9000);
}

TEST(KubeProxyOptions, TakesTheModesOfLinuxForNftables) {
    Command command;
    const auto parse = [&](std::string mode) {
        return parse_kube_proxy_options({"--kubeconfig=k", "--proxy-mode=" + mode}, {}, command.files, System::Linux);
    };
    ASSERT_TRUE(parse("nftables"));
    EXPECT_THAT(parse("nftables")->warnings, IsEmpty());
    ASSERT_TRUE(parse("ipvs"));
    EXPECT_EQ(parse("ipvs")->warnings.size(), 1u);
    EXPECT_FALSE(parse("kernelspace"));
}

// SVC-03, LIM-65
TEST(KubeProxyOptions, SVC03_TakesUserspaceForKernelspace) {
    Command command;
    command.environment = {{"KUBE_NETWORK", "cbr0"}, {"INTERFACE_TO_ADD_SERVICE_IP", "vEthernet (KubeProxySwitch)"}};
    const auto options = command.parse({"--kubeconfig=k", "--proxy-mode=userspace"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->warnings.size(), 2u);
    EXPECT_THAT(command.error({"--kubeconfig=k", "--proxy-mode=iptables"}), HasSubstr("kernelspace only"));
}

// SVC-06
TEST(KubeProxyOptions, SVC06_FindsItsNetworkByFlagOrEnvironment) {
    Command command;
    EXPECT_THAT(command.error({"--kubeconfig=k"}), HasSubstr("Environment variable KUBE_NETWORK and network-flag not initialized"));
    command.environment = {{"KUBE_NETWORK", "cbr0"}};
    EXPECT_EQ(command.parse({"--kubeconfig=k"})->kernelspace.network_name, "cbr0");
    EXPECT_EQ(command.parse({"--kubeconfig=k", "--network-name=other"})->kernelspace.network_name, "other");
}

TEST(KubeProxyOptions, SVC11_RefusesDirectServerReturnWithoutItsGate) {
    Command command;
    EXPECT_EQ(command.error({"--kubeconfig=k", "--network-name=cbr0", "--enable-dsr=true", "--feature-gates=WinDSR=false"}),
              "WinDSR feature gate not enabled");
    EXPECT_EQ(command.error({"--kubeconfig=k", "--network-name=cbr0", "--enable-dsr=false", "--feature-gates=WinDSR=false"}), "");
}

TEST(KubeProxyOptions, ReadsTheConfigurationFileAndLetsFlagsWin) {
    Command command;
    ASSERT_TRUE(command.files.write("/config.yaml",
                                    "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: \"\"\n"
                                    "clientConnection:\n  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf\nhostnameOverride: WIN-2\n"
                                    "featureGates:\n  WinOverlay: false\nwinkernel:\n  networkName: vxlan0\n  sourceVip: 10.244.3.2\n"
                                    "  enableDSR: true\n",
                                    0600));
    const auto options = command.parse({"--config=/config.yaml", "--network-name=cbr0"});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->kubeconfig, "/var/lib/kube-proxy/kubeconfig.conf");
    EXPECT_EQ(options->kernelspace.node_name, "win-2");
    EXPECT_EQ(options->kernelspace.network_name, "cbr0");
    EXPECT_TRUE(options->kernelspace.enable_dsr);
    EXPECT_FALSE(options->kernelspace.overlay_gate);
    EXPECT_THAT(command.error({"--config=/nowhere"}), HasSubstr("/nowhere"));
}

TEST(KubeProxyOptions, SaysWhatIsWrong) {
    Command command;
    EXPECT_THAT(command.error({"--kubeconfig=k", "--network-name=n", "--source-vip=ten"}), HasSubstr("--source-vip"));
    EXPECT_THAT(command.error({"--kubeconfig=k", "--netwrk-name=n"}), HasSubstr("network-name"));
    EXPECT_THAT(command.error({"--kubeconfig=k", "--network-name=n", "--healthz-port=x"}), HasSubstr("not a valid port"));
    EXPECT_THAT(command.error({"--network-name=n"}), HasSubstr("--kubeconfig is missing"));
    EXPECT_THAT(command.parse({"--kubeconfig=k", "--network-name=n", "--masquerade-all"})->warnings, Contains(HasSubstr("masquerade-all")));
}

}  // namespace
}  // namespace porthole::proxy
