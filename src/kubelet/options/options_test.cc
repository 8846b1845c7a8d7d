#include "kubelet/options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/node/node_reporter.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct KubeletOptionsTest : testing::Test {
    Result<KubeletOptions> parse(std::vector<std::string> words, bool windows = true) {
        words.push_back("--kubeconfig=C:\\k\\config");
        return parse_kubelet_options(words, windows, files);
    }
    std::string refusal(std::vector<std::string> words) {
        const auto parsed = parse(std::move(words));
        return parsed ? "accepted" : parsed.error().message;
    }
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
};

// KBL-01, KBL-02: the line that guides of many releases publish.
TEST_F(KubeletOptionsTest, ThePublishedCommandLineIsAccepted) {
    const auto options =
        parse({"--hostname-override=win-1", "--v=6", "--pod-infra-container-image=kubeletwin/pause",
               "--resolv-conf=", "--allow-privileged=true", "--enable-debugging-handlers", "--cluster-dns=10.96.0.10",
               "--cluster-domain=cluster.local", "--hairpin-mode=promiscuous-bridge", "--image-pull-progress-deadline=20m",
               "--cgroups-per-qos=false", "--log-dir=C:\\k", "--logtostderr=false", "--enforce-node-allocatable=", "--network-plugin=cni",
               "--cni-bin-dir=c:\\k\\cni", "--cni-conf-dir", "c:\\k\\cni\\config", "--feature-gates=WinOverlay=true"});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->hostname_override, "win-1");
    EXPECT_EQ(options->resolv_conf, "");
    EXPECT_EQ(options->verbosity, 6);
    EXPECT_THAT(options->warnings, Contains(HasSubstr("--network-plugin has no effect")));
}

// PAU-04
TEST_F(KubeletOptionsTest, WellKnownPauseImagesAreAcceptedAndTheRuntimeIsNamedAsTheirPlace) {
    for (const char* image : {"k8s.gcr.io/pause:3.5", "mcr.microsoft.com/oss/kubernetes/pause:3.5",
                              "mcr.microsoft.com/oss/kubernetes/pause:1.4.1", "kubeletwin/pause", "apprenda/pause"}) {
        const auto options = parse({std::string("--pod-infra-container-image=") + image});
        ASSERT_TRUE(options) << image;
        EXPECT_THAT(options->warnings, Contains(HasSubstr("the container runtime's configuration sets the image"))) << image;
    }
}

TEST_F(KubeletOptionsTest, BoundsOnPodsComeFromFlagsAndFile) {
    const auto none = make_kubelet_config(parse({}, false).value(), false);
    EXPECT_EQ(none->pod_pids_limit, -1);
    EXPECT_FALSE(none->seccomp_default);
    EXPECT_EQ(none->streaming_idle, std::chrono::hours(4));
    files.create_directories("/etc", 0755).value();
    files
        .write("/etc/kubelet.yaml",
               "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\npodPidsLimit: 1000\nseccompDefault: true\n"
               "streamingConnectionIdleTimeout: 30m\neventRecordQPS: 5\nprotectKernelDefaults: true\n",
               0644)
        .value();
    const auto of_file = parse({"--config=/etc/kubelet.yaml", "--pod-max-pids=200"}, false).value();
    EXPECT_THAT(of_file.warnings, IsEmpty());
    const auto config = make_kubelet_config(of_file, false);
    EXPECT_EQ(config->pod_pids_limit, 200);
    EXPECT_TRUE(config->seccomp_default);
    EXPECT_EQ(config->event_qps, 5);
    EXPECT_TRUE(config->protect_kernel_defaults);
    EXPECT_EQ(config->streaming_idle, std::chrono::minutes(30));
    EXPECT_FALSE(make_kubelet_config(parse({"--streaming-connection-idle-timeout=soon"}, false).value(), false));
}

TEST_F(KubeletOptionsTest, TheTlsPolicyComesFromFlagsAndFile) {
    constexpr const char* Strong = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
    ASSERT_TRUE(files.write("/config.yaml",
                            std::string("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                                        "tlsMinVersion: VersionTLS13\ntlsCipherSuites: [") +
                                Strong + "]\n",
                            0644));
    for (const auto& words : {std::vector<std::string>{"--tls-min-version=VersionTLS13", std::string("--tls-cipher-suites=") + Strong},
                              std::vector<std::string>{"--config=/config.yaml"}}) {
        const auto options = parse(words);
        ASSERT_TRUE(options) << options.error().message;
        EXPECT_THAT(options->warnings, IsEmpty());
        EXPECT_EQ(options->tls_min_version, "VersionTLS13");
        EXPECT_THAT(options->tls_cipher_suites, ElementsAre(Strong));
    }
}

// STO-30
TEST_F(KubeletOptionsTest, FeatureGatesThatAreOnReachTheKubelet) {
    const auto gates = [&](const char* flag) { return make_kubelet_config(parse({flag}).value(), true)->feature_gates; };
    EXPECT_THAT(gates("--feature-gates=WindowsSubPath=true,WinDSR=false"), ElementsAre("WindowsSubPath"));
    EXPECT_THAT(gates("--feature-gates=WindowsSubPath=false"), IsEmpty());
    EXPECT_FALSE(make_kubelet_config(parse({}).value(), false)->selinux_mount);
    EXPECT_TRUE(make_kubelet_config(parse({"--feature-gates=SELinuxMount=true"}).value(), false)->selinux_mount);
}

// TRB-18
TEST_F(KubeletOptionsTest, TRB18_TheHealthPortIsKubernetes) {
    EXPECT_EQ(parse({})->healthz_port, 10248);
    EXPECT_EQ(parse({})->healthz_address, "127.0.0.1");
    ASSERT_TRUE(
        files.write("/health.yaml", "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nhealthzPort: 0\n", 0644));
    EXPECT_EQ(parse({"--config=/health.yaml"})->healthz_port, 0);
    EXPECT_THAT(refusal({"--healthz-port=70000"}), HasSubstr("--healthz-port"));
}

// API-10, POS-02
TEST_F(KubeletOptionsTest, API10_AnUnknownFeatureGateStopsTheKubelet) {
    EXPECT_THAT(refusal({"--feature-gates=IdentifyPodOs=true"}), HasSubstr("unrecognized feature gate: IdentifyPodOs"));
    ASSERT_TRUE(files.write(
        "/gates.yaml", "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nfeatureGates: {NoSuchGate: true}\n", 0644));
    EXPECT_THAT(refusal({"--config=/gates.yaml"}), HasSubstr("unrecognized feature gate: NoSuchGate"));
    EXPECT_THAT(parse({"--feature-gates=WindowsHostProcessContainers=true"})->warnings, ElementsAre(HasSubstr("it is permanent")));
    EXPECT_TRUE(make_kubelet_config(parse({}).value(), true)->identify_pod_os);
    EXPECT_FALSE(make_kubelet_config(parse({"--feature-gates=IdentifyPodOS=false"}).value(), true)->identify_pod_os);
}

// KBL-28
TEST_F(KubeletOptionsTest, TheHostsNameMayBeAnAddress) {
    EXPECT_EQ(parse({"--hostname-override=192.0.2.7"})->hostname_override, "192.0.2.7");
    EXPECT_EQ(parse({"--hostname-override=web-09.example.test"})->hostname_override, "web-09.example.test");
}

// KBL-03
TEST_F(KubeletOptionsTest, SpellingsInCirculationAreUnderstoodOrExplained) {
    EXPECT_EQ(parse({"--hostname_override=n1", "--service"})->windows_service, true);
    EXPECT_THAT(refusal({"--kubelet-reserve=cpu=1"}), HasSubstr("did you mean --kube-reserved?"));
    EXPECT_THAT(refusal({"--system-reserve=cpu=1"}), HasSubstr("did you mean --system-reserved?"));
    EXPECT_THAT(refusal({"--enforce-node-allocable="}), HasSubstr("did you mean --enforce-node-allocatable?"));
}

TEST_F(KubeletOptionsTest, CertificatesAreRenewedUnlessTheFlagOrTheFileSaysNo) {
    ASSERT_TRUE(files.write("/config.yaml",
                            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nrotateCertificates: false\n", 0644));
    EXPECT_TRUE(parse({})->rotate_certificates);
    EXPECT_TRUE(parse({"--rotate-certificates"})->warnings.empty());
    EXPECT_FALSE(parse({"--rotate-certificates=false"})->rotate_certificates);
    EXPECT_FALSE(parse({"--config=/config.yaml"})->rotate_certificates);
    EXPECT_TRUE(parse({"--config=/config.yaml", "--rotate-certificates"})->rotate_certificates);
}

// KBL-04
TEST_F(KubeletOptionsTest, ANameThatSwallowedTheNextFlagIsRefused) {
    EXPECT_THAT(refusal({"--hostname-override=win-1--kubeconfig=c:\\k\\config"}), HasSubstr("is a blank missing before the next flag?"));
    EXPECT_EQ(refusal({"--hostname-override=10.0.0.7"}), "accepted");
}

// KBL-06
TEST_F(KubeletOptionsTest, PriorityClassesAreThoseOfWindows) {
    EXPECT_EQ(*priority_class("ABOVE_NORMAL_PRIORITY_CLASS"), 32768u);
    EXPECT_THAT(refusal({"--windows-priorityclass=FAST"}), HasSubstr("valid are IDLE_PRIORITY_CLASS"));
}

// KBL-07, LIM-33
TEST_F(KubeletOptionsTest, WhatHasNoMeaningOnWindowsStopsTheStart) {
    EXPECT_THAT(refusal({"--cgroups-per-qos=true"}), HasSubstr("is not supported on Windows"));
    EXPECT_THAT(refusal({"--enforce-node-allocatable=pods"}), HasSubstr("is not supported on Windows"));
    EXPECT_THAT(refusal({"--resolv-conf=/etc/resolv.conf"}), HasSubstr("is not supported on Windows"));
    EXPECT_EQ(refusal({}), "accepted");
    EXPECT_TRUE(parse({"--cgroups-per-qos=true", "--enforce-node-allocatable=pods"}, false));
}

// KBL-08, KBL-11, LIM-34
TEST_F(KubeletOptionsTest, ReservationsAddUpAndMemoryThresholdsOnlyShrinkAllocatable) {
    const auto options =
        parse({"--kube-reserved=cpu=200m,memory=512Mi", "--system-reserved=memory=2Gi", "--eviction-hard=memory.available<1Gi"});
    ASSERT_TRUE(options);
    const auto config = make_kubelet_config(*options, true);
    ASSERT_TRUE(config) << config.error().message;
    ResourceList capacity{{"cpu", Quantity::from_value(2)}, {"memory", Quantity::from_value(8ll << 30)}};
    const ResourceList allocatable = node_allocatable(config->node, capacity);
    EXPECT_EQ(allocatable.at("memory").value(), (8ll << 30) - (2ll << 30) - (512 << 20) - (1ll << 30));
    EXPECT_EQ(allocatable.at("cpu").milli_value(), 1800);
    EXPECT_EQ(config->node.eviction_memory, 1ll << 30);
    EXPECT_EQ(config->eviction.memory_available, 0);
    EXPECT_EQ(make_kubelet_config(*options, false)->eviction.memory_available, 1ll << 30);
}

TEST_F(KubeletOptionsTest, TheMarksOfImageCollectionAreFlags) {
    const auto config = make_kubelet_config(*parse({"--image-gc-high-threshold=100", "--image-gc-low-threshold=70"}), true);
    EXPECT_EQ(config->image_gc.high_percent, 100);
    EXPECT_EQ(config->image_gc.low_percent, 70);
    EXPECT_THAT(refusal({"--image-gc-high-threshold=80"}), HasSubstr("must be less than"));
    EXPECT_THAT(refusal({"--image-gc-high-threshold=101"}), HasSubstr("from 0 to 100"));
}

// KBL-15
TEST_F(KubeletOptionsTest, PageFilesNeverKeepItFromStarting) {
    for (const bool windows : {true, false}) {
        EXPECT_TRUE(parse({"--fail-swap-on=true"}, windows));
        EXPECT_TRUE(parse({"--fail-swap-on=false"}, windows));
    }
}

// KBL-10, LIM-34
TEST_F(KubeletOptionsTest, SoftEvictionIsAcceptedWithAWarning) {
    EXPECT_THAT(parse({"--eviction-soft=memory.available<1Gi", "--eviction-soft-grace-period=memory.available=1m"})->warnings,
                Contains(HasSubstr("soft eviction is not performed on Windows")));
}

TEST_F(KubeletOptionsTest, AmountsThatCannotBeReadNameTheFlag) {
    EXPECT_THAT(make_kubelet_config(*parse({"--kube-reserved=memory=much"}), true).error().message,
                HasSubstr("--kube-reserved: \"much\" is not a valid amount of memory"));
    EXPECT_THAT(make_kubelet_config(*parse({"--register-with-taints=os"}), true).error().message, HasSubstr("key=value:NoSchedule"));
}

// KBL-33
TEST_F(KubeletOptionsTest, FlagsWinOverTheFile) {
    ASSERT_TRUE(files.create_directories("/k", 0755));
    ASSERT_TRUE(
        files.write("/k/config.yaml",
                    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 20\nclusterDNS: [10.0.0.1, 10.0.0.2]\n"
                    "authentication:\n  x509:\n    clientCAFile: /pki/ca.crt\n  anonymous:\n    enabled: false\n"
                    "registerWithTaints:\n- {key: os, value: windows, effect: NoSchedule}\nevictionHard:\n  nodefs.available: 5%\n",
                    0644));
    const auto options = parse({"--config=/k/config.yaml", "--cluster-dns=10.96.0.10"});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->max_pods, 20);
    EXPECT_THAT(options->cluster_dns, ElementsAre("10.96.0.10"));
    EXPECT_EQ(options->client_ca_file, "/pki/ca.crt");
    const auto config = make_kubelet_config(*options, true);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->node.taints.front().effect, "NoSchedule");
    EXPECT_DOUBLE_EQ(config->node.eviction_storage, 0.05);
}

TEST_F(KubeletOptionsTest, IdsOfAUserNamespaceComeInWholeUnits) {
    const auto parse_with = [&](const std::string& number, bool windows) {
        EXPECT_TRUE(files.create_directories("/k", 0755));
        EXPECT_TRUE(files.write("/k/config.yaml",
                                "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                                "userNamespaces: {idsPerPod: " +
                                    number + "}\n",
                                0644));
        return parse({"--config=/k/config.yaml"}, windows);
    };
    EXPECT_EQ(make_kubelet_config(*parse_with("131072", false), false)->ids_per_pod, 131072);
    EXPECT_EQ(make_kubelet_config(*parse({}, false), false)->ids_per_pod, 65536);
    for (const char* wrong : {"0", "65535", "65537", "4294967296", "-65536"})
        EXPECT_THAT(parse_with(wrong, false).error().message, HasSubstr("must be a multiple of 65536")) << wrong;
    EXPECT_THAT(parse_with("131072", true).error().message, HasSubstr("not supported on Windows"));
}

TEST_F(KubeletOptionsTest, UnknownFieldsAndKindsOfTheFileAreNamed) {
    std::vector<std::string> warnings;
    const std::string head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    EXPECT_EQ(flags_of_configuration(head + "maxPds: 1\n", warnings).error().message, "strict decoding error: unknown field \"maxPds\"");
    EXPECT_THAT(flags_of_configuration("kind: Pod\n", warnings).error().message, HasSubstr("must be a KubeletConfiguration"));
    EXPECT_THAT(*flags_of_configuration(head + "nodeStatusMaxImages: 9\n", warnings), IsEmpty());
    EXPECT_THAT(warnings, ElementsAre("configuration field nodeStatusMaxImages has no effect"));
}

}  // namespace
}  // namespace porthole::kubelet
