// Pods with user namespaces of their own (hostUsers: false).
#include "api/node_v1.h"
#include "kubelet/kubelet_fixture.h"

namespace porthole::kubelet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct PodsWithUsers : KubeletTest {
    PodsWithUsers() {
        cri::RuntimeHandler able;
        able.features.emplace().user_namespaces = true;
        cri::RuntimeHandler unable;
        unable.name = "vm";
        unable.features.emplace();
        runtime.handlers = {able, unable};
    }
    static constexpr const char* Own =
        R"({"hostUsers":false,"containers":[{"name":"a","image":"image:1","terminationMessagePath":"/dev/termination-log",
            "volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v","emptyDir":{}}]})";

    /// What the runtime was told of the users of the pod's container.
    schema::Box<cri::UserNamespace> users(const std::string& pod) {
        const auto* found = runtime.find(pod, "a");
        return found ? found->config.linux->security_context->namespace_options->userns_options : std::nullopt;
    }
    std::uint32_t first_id(const std::string& pod) { return users(pod)->uids.at(0).host_id; }
    std::string record(const std::string& pod_name) { return "/var/lib/kubelet/pods/" + pod(pod_name).metadata.uid + "/userns"; }
    std::string metrics() {
        std::string text;
        kubelet->append_metrics(text);
        return text;
    }
};

TEST_F(PodsWithUsers, SandboxContainersAndMountsHaveTheIdsOfThePod) {
    add("p", Own);
    ASSERT_TRUE(until([&] { return ready("p"); }));
    ASSERT_TRUE(users("p"));
    EXPECT_EQ(users("p")->mode, cri::NamespaceMode::Pod);
    const cri::IDMapping mapping = users("p")->uids.at(0);
    EXPECT_THAT(users("p")->gids, ElementsAre(mapping));
    EXPECT_EQ(mapping.container_id, 0u);
    EXPECT_EQ(mapping.length, 65536u);
    EXPECT_GE(mapping.host_id, 65536u);
    const auto& config = runtime.find("p", "a")->config;
    EXPECT_EQ(config.mounts.size(), 3u) << "the volume, the hosts file and that of the termination message";
    for (const cri::Mount& mount : config.mounts) {
        SCOPED_TRACE(mount.container_path);
        EXPECT_THAT(mount.uid_mappings, ElementsAre(mapping));
        EXPECT_THAT(mount.gid_mappings, ElementsAre(mapping));
    }
    const cri::PodSandboxStatus& sandbox = runtime.sandboxes().at(runtime.find("p", "a")->sandbox_id);
    EXPECT_EQ(sandbox.linux->namespaces->options->userns_options, users("p"));
    EXPECT_THAT(metrics(), HasSubstr("kubelet_started_user_namespaced_pods_total 1\n"));
    EXPECT_THAT(metrics(), Not(HasSubstr("kubelet_started_user_namespaced_pods_errors_total")));
}

TEST_F(PodsWithUsers, OtherPodsHaveTheNodesUsers) {
    add("p", OneContainer);
    add("q", R"({"hostUsers":true,"containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return ready("p") && ready("q"); }));
    for (const char* name : {"p", "q"}) {
        EXPECT_FALSE(users(name));
        EXPECT_FALSE(files.exists(record(name)));
        for (const cri::Mount& mount : runtime.find(name, "a")->config.mounts) EXPECT_THAT(mount.uid_mappings, IsEmpty());
    }
    EXPECT_THAT(metrics(), Not(HasSubstr("user_namespaced")));
}

TEST_F(PodsWithUsers, TheIdsAreThePodsUntilItIsGone) {
    stop();
    for (const char* path : {"/etc/subuid", "/etc/subgid"}) ASSERT_TRUE(files.write(path, "kubelet:655360:131072\n", 0644));
    max_pods = 2;
    start();
    add("p", Own);
    add("q", Own);
    ASSERT_TRUE(until([&] { return ready("p") && ready("q"); }));
    const std::uint32_t one = first_id("p"), two = first_id("q");
    EXPECT_NE(one, two);

    stop();
    start();
    ASSERT_TRUE(until([&] { return ready("p"); }));
    runtime.exit("p", "a", 1);
    ASSERT_TRUE(until([&] { return pod("p").status.container_statuses[0].restart_count == 1 && ready("p"); }));
    EXPECT_EQ(first_id("p"), one) << "a container of the next kubelet";
    runtime.kill_sandbox("q");
    ASSERT_TRUE(until([&] { return runtime.sandboxes().size() > 2 && ready("q"); }, 60s));
    EXPECT_EQ(first_id("q"), two) << "another sandbox";

    const std::string of_p = record("p");
    ASSERT_TRUE(files.exists(of_p));
    api.change<core::Pod>({"default", "p"}, [&](core::Pod& changed) {
        changed.metadata.deletion_timestamp = Timestamp(loop.wall_now());
        changed.metadata.deletion_grace_period_seconds = 1;
    });
    ASSERT_TRUE(until([&] { return !exists("p"); }, 60s));
    EXPECT_FALSE(files.exists(of_p));
    add("r", Own);
    ASSERT_TRUE(until([&] { return ready("r"); }, 60s));
    EXPECT_EQ(first_id("r"), one) << "there are two ranges only";
}

TEST_F(PodsWithUsers, APodNeverRunsAsRootOfTheNodeInstead) {
    runtime.handlers.front().features->user_namespaces = false;
    loop.advance(6s);
    add("p", Own);
    ASSERT_TRUE(until([&] { return pod("p").status.phase == "Failed"; }));
    EXPECT_EQ(pod("p").status.reason, "UserNamespacesNotSupported");
    EXPECT_EQ(pod("p").status.message,
              "Pod was rejected: pod asks for a user namespace (hostUsers: false), which the node's container runtime "
              "containerd://1.6.20 does not support");
    EXPECT_THAT(events("UserNamespacesNotSupported"), ElementsAre(HasSubstr("containerd://1.6.20")));
    EXPECT_THAT(runtime.sandboxes(), IsEmpty());
    EXPECT_THAT(metrics(), HasSubstr("kubelet_started_user_namespaced_pods_errors_total 1\n"));

    runtime.handlers = {};  // as runtimes that do not know the question
    loop.advance(6s);
    add("q", Own);
    ASSERT_TRUE(until([&] { return pod("q").status.phase == "Failed"; }));
}

TEST_F(PodsWithUsers, TheHandlerOfTheRuntimeClassDecides) {
    api::node::v1::RuntimeClass machine;
    machine.metadata.name = "machine";
    machine.handler = "vm";
    api.put(machine);
    add("p", R"({"hostUsers":false,"runtimeClassName":"machine","containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return pod("p").status.phase == "Failed"; }));
    EXPECT_THAT(pod("p").status.message, HasSubstr("containerd://1.6.20 with the handler \"vm\" does not support"));
}

TEST_F(PodsWithUsers, ARecordThatCannotBeTrustedKeepsAPodFromStarting) {
    stop();
    ASSERT_TRUE(files.create_directories("/var/lib/kubelet/pods/other", 0750));
    ASSERT_TRUE(files.write("/var/lib/kubelet/pods/other/userns", "{}", 0600));
    add("p", Own);
    start();
    EXPECT_TRUE(until([&] { return ready("p"); }, 60s)) << "once what is left of the other pod has been removed";
    EXPECT_THAT(events("FailedCreatePodSandBox"),
                Contains(HasSubstr("/var/lib/kubelet/pods/other/userns, which records the ids of a pod, is damaged")));
}

}  // namespace
}  // namespace porthole::kubelet
