#include "kubelet/preparation/pod_preparer.h"

#include "kubelet/volumes/volumes_fixture.h"

namespace porthole::kubelet {
namespace {

using testing::ElementsAre;

/// A node without a kubelet.
struct PodPreparerTest : VolumesTest {
    PodPreparerTest() {
        node.network_problem = "";
        node.runtime_version = "containerd://1.6.20";
        node.allocatable = allocatable;
    }
    Result<std::optional<Rejection>> prepare(const std::string& spec, bool for_new_sandbox = true) {
        core::Pod made =
            schema::decode_json<core::Pod>(R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":)" + spec + "}").value();
        pod = std::make_shared<core::Pod>(std::move(made));
        return porthole::sim::run(loop, preparer.prepare(pod, PodRuntimeState(), for_new_sandbox, prepared));
    }
    /// Reasons of the events until now.
    std::vector<std::string> reasons() {
        Scope scope(loop);
        scope.spawn(events.run());
        loop.advance(1s);
        EXPECT_TRUE(porthole::sim::run(loop, scope.close()));
        std::vector<std::string> found;
        for (const core::Event& event : api.list<core::Event>()) found.push_back(event.reason);
        return found;
    }

    static constexpr const char* Plain =
        R"({"containers":[{"name":"c","volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v","emptyDir":{}}]})";
    static constexpr const char* WithUsers = R"({"hostUsers":false,"containers":[{"name":"c"}]})";

    NodeFacts node;
    NoCgroups cgroups;
    client::Informers informers{{loop, client, random, Logger(make_null_sink(), "")}};
    PodFootprint footprint{files, cgroups, manager, node};
    PodDevices devices{nullptr, nullptr, events};
    PodReferences references{client, objects, informers.get<core::Service>(), events};
    UserNamespaces users{files, random, Logger(make_null_sink(), ""), {.pods_directory = "/k/pods"}};
    PodPreparer preparer{node, footprint, devices, references, &users, events};
    PreparedPod prepared;
};

TEST_F(PodPreparerTest, GivesVolumesAndHostNameAndTakesThemBack) {
    const auto rejection = prepare(Plain);
    ASSERT_TRUE(rejection) << rejection.error().message;
    EXPECT_FALSE(*rejection);
    EXPECT_EQ(prepared.hostname.hostname, "p");
    EXPECT_FALSE(prepared.users);
    EXPECT_TRUE(files.exists(prepared.volumes.at("v").path));
    EXPECT_TRUE(porthole::sim::run(loop, preparer.release(pod)));
    EXPECT_FALSE(files.exists("/k/pods/u"));
}

TEST_F(PodPreparerTest, WaitsForTheNetworkUnlessThePodUsesTheHosts) {
    node.network_problem = "no CNI configuration";
    const auto waiting = prepare(Plain);
    ASSERT_FALSE(waiting);
    EXPECT_EQ(waiting.error().reason, Reason::Unavailable);
    EXPECT_FALSE(files.exists("/k/pods/u"));
    EXPECT_THAT(reasons(), ElementsAre("NetworkNotReady"));
    EXPECT_TRUE(prepare(R"({"hostNetwork":true,"containers":[{"name":"c"}]})"));
}

TEST_F(PodPreparerTest, RejectsAPodWhoseUserNamespaceTheRuntimeCannotMake) {
    const auto rejection = prepare(WithUsers);
    ASSERT_TRUE(rejection && *rejection);
    EXPECT_EQ((*rejection)->reason, PodPreparer::NoUserNamespaces);
    EXPECT_FALSE(prepared.users);
    EXPECT_THAT(reasons(), ElementsAre(PodPreparer::NoUserNamespaces));
}

TEST_F(PodPreparerTest, KeepsTheUsersOfASandboxUntilThePodIsReleased) {
    node.runtime_handlers.emplace_back().features.emplace().user_namespaces = true;
    ASSERT_TRUE(prepare(WithUsers));
    const auto first = prepared.users;
    ASSERT_TRUE(first);
    node.runtime_handlers.clear();
    ASSERT_TRUE(prepare(WithUsers, false)) << "the sandbox that there is has them already";
    EXPECT_EQ(prepared.users, first);
    EXPECT_TRUE(porthole::sim::run(loop, preparer.release(pod)));
    EXPECT_FALSE(prepare(WithUsers, false));
}

TEST_F(PodPreparerTest, StaleVolumesGoAndUsersStayIfThePodIsBack) {
    node.runtime_handlers.emplace_back().features.emplace().user_namespaces = true;
    ASSERT_TRUE(prepare(WithUsers));
    bool back = true;
    EXPECT_TRUE(porthole::sim::run(loop, preparer.release_stale("u", [&] { return back; })));
    EXPECT_FALSE(files.exists("/k/pods/u"));
    EXPECT_TRUE(users.find("u"));
    back = false;
    EXPECT_TRUE(porthole::sim::run(loop, preparer.release_stale("u", [&] { return back; })));
    EXPECT_FALSE(users.find("u"));
}

}  // namespace
}  // namespace porthole::kubelet
