// What a kubelet on Windows does otherwise.
#include "api/node_v1.h"
#include "kubelet/kubelet_fixture.h"
#include "kubelet/plugins/plugin_connection.h"

#include "objects/conditions.h"

namespace porthole::kubelet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

struct WindowsKubeletTest : KubeletTest {
    WindowsKubeletTest() {
        stop();
        host.facts.operating_system = "windows";
        start();
    }
};

/// No plugin is there.
struct NoPlugins final : PluginConnector {
    std::unique_ptr<PluginConnection> connect(const std::string&) override { return nullptr; }
    Task<> reach(std::string) override { co_return Error(Reason::Unavailable, "no plugins"); }
    Result<std::unique_ptr<PluginServer>> serve(const std::string&, std::map<std::string, PluginMethod>) override {
        return Error(Reason::Unavailable, "no plugins");
    }
};

// SEC-01: below C:\\ every user may change what a program makes
TEST_F(WindowsKubeletTest, SEC01_LogsAndSocketsOfPluginsAreTheAdministrators) {
    stop();
    NoPlugins none;
    plugins = &none;
    start();
    loop.advance(1s);
    for (const char* directory : {"/var/log/pods", "/var/log/containers", "/var/lib/kubelet/plugins_registry",
                                  "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/pod-resources"})
        EXPECT_EQ(files.readers(directory), std::set<std::string>()) << directory;
    stop();
}

// STO-03, STO-17, LIM-30, LIM-31
TEST_F(WindowsKubeletTest, VolumesThatWindowsHasNotAreNotMounted) {
    constexpr const char* InMemory = "memory-backed emptyDir is not supported on Windows";
    const struct {
        const char *volume, *source, *reason;
    } rows[] = {{"m", R"("emptyDir":{"medium":"Memory"})", InMemory},
                {"h", R"("emptyDir":{"medium":"HugePages"})", InMemory},
                {"s", R"("emptyDir":{"medium":"HugePages-2Mi"})", InMemory},
                {"n", R"("nfs":{"server":"s","path":"/"})", "NFS volumes are not supported on Windows"}};
    for (const auto& row : rows) {
        const std::string name = row.volume;
        const std::string container = R"({"name":"a","image":"image:1","volumeMounts":[{"name":")" + name + R"(","mountPath":"/s"}]})";
        add("p-" + name, R"({"volumes":[{"name":")" + name + "\"," + row.source + R"(}],"containers":[)" + container + "]}");
        loop.advance(10s);
        EXPECT_EQ(waiting("p-" + name), "ContainerCreating") << row.source;
        EXPECT_THAT(events("FailedMount"), Contains("MountVolume.SetUp failed for volume \"" + name + "\" : " + row.reason));
        EXPECT_FALSE(files.exists("/var/lib/kubelet/pods/" + pod("p-" + name).metadata.uid + "/volumes/kubernetes.io~empty-dir/" + name))
            << "nor is it on the disk";
    }
    EXPECT_TRUE(mounter.mounts.empty());
}

constexpr const char* WithSubPath = R"({"volumes":[{"name":"v","emptyDir":{}}],
    "containers":[{"name":"a","image":"image:1","volumeMounts":[{"name":"v","mountPath":"/s","subPath":"x"}]}]})";

// STO-11, STO-12, LIM-28
TEST_F(WindowsKubeletTest, SubPathsAreRefused) {
    add("p", WithSubPath);
    EXPECT_TRUE(until([&] { return waiting("p") == "CreateContainerConfigError"; }));
    EXPECT_THAT(events("Failed"), Contains(HasSubstr("sub-paths are not supported on Windows")));
    core::Secret secret;
    secret.metadata.name = "s";
    secret.metadata.namespace_ = "default";
    secret.data["key"] = "value";
    api.put(secret);
    add("secret", R"({"volumes":[{"name":"v","secret":{"secretName":"s"}}],
        "containers":[{"name":"a","image":"image:1","volumeMounts":[{"name":"v","mountPath":"/s","subPath":"key"}]}]})");
    add("expanded", R"json({"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"a","image":"image:1",
        "env":[{"name":"X","value":"x"}],"volumeMounts":[{"name":"v","mountPath":"/s","subPathExpr":"$(X)"}]}]})json");
    for (const char* name : {"secret", "expanded"}) {
        EXPECT_TRUE(until([&] { return waiting(name) == "CreateContainerConfigError"; })) << name;
        EXPECT_THAT(pod(name).status.container_statuses[0].state.waiting->message, HasSubstr("sub-paths are not supported on Windows"));
    }
}

// STO-30
TEST_F(WindowsKubeletTest, AGateLetsSubPathsIn) {
    stop();
    gates = {"WindowsSubPath"};
    start();
    add("p", WithSubPath);
    EXPECT_TRUE(until([&] { return ready("p"); }));
}

// SEC-15
TEST_F(WindowsKubeletTest, TheHandlerOfARuntimeClassIsHandedOn) {
    api::node::v1::RuntimeClass isolated;
    isolated.metadata.name = "isolated";
    isolated.handler = "runhcs-wcow-hypervisor";
    api.put(isolated);
    add("p", R"({"runtimeClassName":"isolated","containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    ASSERT_EQ(runtime.sandboxes().size(), 1u);
    EXPECT_EQ(runtime.sandboxes().begin()->second.runtime_handler, "runhcs-wcow-hypervisor");
}

// POD-15
TEST_F(WindowsKubeletTest, ExitCodesOfWindowsAreExplained) {
    runtime.behavior = [](const cri::ContainerConfig&) {
        return sim::Behavior{.runs_for = 1s, .exit_code = static_cast<std::int32_t>(0xC0000135)};
    };
    const auto message = [&](const std::string& name) {
        const auto& statuses = pod(name).status.container_statuses;
        return statuses.empty() || !statuses[0].state.terminated ? "" : statuses[0].state.terminated->message;
    };
    constexpr const char* Spec = R"({"restartPolicy":"Never","containers":[{"name":"a","image":"image:1")";
    add("plain", std::string(Spec) + "}]}");
    ASSERT_TRUE(until([&] { return !message("plain").empty(); }));
    EXPECT_THAT(message("plain"), testing::StartsWith("0xC0000135 (STATUS_DLL_NOT_FOUND): a DLL that the program needs was not found; "));

    add("logs", std::string(Spec) + R"(,"terminationMessagePolicy":"FallbackToLogsOnError"}]})");
    ASSERT_TRUE(until([&] { return runtime.find("logs", "a") != nullptr; }));
    const std::string log = runtime.find("logs", "a")->status.log_path;
    ASSERT_TRUE(files.write(log, "2026-01-01T00:00:00Z stderr F C:\\a.exe: the DLL b.dll was not found\n", 0600));
    ASSERT_TRUE(until([&] { return !message("logs").empty(); }));
    EXPECT_THAT(message("logs"),
                AllOf(HasSubstr("was not found (b.dll); put it next to"), HasSubstr("\nC:\\a.exe: the DLL b.dll was not found\n")));
}

// SEC-11
TEST_F(WindowsKubeletTest, SEC11_AHostProcessContainerOfAnUnknownAccountFailsWhenItStartsAndEndsItsPod) {
    core::Secret secret;
    secret.metadata.name = "s";
    secret.metadata.namespace_ = "default";
    api.put(secret);
    runtime.behavior = [](const cri::ContainerConfig& config) {
        const bool unknown = config.windows->security_context->run_as_username == "nobody-of-this-machine";
        return sim::Behavior{.start_error = unknown ? "No mapping between account names and security IDs was done." : ""};
    };
    constexpr const char* Failing = R"([{"name":"bad","image":"image:1","volumeMounts":[{"name":"v","mountPath":"/s"}],
        "securityContext":{"windowsOptions":{"runAsUserName":"nobody-of-this-machine"}}}])";
    const std::string common = R"({"restartPolicy":"Never","hostNetwork":true,"volumes":[{"name":"v","secret":{"secretName":"s"}}],
        "securityContext":{"windowsOptions":{"hostProcess":true,"runAsUserName":"NT AUTHORITY\\SYSTEM"}},)";
    add("first", common + R"("initContainers":)" + Failing + R"(,"containers":[{"name":"a","image":"image:1"}]})");
    add("main", common + R"("containers":)" + Failing + "}");
    for (const char* name : {"first", "main"}) EXPECT_TRUE(until([&] { return pod(name).status.phase == "Failed"; })) << name;
    EXPECT_EQ(pod("main").status.container_statuses[0].state.terminated->reason, "StartError");
    std::string metrics;
    kubelet->append_metrics(metrics);
    for (const char* type : {"container", "init_container"}) {
        const std::string labels = std::string("container_type=\"") + type + "\"} 1\n";
        EXPECT_THAT(metrics, HasSubstr("kubelet_started_host_process_containers_total{" + labels));
        EXPECT_THAT(metrics, HasSubstr("kubelet_started_host_process_containers_errors_total{code=\"RunContainerError\"," + labels));
    }
}

// SEC-11
TEST_F(WindowsKubeletTest, SEC11_ARuntimeWithoutHostProcessesGetsNone) {
    stop();
    runtime.runtime_version = "1.5.18";
    start();
    loop.advance(1s);
    add("pod", R"({"hostNetwork":true,"securityContext":{"windowsOptions":{"hostProcess":true}},
        "containers":[{"name":"a","image":"image:1"}]})");
    add("container", R"({"hostNetwork":true,"containers":[{"name":"a","image":"image:1",
        "securityContext":{"windowsOptions":{"hostProcess":true}}}]})");
    for (const char* name : {"pod", "container"}) {
        ASSERT_TRUE(until([&] { return pod(name).status.phase == "Failed"; })) << name;
        EXPECT_EQ(pod(name).status.reason, "HostProcessUnsupported");
        EXPECT_THAT(pod(name).status.message, HasSubstr("needs containerd 1.6 or later"));
    }
    add("ordinary", OneContainer);
    EXPECT_TRUE(until([&] { return ready("ordinary"); }));
}

// POD-18, POD-23, LIM-24, RUN-03
TEST_F(WindowsKubeletTest, POD23_DockerGetsNoMountsOfFilesAndIsToldOf) {
    const auto files_mounted = [&](const std::string& name) {
        const auto& config = runtime.find(name, "a")->config;
        return std::ranges::count_if(config.mounts, [&](const cri::Mount& mount) { return !files.exists(mount.host_path + "/."); });
    };
    constexpr const char* Spec = R"({"terminationGracePeriodSeconds":60,"containers":[{"name":"a","image":"image:1",
        "terminationMessagePath":"C:\\last"}]})";
    add("containerd", Spec);
    ASSERT_TRUE(until([&] { return ready("containerd"); }));
    EXPECT_EQ(files_mounted("containerd"), 2) << "the hosts file and that of the message";
    EXPECT_THAT(events("WindowsFieldIgnored"), testing::IsEmpty());
    stop();
    runtime.runtime_name = "docker";
    runtime.runtime_version = "20.10.9";
    start();
    loop.advance(1s);
    add("docker", Spec);
    ASSERT_TRUE(until([&] { return ready("docker"); }));
    EXPECT_EQ(files_mounted("docker"), 0);
    EXPECT_THAT(events("WindowsFieldIgnored"),
                ElementsAre(AllOf(HasSubstr("spec.containers[0].terminationMessagePath: Docker on Windows mounts directories only"),
                                  HasSubstr("spec.terminationGracePeriodSeconds: Docker on Windows ends a container after"))));
}

// KBL-12, LIM-36
TEST_F(WindowsKubeletTest, KBL12_MemoryThatRunsShortIsNoCondition) {
    add("greedy", OneContainer);
    ASSERT_TRUE(until([&] { return ready("greedy"); }));
    runtime.memory = [](const std::string&) { return 500ull << 20; };
    host.now.memory_available = 1 << 20;
    loop.advance(10min);
    EXPECT_TRUE(ready("greedy"));
    const auto node = *api.find<core::Node>({"", "n1"});
    const auto* pressure = objects::find_condition(node.status.conditions, "MemoryPressure");
    ASSERT_TRUE(pressure);
    EXPECT_EQ(pressure->status, "False");
}

// SCH-08
TEST_F(WindowsKubeletTest, SCH08_PodsOfAnotherSystemAreRefusedByFieldAndByLabel) {
    add("field", R"({"os":{"name":"linux"},"containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return pod("field").status.phase == "Failed"; }));
    EXPECT_EQ(pod("field").status.reason, "PodOSNotSupported");
    EXPECT_EQ(pod("field").status.message, "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS");
    add("label", R"({"nodeSelector":{"kubernetes.io/os":"linux"},"containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return pod("label").status.phase == "Failed"; }));
    EXPECT_EQ(pod("label").status.reason, "PodOSSelectorNodeLabelDoesNotMatch");
}

// POS-02
TEST_F(WindowsKubeletTest, POS02_WithoutItsGateTheFieldDoesNotCount) {
    stop();
    identify_pod_os = false;
    start();
    add("p", R"({"os":{"name":"linux"},"containers":[{"name":"a","image":"image:1"}]})");
    EXPECT_TRUE(until([&] { return ready("p"); }));
}

// STO-13, STO-14, SEC-14, LIM-01, LIM-25, LIM-29
TEST_F(WindowsKubeletTest, PodsThatNeedWhatWindowsHasNotFail) {
    add("p", R"({"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"a","image":"image:1",
        "volumeMounts":[{"name":"v","mountPath":"/s","mountPropagation":"Bidirectional"}]}]})");
    ASSERT_TRUE(until([&] { return pod("p").status.phase == "Failed"; }));
    EXPECT_EQ(pod("p").status.reason, "MountPropagationUnsupported");
    add("t", R"({"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"a","image":"image:1",
        "volumeMounts":[{"name":"v","mountPath":"/s","mountPropagation":"HostToContainer"}]}]})");
    ASSERT_TRUE(until([&] { return pod("t").status.phase == "Failed"; }));
    EXPECT_EQ(pod("t").status.reason, "MountPropagationUnsupported");
    add("b", R"({"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"a","image":"image:1",
        "volumeDevices":[{"name":"v","devicePath":"/dev/x"}]}]})");
    ASSERT_TRUE(until([&] { return pod("b").status.phase == "Failed"; }));
    EXPECT_THAT(pod("b").status.message, HasSubstr("volume mode Block is not supported on Windows"));
    add("h", OneContainer, {{"experimental.windows.kubernetes.io/isolation-type", "hyperv"}});
    ASSERT_TRUE(until([&] { return pod("h").status.phase == "Failed"; }));
    EXPECT_EQ(pod("h").status.reason, "HyperVIsolationUnsupported");
}

// POD-24, POD-29, POS-28, STO-09, LIM-26
TEST_F(WindowsKubeletTest, WhatWindowsIgnoresIsToldAndThePodRunsWithoutIt) {
    add("p", R"({"hostNetwork":true,"dnsPolicy":"ClusterFirstWithHostNet","securityContext":{"runAsUser":1,"sysctls":[
        {"name":"kernel.x","value":"1"}]},"containers":[{"name":"a","image":"image:1","securityContext":{"readOnlyRootFilesystem":true}}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    EXPECT_NE(pod("p").status.pod_ip, "192.0.2.1") << "an address of its own";
    EXPECT_THAT(events("HostNetworkUnsupported"), ElementsAre(HasSubstr("spec.hostNetwork: ")));
    EXPECT_THAT(events("UnsupportedDNSPolicy"), ElementsAre(HasSubstr("ClusterFirst is used instead")));
    EXPECT_THAT(events("WindowsFieldIgnored"),
                ElementsAre(AllOf(HasSubstr("spec.securityContext.runAsUser: "), HasSubstr("spec.securityContext.sysctls: "),
                                  HasSubstr("spec.containers[0].securityContext.readOnlyRootFilesystem: "))));
}

// POD-25, POD-26, POD-28
TEST_F(WindowsKubeletTest, WhatWindowsCannotDoIsRefused) {
    add("host", R"({"hostPID":true,"containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return pod("host").status.phase == "Failed"; }));
    EXPECT_EQ(pod("host").status.reason, "HostPIDUnsupported");
    add("shared", R"({"shareProcessNamespace":true,"containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return pod("shared").status.phase == "Failed"; }));
    add("strong", R"({"containers":[{"name":"a","image":"image:1","securityContext":{"privileged":true}}]})");
    ASSERT_TRUE(until([&] { return waiting("strong") == "CreateContainerConfigError"; }));
    EXPECT_EQ(pod("strong").status.container_statuses[0].state.waiting->message, "privileged containers are not supported on Windows");
}

}  // namespace
}  // namespace porthole::kubelet
