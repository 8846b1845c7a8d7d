#include "kubelet/kubelet_fixture.h"
#include "kubelet/volumes/selinux/selinux_fixture.h"

namespace porthole::kubelet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// SCH-04
TEST_F(KubeletTest, RunsAPodAndReportsIt) {
    add("p", OneContainer);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const core::Pod now = pod("p");
    EXPECT_EQ(now.status.phase, "Running");
    EXPECT_EQ(now.status.pod_ip, "10.244.0.1");
    EXPECT_EQ(now.status.host_ip, "192.0.2.1");
    EXPECT_EQ(now.status.qos_class, "BestEffort");
    EXPECT_THAT(runtime.running("p"), ElementsAre("a"));
    EXPECT_THAT(events("Started"), ElementsAre("Container started"));
    const auto* container = runtime.find("p", "a");
    EXPECT_EQ(container->status.log_path, "/var/log/pods/default_p_" + now.metadata.uid + "/a/0.log");
    EXPECT_THAT(files.read("/var/lib/kubelet/pods/" + now.metadata.uid + "/etc-hosts").value(), HasSubstr("10.244.0.1\tp\n"));
}

TEST_F(KubeletTest, WithSelinuxTheRuntimeRelabelsTheFilesOfContainers) {
    stop();
    put_selinux(files, SelinuxMounts);
    start();
    add("p", R"({"volumes":[{"name":"v","emptyDir":{}},{"name":"h","hostPath":{"path":"/"}}],"containers":[{"name":"a","image":"image:1",
                "terminationMessagePath":"/message","volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"h","mountPath":"/h"}]}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    std::vector<std::string> relabelled;
    for (const cri::Mount& mount : runtime.find("p", "a")->config.mounts)
        if (mount.selinux_relabel) relabelled.push_back(mount.container_path);
    EXPECT_THAT(relabelled, testing::UnorderedElementsAre("/v", "/etc/hosts", "/message"));
}

TEST_F(KubeletTest, DeletionEndsContainersThenRemovesThePodAndEveryTrace) {
    add("p", OneContainer);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const std::string uid = pod("p").metadata.uid;
    api.remove<core::Pod>({"default", "p"});
    ASSERT_TRUE(until([&] { return !exists("p"); }));
    EXPECT_TRUE(until([&] { return runtime.sandboxes().empty() && runtime.containers().empty(); }));
    EXPECT_FALSE(files.exists("/var/lib/kubelet/pods/" + uid));
    EXPECT_FALSE(files.exists("/var/log/pods/default_p_" + uid));
    EXPECT_THAT(events("Killing"), ElementsAre("Stopping container a"));
}

TEST_F(KubeletTest, GraceIsKeptAndCutByASecondDelete) {
    runtime.behavior = [](const cri::ContainerConfig&) { return sim::Behavior{.stops_after = 1000s}; };
    add("p", OneContainer);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const MonotonicTime began = loop.now();
    api.remove<core::Pod>({"default", "p"});
    loop.advance(5s);
    EXPECT_TRUE(exists("p"));
    api.change<core::Pod>({"default", "p"}, [](core::Pod& p) { p.metadata.deletion_grace_period_seconds = 3; });
    ASSERT_TRUE(until([&] { return !exists("p"); }));
    EXPECT_GE(loop.now() - began, 8s);
    EXPECT_LT(loop.now() - began, 15s);
}

TEST_F(KubeletTest, AGracePeriodMayBeAnyNumber) {
    runtime.behavior = [](const cri::ContainerConfig&) { return sim::Behavior{.stops_after = 1000s}; };
    add("p", R"({"terminationGracePeriodSeconds":9223372036854775807,"containers":[{"name":"a","image":"image:1",
        "lifecycle":{"preStop":{"sleep":{"seconds":10}}}}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    api.remove<core::Pod>({"default", "p"});
    loop.advance(900s);
    EXPECT_TRUE(exists("p"));
    EXPECT_TRUE(until([&] { return !exists("p"); }, 200s));
}

TEST_F(KubeletTest, CrashesAreHeldBackLongerEachTime) {
    runtime.behavior = [](const cri::ContainerConfig&) { return sim::Behavior{.runs_for = 1s, .exit_code = 3}; };
    add("p", OneContainer);
    ASSERT_TRUE(until([&] { return waiting("p") == "CrashLoopBackOff"; }));
    const core::ContainerStatus status = pod("p").status.container_statuses[0];
    EXPECT_EQ(status.restart_count, 1);
    EXPECT_EQ(status.last_state.terminated->exit_code, 3);
    EXPECT_THAT(status.state.waiting->message, HasSubstr("back-off 10s restarting failed container=a pod=p_default("));
    std::vector<Duration> gaps;
    for (int restarts = 2; restarts <= 5; ++restarts) {
        const MonotonicTime before = loop.now();
        ASSERT_TRUE(until([&] { return runtime.find("p", "a")->config.metadata->attempt == static_cast<unsigned>(restarts); }, 200s));
        gaps.push_back(loop.now() - before);
    }
    EXPECT_GT(gaps[1], 19s);
    EXPECT_GT(gaps[3], 79s);
    EXPECT_LT(gaps[3], 90s);
    EXPECT_EQ(pod("p").status.phase, "Running");
}

TEST_F(KubeletTest, AFinishedPodKeepsItsStatusAndIsCleanedUp) {
    runtime.behavior = [](const cri::ContainerConfig&) { return sim::Behavior{.runs_for = 2s}; };
    add("p", R"({"restartPolicy":"Never","containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return pod("p").status.phase == "Succeeded"; }));
    EXPECT_EQ(pod("p").status.container_statuses[0].state.terminated->reason, "Completed");
    EXPECT_TRUE(until([&] { return !files.exists("/var/lib/kubelet/pods/" + pod("p").metadata.uid); }));
    loop.advance(5min);
    EXPECT_EQ(runtime.containers().size(), 1u);  // its log can still be read
    api.remove<core::Pod>({"default", "p"});
    EXPECT_TRUE(until([&] { return !exists("p") && runtime.containers().empty(); }));
}

TEST_F(KubeletTest, InitContainersAndSidecarsRunInOrder) {
    runtime.behavior = [](const cri::ContainerConfig& config) {
        return config.metadata->name == "init" ? sim::Behavior{.runs_for = 3s} : sim::Behavior{};
    };
    add("p", R"({"initContainers":[{"name":"proxy","image":"image:1","restartPolicy":"Always"},{"name":"init","image":"image:1"}],
                 "containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return pod("p").status.phase == "Pending" && runtime.find("p", "init"); }));
    EXPECT_THAT(runtime.running("p"), ElementsAre("init", "proxy"));
    ASSERT_TRUE(until([&] { return ready("p"); }));
    EXPECT_THAT(runtime.running("p"), ElementsAre("a", "proxy"));
}

TEST_F(KubeletTest, MissingImagesAreToldAndTriedAgain) {
    runtime.missing_images = {"nowhere/image:1"};
    add("p", R"({"containers":[{"name":"a","image":"nowhere/image:1"}]})");
    ASSERT_TRUE(until([&] { return waiting("p") == "ErrImagePull"; }));
    ASSERT_TRUE(until([&] { return waiting("p") == "ImagePullBackOff"; }));
    EXPECT_THAT(pod("p").status.container_statuses[0].state.waiting->message,
                HasSubstr("Back-off pulling image \"nowhere/image:1\": ErrImagePull: "));
    EXPECT_THAT(events("Failed"), Contains("Error: ErrImagePull"));
    runtime.missing_images.clear();
    EXPECT_TRUE(until([&] { return ready("p"); }));
    EXPECT_THAT(events("Pulled"), Contains(HasSubstr("Successfully pulled image \"nowhere/image:1\" in ")));
}

TEST_F(KubeletTest, OtherReasonsForNotStarting) {
    struct {
        const char* name;
        const char* spec;
        const char* reason;
    } const rows[] = {
        {"never", R"({"containers":[{"name":"a","image":"absent:1","imagePullPolicy":"Never"}]})", "ErrImageNeverPull"},
        {"name", R"({"containers":[{"name":"a","image":"Bad Name"}]})", "InvalidImageName"},
        {"config", R"({"containers":[{"name":"a","image":"image:1","envFrom":[{"configMapRef":{"name":"none"}}]}]})",
         "CreateContainerConfigError"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        add(row.name, row.spec);
        EXPECT_TRUE(until([&] { return waiting(row.name) == row.reason; }));
    }
    core::ConfigMap map;
    map.metadata.name = "none";
    map.metadata.namespace_ = "default";
    api.put(map);
    EXPECT_TRUE(until([&] { return ready("config"); }));
}

// IMG-08
TEST_F(KubeletTest, AnImageThatMayNotBePulledAndIsOfNoUseIsToldWithTheReason) {
    runtime.unusable_images["app:1"] = "ImageOSVersionMismatch: the image is for Windows 10.0.17763.1";
    add("p", R"({"containers":[{"name":"a","image":"app:1","imagePullPolicy":"Never"}]})");
    ASSERT_TRUE(until([&] { return waiting("p") == "ErrImageNeverPull"; }));
    EXPECT_EQ(pod("p").status.container_statuses[0].state.waiting->message,
              "Container image \"app:1\" is not present with pull policy of Never: ImageOSVersionMismatch: the image is for Windows "
              "10.0.17763.1");
}

TEST_F(KubeletTest, ProbesDecideReadinessAndRestart) {
    bool healthy = true, prepared = false;
    prober.on_http = [&](const HttpTarget& target) {
        EXPECT_EQ(target.host, "10.244.0.1");
        const bool well = target.path == "/live" ? healthy : prepared;
        return ProbeOutcome{.success = well, .output = well ? "ok" : "HTTP probe failed with statuscode: 500"};
    };
    add("p", R"({"containers":[{"name":"a","image":"image:1","ports":[{"name":"web","containerPort":80}],
        "livenessProbe":{"httpGet":{"path":"/live","port":"web"},"periodSeconds":5,"failureThreshold":2},
        "readinessProbe":{"httpGet":{"path":"/ready","port":80},"periodSeconds":2}}]})");
    ASSERT_TRUE(until([&] { return pod("p").status.phase == "Running"; }));
    loop.advance(10s);
    EXPECT_FALSE(ready("p"));
    prepared = true;
    EXPECT_TRUE(until([&] { return ready("p"); }, 5s));
    healthy = false;
    EXPECT_TRUE(until([&] { return runtime.find("p", "a")->config.metadata->attempt == 1; }, 20s));
    EXPECT_THAT(events("Killing"), Contains("Container a failed liveness probe, will be restarted"));
    EXPECT_THAT(events("Unhealthy"), Contains("Liveness probe failed: HTTP probe failed with statuscode: 500"));
    healthy = true;
    EXPECT_TRUE(until([&] { return ready("p"); }));
}

TEST_F(KubeletTest, ALostSandboxIsMadeAnew) {
    add("p", OneContainer);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    runtime.kill_sandbox("p");
    EXPECT_TRUE(until([&] { return pod("p").status.pod_ip == "10.244.0.2" && ready("p"); }));
    EXPECT_EQ(pod("p").status.container_statuses[0].restart_count, 1);
    EXPECT_THAT(events("SandboxChanged"), Contains("Pod sandbox changed, it will be killed and re-created."));
    EXPECT_THAT(runtime.calls(), Contains("StopPodSandbox")) << "the lost one still holds its addresses";
}

TEST_F(KubeletTest, ARestartedKubeletAdoptsWhatRuns) {
    add("p", OneContainer);
    add("q", OneContainer);
    ASSERT_TRUE(until([&] { return ready("p") && ready("q"); }));
    const std::string id = runtime.find("p", "a")->status.id;
    stop();
    EXPECT_THAT(runtime.running("p"), ElementsAre("a"));
    api.erase<core::Pod>({"default", "q"});  // while nobody looked
    start();
    EXPECT_TRUE(until([&] { return runtime.running("q").empty(); }, 60s));
    loop.advance(5min);
    EXPECT_EQ(runtime.find("p", "a")->status.id, id);
    EXPECT_EQ(pod("p").status.container_statuses[0].restart_count, 0);
    EXPECT_TRUE(ready("p"));
}

TEST_F(KubeletTest, AVanishedPodIsEndedEvenIfTheApiForgotIt) {
    add("p", OneContainer);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    api.erase<core::Pod>({"default", "p"});
    EXPECT_TRUE(until([&] { return runtime.containers().empty() && runtime.sandboxes().empty(); }, 60s));
}

/// As after a loss of power: its containers have ended, and nobody has removed them.
TEST_F(KubeletTest, VolumesOfAPodThatHasGoneMeanwhileDoNotWaitForTheRemovalOfItsContainers) {
    add("p", OneContainer);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const std::string folder = "/var/lib/kubelet/pods/" + pod("p").metadata.uid;
    stop();
    runtime.exit("p", "a", 137);
    runtime.kill_sandbox("p");
    api.erase<core::Pod>({"default", "p"});
    EXPECT_TRUE(files.exists(folder));
    start();
    EXPECT_TRUE(until([&] { return !files.exists(folder); }, 10s));
    EXPECT_FALSE(runtime.containers().empty());
}

TEST_F(KubeletTest, NothingOfAPodGoesBeforeTheRuntimeTellsWhatRuns) {
    add("p", OneContainer);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const std::string folder = "/var/lib/kubelet/pods/" + pod("p").metadata.uid;
    stop();
    api.erase<core::Pod>({"default", "p"});
    runtime.fault = [](const std::string&) { return Error(Reason::Unavailable, "connection refused"); };
    start();
    loop.advance(3min);
    EXPECT_TRUE(files.exists(folder)) << "its container may be running";
    runtime.fault = nullptr;
    EXPECT_TRUE(until([&] { return !files.exists(folder) && runtime.containers().empty(); }, 60s));
}

TEST_F(KubeletTest, ExtendedResourcesCountWhereTheNodeHasThem) {
    const auto wanting = [](int cards) {
        return R"({"containers":[{"name":"a","image":"image:1","resources":{"limits":{"example.com/card":")" + std::to_string(cards) +
               R"("},"requests":{"example.com/card":")" + std::to_string(cards) + R"("}}}]})";
    };
    add("early", wanting(9));
    ASSERT_TRUE(until([&] { return ready("early"); })) << "the node does not know them";
    api.change<core::Node>({"", "n1"}, [](core::Node& node) {
        node.status.capacity["example.com/card"] = node.status.allocatable["example.com/card"] = Quantity::from_value(10);
    });
    loop.advance(1s);
    add("late", wanting(2));
    ASSERT_TRUE(until([&] { return pod("late").status.phase == "Failed"; }));
    EXPECT_EQ(pod("late").status.reason, "OutOfexample.com/card");
    add("small", wanting(1));
    EXPECT_TRUE(until([&] { return ready("small"); }));
}

TEST_F(KubeletTest, APodThatDoesNotFitFails) {
    add("big", R"({"containers":[{"name":"a","image":"image:1","resources":{"requests":{"cpu":"5"}}}]})");
    ASSERT_TRUE(until([&] { return pod("big").status.phase == "Failed"; }));
    EXPECT_EQ(pod("big").status.reason, "OutOfcpu");
    EXPECT_EQ(pod("big").status.message,
              "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000");
    EXPECT_THAT(runtime.sandboxes(), IsEmpty());
    api.remove<core::Pod>({"default", "big"});
    EXPECT_TRUE(until([&] { return !exists("big"); }));
}

TEST_F(KubeletTest, APodWhoseHostPortIsTakenFails) {
    const std::string side_car = R"({"initContainers":[{"name":"i","image":"image:1","restartPolicy":"Always",
        "ports":[{"containerPort":80,"hostPort":8080}]}],"containers":[{"name":"a","image":"image:1"}]})";
    add("p", side_car);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    add("q", R"({"containers":[{"name":"a","image":"image:1","ports":[{"containerPort":80,"hostPort":8080}]}]})");
    ASSERT_TRUE(until([&] { return pod("q").status.phase == "Failed"; }));
    EXPECT_EQ(pod("q").status.reason, "NodePorts");
    EXPECT_EQ(pod("q").status.message,
              "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports");
}

TEST_F(KubeletTest, APodWithAnAppArmorProfileNeedsAKernelThatEnforcesIt) {
    const std::string wanted =
        R"({"containers":[{"name":"a","image":"image:1","securityContext":{"appArmorProfile":{"type":"RuntimeDefault"}}}]})";
    const std::map<std::string, std::string> annotation = {{"container.apparmor.security.beta.kubernetes.io/a", "localhost/mine"}};
    add("p", wanted);
    add("annotated", OneContainer, annotation);
    for (const char* name : {"p", "annotated"}) {
        ASSERT_TRUE(until([&] { return pod(name).status.phase == "Failed"; })) << name;
        EXPECT_EQ(pod(name).status.reason, "AppArmor");
        EXPECT_EQ(pod(name).status.message, "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host");
    }
    add("unconfined", R"({"securityContext":{"appArmorProfile":{"type":"Unconfined"}},"containers":[{"name":"a","image":"image:1"}]})");
    EXPECT_TRUE(until([&] { return ready("unconfined"); }));

    stop();
    ASSERT_TRUE(files.create_directories("/sys/kernel/security/apparmor", 0755));
    ASSERT_TRUE(files.create_directories("/sys/module/apparmor/parameters", 0755));
    ASSERT_TRUE(files.write("/sys/module/apparmor/parameters/enabled", "Y\n", 0444));
    start();
    add("q", wanted);
    add("other", OneContainer, annotation);
    EXPECT_TRUE(until([&] { return ready("q") && ready("other"); }));
    add("unnamed", R"({"containers":[{"name":"a","image":"image:1","securityContext":{"appArmorProfile":{"type":"Localhost"}}}]})");
    ASSERT_TRUE(until([&] { return pod("unnamed").status.phase == "Failed"; }));
    EXPECT_EQ(pod("unnamed").status.message, "Pod was rejected: Cannot enforce AppArmor: invalid empty AppArmor profile name");
}

TEST_F(KubeletTest, ConfigMapsAndSecretsBecomeFilesThatFollowTheApi) {
    core::ConfigMap map;
    map.metadata.name = "settings";
    map.metadata.namespace_ = "default";
    map.data = {{"color", "red"}};
    api.put(map);
    add("p", R"({"volumes":[{"name":"v","configMap":{"name":"settings"}},{"name":"e","emptyDir":{}}],
        "containers":[{"name":"a","image":"image:1","volumeMounts":[{"name":"v","mountPath":"/etc/settings"},{"name":"e","mountPath":"/tmp/e"}]}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    std::string directory;
    for (const cri::Mount& mount : runtime.find("p", "a")->config.mounts)
        if (mount.container_path == "/etc/settings") directory = mount.host_path;
    EXPECT_THAT(directory, HasSubstr("/volumes/kubernetes.io~configmap/v"));
    EXPECT_EQ(files.read(directory + "/color").value(), "red");
    map.data = {{"color", "blue"}, {"size", "9"}};
    api.put(map);
    EXPECT_TRUE(until([&] { return files.read(directory + "/color").value_or("") == "blue"; }, 120s));
    EXPECT_EQ(files.read(directory + "/size").value(), "9");
}

TEST_F(KubeletTest, AMissingVolumeSourceKeepsThePodWaiting) {
    add("p", R"({"volumes":[{"name":"v","secret":{"secretName":"none"}}],
        "containers":[{"name":"a","image":"image:1","volumeMounts":[{"name":"v","mountPath":"/s"}]}]})");
    loop.advance(10s);
    EXPECT_EQ(waiting("p"), "ContainerCreating");
    EXPECT_THAT(events("FailedMount"), Contains(HasSubstr("MountVolume.SetUp failed for volume \"v\" : ")));
    core::Secret secret;
    secret.metadata.name = "none";
    secret.metadata.namespace_ = "default";
    api.put(secret);
    EXPECT_TRUE(until([&] { return ready("p"); }));
}

TEST_F(KubeletTest, HooksRunAroundAContainersLife) {
    std::vector<std::string> executed;
    runtime.on_exec = [&](const cri::ContainerConfig&, const cri::ExecSyncRequest& request) {
        executed.push_back(request.cmd[0]);
        return cri::ExecSyncResponse();
    };
    add("p", R"({"containers":[{"name":"a","image":"image:1","lifecycle":{"postStart":{"exec":{"command":["hello"]}},
        "preStop":{"exec":{"command":["bye"]}}}}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    EXPECT_THAT(executed, ElementsAre("hello"));
    api.remove<core::Pod>({"default", "p"});
    ASSERT_TRUE(until([&] { return !exists("p"); }));
    EXPECT_THAT(executed, ElementsAre("hello", "bye"));
}

TEST_F(KubeletTest, StaticPodsRunAndAreMirrored) {
    ASSERT_TRUE(files.write("/etc/manifests/web.yaml",
                            "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: kube-system}\n"
                            "spec:\n  containers:\n  - {name: a, image: 'image:1'}\n",
                            0644));
    ASSERT_TRUE(until([&] { return !runtime.running("web-n1").empty(); }));
    const auto mirror = [&] { return api.find<core::Pod>({"kube-system", "web-n1"}); };
    ASSERT_TRUE(until([&] { return mirror() && objects::is_ready(*mirror()); }));
    EXPECT_EQ(mirror()->metadata.owner_references[0].kind, "Node");
    api.erase<core::Pod>({"kube-system", "web-n1"});
    EXPECT_TRUE(until([&] { return mirror() && objects::is_ready(*mirror()); }));
    EXPECT_THAT(runtime.running("web-n1"), ElementsAre("a"));
    ASSERT_TRUE(files.remove("/etc/manifests/web.yaml"));
    EXPECT_TRUE(until([&] { return !mirror() && runtime.containers().empty(); }, 60s));
}

TEST_F(KubeletTest, AStaticPodWhoseManifestIsMovedAwayAndBackStartsAgain) {
    runtime.behavior = [](const cri::ContainerConfig&) { return sim::Behavior{.stops_after = 10s}; };
    const auto write = [&] {
        ASSERT_TRUE(files.write("/etc/manifests/web.yaml",
                                "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: 'image:1'}]}\n",
                                0644));
    };
    write();
    ASSERT_TRUE(until([&] { return ready("web-n1"); }));
    const std::string before = runtime.find("web-n1", "a")->status.id;
    for (const Duration pause : {Duration(4s), Duration(1min)}) {
        ASSERT_TRUE(files.remove("/etc/manifests/web.yaml"));
        loop.advance(pause);
        write();
        EXPECT_TRUE(until([&] { return runtime.find("web-n1", "a") && runtime.find("web-n1", "a")->status.id != before; }, 60s));
        EXPECT_TRUE(until([&] { return ready("web-n1"); })) << "which its mirror shows";
        EXPECT_THAT(runtime.running("web-n1"), ElementsAre("a"));
    }
    ASSERT_TRUE(files.remove("/etc/manifests/web.yaml"));
    loop.advance(4s);
    write();
    loop.advance(2s);
    ASSERT_TRUE(files.remove("/etc/manifests/web.yaml"));
    EXPECT_TRUE(until([&] { return runtime.containers().empty(); }, 60s));
    loop.advance(1min);
    EXPECT_TRUE(runtime.containers().empty()) << "and it was moved away again";
}

TEST_F(KubeletTest, WhatOthersSayInAPodsStatusStays) {
    add("p", OneContainer);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const auto change = [&](const char* name) {
        api.change<core::Pod>({"default", "p"}, [&](core::Pod& p) {
            p.status.nominated_node_name = name;
            p.status.resource_claim_statuses.resize(1);
            p.status.resource_claim_statuses[0].name = name;
            p.status.extended_resource_claim_status.emplace().resource_claim_name = name;
        });
    };
    for (const char* name : {"one", "two"}) {
        change(name);
        runtime.exit("p", "a", 1);  // so that there is something to report
        loop.advance(1min);
        const core::PodStatus now = pod("p").status;
        EXPECT_EQ(now.nominated_node_name, name);
        ASSERT_EQ(now.resource_claim_statuses.size(), 1u);
        EXPECT_EQ(now.resource_claim_statuses[0].name, name);
        ASSERT_TRUE(now.extended_resource_claim_status);
        EXPECT_EQ(now.extended_resource_claim_status->resource_claim_name, name);
    }
}

// IMG-03
// KBL-31, LIM-56
// RUN-01, RUN-04
// RUN-04
TEST_F(KubeletTest, AFullDiskIsToldAndPodsStartOnceThereIsRoom) {
    loop.advance(5s);
    files.fail_writes(true);
    add("p", OneContainer);
    loop.advance(10s);
    EXPECT_EQ(waiting("p"), "ContainerCreating");
    EXPECT_THAT(events("FailedToMakePodDataDirectories"), Contains(HasSubstr("No space left on device")));
    files.fail_writes(false);
    EXPECT_TRUE(until([&] { return ready("p"); }));
}

TEST_F(KubeletTest, RecursiveReadOnlyMountsNeedAHandlerThatCanMakeThem) {
    const auto spec = [](const std::string& mode) {
        return R"({"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"a","image":"image:1","volumeMounts":[)"
               R"({"name":"v","mountPath":"/v","readOnly":true,"recursiveReadOnly":")" +
               mode + R"("}]}]})";
    };
    add("refused", spec("Enabled"));
    add("possible", spec("IfPossible"));
    ASSERT_TRUE(until([&] { return ready("possible") && waiting("refused") == "CreateContainerConfigError"; }));
    EXPECT_EQ(pod("refused").status.container_statuses[0].state.waiting->message,
              "volume \"v\" requested recursive read-only mode, but it is not supported by the runtime");
    EXPECT_EQ(pod("possible").status.container_statuses[0].volume_mounts[0].recursive_read_only, "Disabled");
    cri::RuntimeHandler handler;
    handler.features.emplace().recursive_read_only_mounts = true;
    runtime.handlers = {handler};
    ASSERT_TRUE(until([&] { return ready("refused"); }, 60s));
    EXPECT_TRUE(runtime.find("refused", "a")->config.mounts[0].recursive_read_only);
    EXPECT_EQ(pod("refused").status.container_statuses[0].volume_mounts[0].recursive_read_only, "Enabled");
    ASSERT_TRUE(until([&] { return !api.find<core::Node>({"", "n1"})->status.runtime_handlers.empty(); }, 6min));
    EXPECT_TRUE(*api.find<core::Node>({"", "n1"})->status.runtime_handlers[0].features->recursive_read_only_mounts);
}

TEST_F(KubeletTest, ABlockVolumeReachesItsContainerAsADevice) {
    ASSERT_TRUE(files.create_directories("/dev", 0755));
    files.add_special("/dev/loop9", FileType::BlockDevice);
    core::PersistentVolumeClaim claim;
    claim.metadata.name = "raw";
    claim.metadata.namespace_ = "default";
    claim.spec.volume_name = "pv1";
    claim.status.phase = "Bound";
    core::PersistentVolume volume;
    volume.metadata.name = "pv1";
    volume.spec.volume_mode = "Block";
    volume.spec.local.emplace().path = "/dev/loop8";
    volume.spec.claim_ref.emplace().uid = api.put(claim).metadata.uid;
    api.put(volume);
    add("p", R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"raw"}}],"containers":[{"name":"a","image":"image:1",)"
             R"("volumeDevices":[{"name":"v","devicePath":"/dev/x"}]}]})");
    ASSERT_TRUE(until([&] { return !events("FailedMapVolume").empty(); }));
    EXPECT_EQ(events("FailedMapVolume")[0], "MapVolume.MapPodDevice failed for volume \"pv1\" : path \"/dev/loop8\" does not exist");
    api.change<core::PersistentVolume>({"", "pv1"}, [](auto& one) { one.spec.local->path = "/dev/loop9"; });
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const auto& devices = runtime.find("p", "a")->config.devices;
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0].host_path, "/dev/loop9");
    EXPECT_EQ(devices[0].container_path, "/dev/x");
}

TEST_F(KubeletTest, HugePagesAreTheNodesAndLimitTheirContainers) {
    stop();
    for (const auto& [name, count] : {std::pair("2048kB", "16\n"), std::pair("1048576kB", "0\n")}) {
        const std::string folder = std::string("/sys/kernel/mm/hugepages/hugepages-") + name;
        ASSERT_TRUE(files.create_directories(folder, 0755));
        ASSERT_TRUE(files.write(folder + "/nr_hugepages", count, 0644));
    }
    start();
    const auto node = [&] { return api.find<core::Node>({"", "n1"}).value_or(core::Node()).status; };
    ASSERT_TRUE(until([&] { return node().capacity["hugepages-2Mi"].to_string() == "32Mi"; }));
    EXPECT_EQ(node().allocatable["hugepages-2Mi"].to_string(), "32Mi");
    EXPECT_EQ(node().capacity["hugepages-1Gi"].to_string(), "0");
    EXPECT_EQ(node().allocatable["memory"].value(), (8ll << 30) - (100ll << 20) - (32ll << 20));
    add("p", R"({"containers":[{"name":"a","image":"image:1","resources":{"limits":{"memory":"1Gi","hugepages-2Mi":"4Mi"},)"
             R"("requests":{"memory":"1Gi","hugepages-2Mi":"4Mi"}}}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const auto& limits = runtime.find("p", "a")->config.linux->resources->hugepage_limits;
    ASSERT_EQ(limits.size(), 1u);
    EXPECT_EQ(limits[0].page_size, "2MB");
    EXPECT_EQ(limits[0].limit, 4u << 20);
}

TEST_F(KubeletTest, PodsWaitForTheNetwork) {
    runtime.network_ready = false;
    loop.advance(10s);
    add("p", OneContainer);
    add("h", R"({"hostNetwork":true,"containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return ready("h"); }));
    EXPECT_EQ(pod("h").status.pod_ip, "192.0.2.1");
    loop.advance(10s);
    EXPECT_FALSE(ready("p"));
    EXPECT_THAT(events("NetworkNotReady"), Contains(HasSubstr("network is not ready: ")));
    runtime.network_ready = true;
    EXPECT_TRUE(until([&] { return ready("p"); }));
}

TEST_F(KubeletTest, MemoryPressureIsToldAndCostsAPodThatAskedForNothing) {
    add("modest", R"({"containers":[{"name":"a","image":"image:1","resources":{"requests":{"memory":"1Gi"}}}]})");
    add("greedy", OneContainer);
    ASSERT_TRUE(until([&] { return ready("modest") && ready("greedy"); }));
    runtime.memory = [](const std::string& pod) { return pod == "greedy" ? 500ull << 20 : 100ull << 20; };
    host.now.memory_available = 50 << 20;
    ASSERT_TRUE(until([&] { return pod("greedy").status.phase == "Failed"; }));
    EXPECT_TRUE(runtime.running("greedy").empty()) << "what it used is said to be free";
    host.now.memory_available = 4ll << 30;
    EXPECT_EQ(pod("greedy").status.reason, "Evicted");
    EXPECT_EQ(
        pod("greedy").status.message,
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container a was using 500Mi, request is 0, "
        "has larger consumption of memory. ");
    const auto pressure = [&] { return api.find<core::Node>({"", "n1"})->status.conditions[0]; };
    EXPECT_TRUE(until([&] { return pressure().type == "MemoryPressure" && pressure().status == "True"; }));
    EXPECT_TRUE(until([&] { return pressure().status == "False"; }, 6min));
    EXPECT_TRUE(ready("modest"));
}

TEST_F(KubeletTest, PodsThatWriteMoreThanTheirLimitsAreEvicted) {
    const auto volume = [&](const std::string& name) {
        return "/var/lib/kubelet/pods/" + pod(name).metadata.uid + "/volumes/kubernetes.io~empty-dir/v";
    };
    const auto with = [](const std::string& empty_dir, const std::string& limits) {
        return R"({"volumes":[{"name":"v","emptyDir":)" + empty_dir +
               R"(}],"containers":[{"name":"a","image":"image:1","resources":{"limits":)" + limits +
               R"(},"volumeMounts":[{"name":"v","mountPath":"/v"}]},{"name":"b","image":"image:1"}]})";
    };
    add("volume", with(R"({"sizeLimit":"1Mi"})", "{}"));
    add("pod", with("{}", R"({"ephemeral-storage":"1Mi"})"));
    add("container", with("{}", R"({"ephemeral-storage":"1Mi"})"));
    add("modest", with(R"({"sizeLimit":"1Mi"})", R"({"ephemeral-storage":"4Mi"})"));
    add("critical", R"({"priority":2000000000,)" + with(R"({"sizeLimit":"1Mi"})", "{}").substr(1));
    for (const char* name : {"volume", "pod", "container", "modest", "critical"}) ASSERT_TRUE(until([&] { return ready(name); })) << name;
    for (const char* name : {"volume", "critical"}) ASSERT_TRUE(files.write(volume(name) + "/f", std::string((1 << 20) + 1, 'x'), 0644));
    ASSERT_TRUE(files.write(volume("modest") + "/f", std::string(1 << 20, 'x'), 0644));
    ASSERT_TRUE(files.write(volume("pod") + "/f", std::string(600 << 10, 'x'), 0644));
    runtime.written = [](const std::string& name) { return name == "pod" ? 300u << 10 : name == "container" ? 600u << 10 : 0; };
    ASSERT_TRUE(
        files.write("/var/log/pods/default_container_" + pod("container").metadata.uid + "/a/0.log", std::string(500 << 10, 'x'), 0644));
    const auto message = [&](const std::string& name) {
        EXPECT_TRUE(until([&] { return pod(name).status.reason == "Evicted"; }, 90s)) << name;
        EXPECT_EQ(pod(name).status.phase, "Failed");
        return pod(name).status.message;
    };
    EXPECT_EQ(message("volume"), "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". ");
    EXPECT_EQ(message("pod"), "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ");
    EXPECT_THAT(message("container"), HasSubstr("exceeds the total limit of containers 1Mi. "));
    EXPECT_THAT(events("Evicted"), Contains("Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". "));
    loop.advance(90s);
    EXPECT_TRUE(ready("modest"));
    EXPECT_TRUE(ready("critical"));
}

TEST_F(KubeletTest, AContainerThatWritesMoreThanItsOwnLimitCostsThePod) {
    add("p", R"({"containers":[{"name":"a","image":"image:1","resources":{"limits":{"ephemeral-storage":"1Mi"}}},)"
             R"({"name":"b","image":"image:1","resources":{"limits":{"ephemeral-storage":"9Mi"}}}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    runtime.written = [](const std::string&) { return 2u << 20; };
    ASSERT_TRUE(until([&] { return pod("p").status.reason == "Evicted"; }));
    EXPECT_EQ(pod("p").status.message, "Container a exceeded its local ephemeral storage limit \"1Mi\". ");
}

TEST_F(KubeletTest, APodThatIsEndedHasFailedWhenNothingOfItRuns) {
    runtime.behavior = [](const cri::ContainerConfig&) { return sim::Behavior{.stops_after = 10s}; };
    add("p", R"({"activeDeadlineSeconds":20,"containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    loop.advance(25s);
    EXPECT_FALSE(runtime.running("p").empty());
    EXPECT_EQ(pod("p").status.phase, "Running") << "its place would be given to another pod";
    EXPECT_EQ(pod("p").status.reason, "");
    EXPECT_TRUE(until([&] { return pod("p").status.phase == "Failed"; }, 15s));
    EXPECT_TRUE(runtime.running("p").empty());
    EXPECT_EQ(pod("p").status.reason, "DeadlineExceeded");
}

TEST_F(KubeletTest, ActiveDeadlineEndsThePod) {
    add("p", R"({"activeDeadlineSeconds":20,"containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    EXPECT_TRUE(until([&] { return pod("p").status.phase == "Failed"; }, 25s));
    EXPECT_EQ(pod("p").status.reason, "DeadlineExceeded");
    EXPECT_TRUE(runtime.running("p").empty());
}

TEST_F(KubeletTest, ManyPodsStartAndEndThroughALossyApi) {
    int calls = 0;
    api.set_fault([&](const client::ApiRequest&) {
        return ++calls % 5 == 0 ? std::optional<Error>(Error(Reason::ServiceUnavailable, "busy")) : std::nullopt;
    });
    runtime.latency = 20ms;
    for (int i = 0; i < 30; ++i) add("p" + std::to_string(i), OneContainer);
    const auto all = [&](const std::function<bool(const std::string&)>& holds) {
        for (int i = 0; i < 30; ++i)
            if (!holds("p" + std::to_string(i))) return false;
        return true;
    };
    ASSERT_TRUE(until([&] { return all([&](const std::string& name) { return ready(name); }); }, 120s));
    for (int i = 0; i < 30; ++i) api.remove<core::Pod>({"default", "p" + std::to_string(i)});
    EXPECT_TRUE(until([&] { return all([&](const std::string& name) { return !exists(name); }) && runtime.containers().empty(); }, 120s));
    const auto patches =
        std::count_if(api.requests().begin(), api.requests().end(), [](const auto& seen) { return seen.method == "PATCH"; });
    EXPECT_LT(patches, 30 * 12);
}

}  // namespace
}  // namespace porthole::kubelet
