#include "provision/provisioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "api/core_v1.h"
#include "base/strings.h"
#include "provision/fake_machines.h"
#include "provision/recorded_steps.h"
#include "runtime/scope.h"
#include "schema/json/json.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;
using namespace api::core::v1;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Provision : testing::Test {
    static MachineDescription host(const std::string& name, const std::string& address) {
        return {.name = name,
                .pool = "web",
                .ssh = {.address = address, .user = "root"},
                .labels = {{"tier", "web"}},
                .taints = {"dedicated=web:NoSchedule"}};
    }
    /// What the run ends with; "" is success.
    std::string apply(std::vector<MachineDescription> machines) { return apply(machines_, std::move(machines)); }
    std::string apply(Transport& transport, std::vector<MachineDescription> machines) {
        steps.lines.clear();
        Provisioner provisioner({.loop = loop, .client = client, .transport = transport, .report = steps}, settings);
        const auto done = sim::run(loop, provisioner.apply(std::move(machines)));
        return done ? "" : done.error().message;
    }
    std::vector<std::string> plan(std::vector<MachineDescription> machines) {
        std::vector<std::string> lines;
        Provisioner provisioner({.loop = loop, .client = client, .transport = machines_, .report = steps}, settings);
        EXPECT_TRUE(sim::run(loop, provisioner.plan(std::move(machines), [&](const std::string& line) { lines.push_back(line); })));
        return lines;
    }
    std::map<std::string, std::string> inventory() {
        const auto found = api.find<ConfigMap>({"kube-system", "porthole-machines"});
        return found ? found->data : std::map<std::string, std::string>();
    }
    std::optional<Node> node(const std::string& name) { return api.find<Node>({"", name}); }
    void put_volume_of(const std::string& node) {
        api.change<Node>({"", node}, [&](Node& changed) { changed.metadata.labels["kubernetes.io/hostname"] = node; });
        api.put(schema::decode_json<PersistentVolume>(
                    R"({"metadata": {"name": "v"}, "spec": {"claimRef": {"namespace": "default", "name": "data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In",
            "values": [")" +
                    node + R"("]}]}]}}}})")
                    .value());
    }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    FakeMachines machines_{loop, api};
    RecordedSteps steps;
    ProvisionSettings settings{.server = "https://10.0.0.5:6443",
                               .ca_hash = "sha256:aa",
                               .linux_payload = {"/usr/bin/porthole", "new"},
                               .windows_remedy = "no zip"};
    const std::vector<MachineDescription> both = {host("web-1", "192.0.2.1"), host("web-2", "192.0.2.2")};
};

// PRV-01, JOI-20
TEST_F(Provision, HostsOfTheDescriptionBecomeReadyNodes) {
    ASSERT_EQ(apply(both), "");
    EXPECT_THAT(steps.lines, ElementsAre("node web-1 Ready", "node web-2 Ready"));
    EXPECT_THAT(machines_.names("192.0.2.1"), ElementsAre("ask", "folder", "unpack", "place", "join"));
    EXPECT_EQ(machines_.at("192.0.2.1").copies, 1);
    const Node joined = *node("web-1");
    EXPECT_EQ(joined.metadata.labels.at("tier"), "web");
    ASSERT_EQ(joined.spec.taints.size(), 1U);
    EXPECT_EQ(joined.spec.taints[0].value, "web");
    EXPECT_EQ(inventory().size(), 2U);
    EXPECT_THAT(api.list<Secret>(), IsEmpty()) << "the token is deleted";
}

// PRV-07
TEST_F(Provision, AnotherRunChangesNothing) {
    ASSERT_EQ(apply(both), "");
    machines_.forget_seen();
    api.clear_requests();
    ASSERT_EQ(apply(both), "");
    EXPECT_THAT(steps.lines, ElementsAre("node web-1 as described", "node web-2 as described"));
    EXPECT_THAT(machines_.names("192.0.2.1"), ElementsAre("ask"));
    for (const auto& request : api.requests()) EXPECT_EQ(request.method, "GET") << request.path;
}

TEST_F(Provision, LabelsAndTaintsFollowTheDescriptionAndThoseOfOthersStay) {
    ASSERT_EQ(apply({both[0]}), "");
    api.change<Node>({"", "web-1"}, [](Node& changed) {
        changed.metadata.labels["own"] = "x";
        changed.spec.taints.push_back({.key = "own", .effect = "NoExecute"});
    });
    MachineDescription other = both[0];
    other.labels = {{"zone", "a"}};
    other.taints = {};
    ASSERT_EQ(apply({other}), "");
    EXPECT_EQ(node("web-1")->metadata.labels, (std::map<std::string, std::string>{{"own", "x"}, {"zone", "a"}}));
    ASSERT_EQ(node("web-1")->spec.taints.size(), 1U);
    EXPECT_EQ(node("web-1")->spec.taints[0].key, "own");
}

// PRV-07
TEST_F(Provision, OneMachineThatFailsIsNamedAndDoesNotStopTheOthers) {
    machines_.at("192.0.2.1").has_runtime = false;
    EXPECT_EQ(apply(both), "failed: web-1; fix the cause and run it again");
    EXPECT_THAT(steps.lines,
                ElementsAre(HasSubstr("machine web-1: containerd is not available at /run/containerd/containerd.sock; install"),
                            "node web-2 Ready"));
    machines_.at("192.0.2.1").has_runtime = true;
    EXPECT_EQ(apply(both), "");
    EXPECT_TRUE(node("web-1"));
}

// PRV-03
TEST_F(Provision, AMachineThatFailsHalfWayIsKnownAndCleanedWhenItIsTakenOut) {
    machines_.at("192.0.2.1").refuses_to_join = true;
    EXPECT_THAT(apply(both), HasSubstr("failed: web-1"));
    EXPECT_THAT(steps.lines, testing::Contains("node web-1 Ready: porthole join: porthole: the clock is wrong"));
    EXPECT_EQ(inventory().size(), 2U);
    EXPECT_THAT(api.list<Secret>(), IsEmpty()) << "the token is deleted in any case";
    EXPECT_EQ(apply({both[1]}), "");
    EXPECT_EQ(machines_.at("192.0.2.1").program, "") << "what was copied is deleted";
    EXPECT_EQ(inventory().size(), 1U);
}

// PRV-09
TEST_F(Provision, TheTokenIsPartOfNoCommandAndNoStep) {
    std::set<std::string> tokens;
    api.set_fault([&](const client::ApiRequest&) {
        for (const Secret& secret : api.list<Secret>()) tokens.insert(secret.data.at("token-secret"));
        return std::optional<Error>();
    });
    ASSERT_EQ(apply(both), "");
    ASSERT_EQ(tokens.size(), 2U) << "each machine has its own";
    for (const std::string& token : tokens) {
        ASSERT_EQ(token.size(), 16U);
        int given = 0;
        for (const auto& seen : machines_.seen()) {
            EXPECT_THAT(join(seen.words, " "), testing::Not(HasSubstr(token)));
            given += seen.input.find(token) != seen.input.npos;
        }
        EXPECT_EQ(given, 1) << "on standard input of one `join` alone";
        EXPECT_THAT(join(steps.lines, " "), testing::Not(HasSubstr(token)));
    }
}

// SEC-16
TEST_F(Provision, ATokenIsGoneAsSoonAsItsMachineHasJoined) {
    settings.parallel = 1;
    std::size_t most = 0;
    api.set_fault([&](const client::ApiRequest&) {
        most = std::max(most, api.list<Secret>().size());
        return std::optional<Error>();
    });
    ASSERT_EQ(apply(both), "");
    EXPECT_EQ(most, 1U);
}

// SEC-16
TEST_F(Provision, ARunThatIsCancelledWhileAMachineJoinsDeletesItsToken) {
    Provisioner provisioner({.loop = loop, .client = client, .transport = machines_, .report = steps}, settings);
    Scope scope(loop);
    scope.spawn(provisioner.apply(both));
    while (api.list<Secret>().empty()) loop.advance(10ms);
    ASSERT_TRUE(sim::run(loop, scope.close()));
    EXPECT_THAT(api.list<Secret>(), testing::Not(IsEmpty()));
    ASSERT_TRUE(sim::run(loop, provisioner.clean_up()));
    EXPECT_THAT(api.list<Secret>(), IsEmpty());
}

TEST_F(Provision, AUserOtherThanRootBecomesRootWithoutBeingAsked) {
    MachineDescription machine = both[0];
    machine.ssh.user = "admin";
    ASSERT_EQ(apply({machine}), "");
    ASSERT_EQ(apply({}), "");
    for (const auto& seen : machines_.seen()) EXPECT_EQ(seen.is_by_sudo, seen.words[0] != "mktemp") << seen.words[0];
}

TEST_F(Provision, WhatIsRunAsRootEndsAtTheMachineEvenIfItsConnectionDoesNot) {
    ASSERT_EQ(apply(both), "");
    ASSERT_EQ(apply({}), "");
    for (const auto& seen : machines_.seen())
        if (seen.words[0] != "mktemp") EXPECT_GT(seen.seconds, 0) << join(seen.words, " ");
}

TEST_F(Provision, ACopyThatFailsLeavesNoDirectoryBehind) {
    machines_.at("192.0.2.1").is_full = true;
    EXPECT_THAT(apply({both[0]}), HasSubstr("failed: web-1"));
    EXPECT_THAT(machines_.names("192.0.2.1"), ElementsAre("ask", "folder", "clean up"));
    EXPECT_EQ(machines_.seen().back().words.back(), "/tmp/porthole.abcdefghij");
}

TEST_F(Provision, NoMoreMachinesAreWorkedOnThanAllowed) {
    std::vector<MachineDescription> many;
    for (int i = 1; i <= 9; ++i) many.push_back(host("n" + std::to_string(i), "192.0.2." + std::to_string(i)));
    settings.parallel = 3;
    ASSERT_EQ(apply(many), "");
    EXPECT_EQ(machines_.most_at_a_time(), 3);
}

// PRV-03, JOI-19
TEST_F(Provision, AHostThatIsNamedNoMoreIsDrainedResetAndDeleted) {
    ASSERT_EQ(apply(both), "");
    machines_.forget_seen();
    ASSERT_EQ(apply({both[0]}), "");
    EXPECT_THAT(steps.lines, ElementsAre("node web-1 as described", "node web-2 removed"));
    EXPECT_THAT(machines_.names("192.0.2.2"), ElementsAre("remove"));
    EXPECT_FALSE(node("web-2"));
    EXPECT_EQ(inventory().size(), 1U);
}

// PRV-03
TEST_F(Provision, AHostStaysWhereDataWouldBeLost) {
    ASSERT_EQ(apply(both), "");
    put_volume_of("web-2");
    machines_.forget_seen();
    EXPECT_THAT(apply({both[0]}), HasSubstr("failed: web-2"));
    EXPECT_THAT(steps.lines.back(), HasSubstr("the data of claim default/data are on web-2 alone"));
    EXPECT_THAT(machines_.names("192.0.2.2"), IsEmpty());
    EXPECT_FALSE(node("web-2")->spec.unschedulable);
    EXPECT_EQ(inventory().size(), 2U);
}

TEST_F(Provision, AMachineThatIsGoneIsForgottenOnceItsNodeIsDeleted) {
    ASSERT_EQ(apply(both), "");
    machines_.at("192.0.2.2").is_reachable = false;
    EXPECT_THAT(apply({both[0]}), HasSubstr("failed: web-2"));
    EXPECT_THAT(steps.lines.back(), HasSubstr("if it is gone for good: kubectl delete node web-2, and provision again"));
    EXPECT_EQ(inventory().size(), 2U);
    api.erase<Node>({"", "web-2"});
    EXPECT_EQ(apply({both[0]}), "");
    EXPECT_EQ(inventory().size(), 1U);
}

/// A back end that makes machines and deletes them: what it has is what its description names, and it has its own way to them.
struct Cloud final : Transport {
    explicit Cloud(FakeMachines& machines) : machines(machines) {}
    Task<CommandOutput> run(SshTarget target, std::string command, std::string input, Duration limit) override {
        if (!instances.contains(target.address)) co_return Error(Reason::Unavailable, "there is no instance " + target.address);
        co_return co_await machines.run(std::move(target), std::move(command), std::move(input), limit);
    }
    Task<> copy(SshTarget target, std::string local, std::string remote) override {
        if (!instances.contains(target.address)) co_return Error(Reason::Unavailable, "there is no instance " + target.address);
        co_return co_await machines.copy(std::move(target), std::move(local), std::move(remote));
    }
    FakeMachines& machines;
    std::set<std::string> instances;  ///< addresses
};

// PRV-05
TEST_F(Provision, ABackEndOfACloudBringsADescriptionAndAWayToItsMachines) {
    Cloud cloud(machines_);
    cloud.instances = {"192.0.2.1", "192.0.2.2"};
    ASSERT_EQ(apply(cloud, both), "");
    EXPECT_THAT(steps.lines, ElementsAre("node web-1 Ready", "node web-2 Ready"));
    // Scaled down: first out of the description; after "removed" the instance is of no use to anyone.
    ASSERT_EQ(apply(cloud, {both[0]}), "");
    ASSERT_THAT(steps.lines, ElementsAre("node web-1 as described", "node web-2 removed"));
    EXPECT_EQ(machines_.at("192.0.2.2").server, "");
    EXPECT_FALSE(node("web-2"));
    cloud.instances.erase("192.0.2.2");
    EXPECT_EQ(apply(cloud, {both[0]}), "") << "nothing asks for it any more";
    // Deleted without asking: said, until the Node is deleted too.
    cloud.instances.clear();
    EXPECT_THAT(apply(cloud, {}), HasSubstr("failed: web-1"));
    EXPECT_THAT(steps.lines.back(), HasSubstr("there is no instance 192.0.2.1"));
    api.erase<Node>({"", "web-1"});
    EXPECT_EQ(apply(cloud, {}), "");
    EXPECT_THAT(inventory(), IsEmpty());
}

TEST_F(Provision, WhatOthersMadeIsLeftAlone) {
    const struct {
        const char* name;
        std::function<void()> prepare;
        const char* error;
    } rows[] = {
        {"another cluster's machine", [&] { machines_.at("192.0.2.1").server = "https://other:6443"; },
         "a node of the cluster at https://other:6443"},
        {"joined by hand", [&] { machines_.at("192.0.2.1").server = settings.server; }, "by hand or under another name"},
        {"a name that is taken",
         [&] {
             machines_.at("192.0.2.1") = {};
             Node taken;
             taken.metadata.name = "web-1";
             api.put(taken);
         },
         "has another node of that name"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        row.prepare();
        machines_.forget_seen();
        EXPECT_THAT(apply({both[0]}), HasSubstr("failed: web-1"));
        EXPECT_THAT(steps.lines, ElementsAre(HasSubstr(row.error)));
        EXPECT_THAT(machines_.names("192.0.2.1"), ElementsAre("ask"));
        EXPECT_THAT(inventory(), IsEmpty());
    }
}

TEST_F(Provision, APlanSaysWhatWouldBeDoneAndChangesNothing) {
    ASSERT_EQ(apply({both[0], both[1], host("old", "192.0.2.9")}), "");
    machines_.at("192.0.2.2").program = "older";
    machines_.forget_seen();
    api.clear_requests();
    EXPECT_THAT(plan({both[0], both[1], host("web-3", "192.0.2.3")}),
                ElementsAre("leave as it is: web-1", "upgrade web-2", "join web-3", "drain, reset and delete old"));
    for (const auto& request : api.requests()) EXPECT_EQ(request.method, "GET") << request.path;
    for (const auto& seen : machines_.seen()) EXPECT_EQ(seen.words[3], "porthole-provision");
    EXPECT_EQ(machines_.seen().size(), 3U) << "each is asked";
}

TEST_F(Provision, AServerMayComeOrGoWhileAnotherStays) {
    settings.server = "https://10.0.0.5:6443,https://10.0.0.6:6443";
    ASSERT_EQ(apply(both), "");
    EXPECT_EQ(machines_.at("192.0.2.1").server, settings.server) << "each node knows all";
    settings.server = "https://10.0.0.6:6443,https://10.0.0.7:6443";
    ASSERT_EQ(apply(both), "");
    settings.server = "https://10.0.0.7:6443";
    EXPECT_THAT(apply({both[0]}), HasSubstr("failed: web-1"));
}

TEST_F(Provision, AnAgentThatWasStoppedIsStartedAgain) {
    ASSERT_EQ(apply({both[0]}), "");
    machines_.at("192.0.2.1").is_running = false;
    machines_.forget_seen();
    ASSERT_EQ(apply({both[0]}), "");
    EXPECT_THAT(machines_.names("192.0.2.1"), ElementsAre("ask", "join"));
}

TEST_F(Provision, WindowsMachinesNeedTheZip) {
    MachineDescription windows = host("win-1", "192.0.2.7");
    windows.is_windows = true;
    EXPECT_THAT(apply({windows}), HasSubstr("failed: win-1"));
    EXPECT_THAT(steps.lines, ElementsAre("machine win-1: no zip"));
}

struct ProvisionUpgrade : Provision {
    ProvisionUpgrade() {
        EXPECT_EQ(apply(both), "");
        settings.linux_payload.sha256 = "newer";
        machines_.forget_seen();
    }
    std::vector<std::string> order() {
        std::vector<std::string> words;
        for (const auto& seen : machines_.seen()) words.push_back(seen.address.substr(seen.address.size() - 1));
        return words;
    }
};

TEST_F(ProvisionUpgrade, AgentsGetTheNewProgramOneByOne) {
    ASSERT_EQ(apply(both), "");
    EXPECT_THAT(steps.lines,
                ElementsAre("node web-1 upgraded", "node web-1 as described", "node web-2 upgraded", "node web-2 as described"));
    EXPECT_THAT(machines_.names("192.0.2.1"), ElementsAre("ask", "folder", "unpack", "stop", "place keep", "start", "forget"));
    EXPECT_THAT(join(order(), ""), HasSubstr("111111222222")) << "the second begins when the first is Ready";
    for (const char* address : {"192.0.2.1", "192.0.2.2"}) {
        EXPECT_EQ(machines_.at(address).program, "newer");
        EXPECT_EQ(machines_.at(address).previous, "");
    }
    EXPECT_FALSE(node("web-1")->spec.unschedulable);
}

TEST_F(ProvisionUpgrade, ANodeTakesNoPodsMeanwhileAndStaysCordonedWhereItWas) {
    api.change<Node>({"", "web-2"}, [](Node& changed) { changed.spec.unschedulable = true; });
    bool is_cordoned = false;
    api.set_fault([&](const client::ApiRequest&) {
        if (!machines_.at("192.0.2.1").is_running) is_cordoned = node("web-1")->spec.unschedulable;
        return std::optional<Error>();
    });
    ASSERT_EQ(apply(both), "");
    EXPECT_TRUE(is_cordoned);
    EXPECT_FALSE(node("web-1")->spec.unschedulable);
    EXPECT_TRUE(node("web-2")->spec.unschedulable);
}

TEST_F(ProvisionUpgrade, TheOldProgramComesBackWhereTheNewOneDoesNotAndTheRunStops) {
    machines_.at("192.0.2.1").broken_program = "newer";
    EXPECT_EQ(apply(both), "the upgrade of web-1 failed; machines after it keep their program");
    EXPECT_THAT(steps.lines,
                ElementsAre("node web-1 upgraded: node web-1 is not Ready in time: KubeletNotReady: the runtime is down; the old program "
                            "runs again"));
    EXPECT_EQ(machines_.at("192.0.2.1").program, "new");
    EXPECT_TRUE(machines_.at("192.0.2.1").is_running);
    EXPECT_FALSE(node("web-1")->spec.unschedulable);
    EXPECT_THAT(machines_.names("192.0.2.2"), ElementsAre("ask"));
    EXPECT_EQ(machines_.at("192.0.2.2").program, "new");
}

TEST_F(ProvisionUpgrade, SaysWhenTheOldProgramCannotBePutBack) {
    api.set_fault([&](const client::ApiRequest&) {
        auto& machine = machines_.at("192.0.2.1");
        if (!machine.is_running) machine.is_reachable = false;
        return std::optional<Error>();
    });
    EXPECT_THAT(apply(both), HasSubstr("the upgrade of web-1 failed"));
    EXPECT_THAT(steps.lines,
                ElementsAre(HasSubstr("no route to host; and the old program could not be restored: 192.0.2.1 cannot be reached")));
}

TEST_F(ProvisionUpgrade, DrainsFirstWhereAsked) {
    settings.drains_before_upgrade = true;
    const auto put_pod = [&](const std::string& more) {
        api.put(schema::decode_json<Pod>(R"({"metadata": {"namespace": "default", "name": "p", "uid": "p")" + more +
                                         R"(}, "spec": {"nodeName": "web-1", "containers": [{"name": "c", "image": "i"}]}})")
                    .value());
    };
    put_pod("");
    EXPECT_THAT(apply(both), HasSubstr("the upgrade of web-1 failed"));
    EXPECT_THAT(steps.lines, ElementsAre(HasSubstr("no controller would make pod default/p again")));
    EXPECT_TRUE(machines_.at("192.0.2.1").is_running);
    EXPECT_EQ(machines_.at("192.0.2.1").program, "new");
    EXPECT_FALSE(node("web-1")->spec.unschedulable);

    put_pod(R"(, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "o", "uid": "o", "controller": true}])");
    bool is_empty_when_stopped = false;
    api.set_fault([&](const client::ApiRequest&) {
        for (const Pod& pod : api.list<Pod>())
            if (pod.metadata.deletion_timestamp) api.erase<Pod>(client::key_of(pod));
        if (!machines_.at("192.0.2.1").is_running) is_empty_when_stopped = api.list<Pod>().empty();
        return std::optional<Error>();
    });
    EXPECT_EQ(apply(both), "");
    EXPECT_TRUE(is_empty_when_stopped);
}

TEST_F(ProvisionUpgrade, ARunThatEndedInTheMiddleIsMadeGoodByTheNext) {
    // It ended when the new program was in its place and the agent not yet started.
    auto& machine = machines_.at("192.0.2.1");
    machine.previous = machine.program;
    machine.program = "newer";
    machine.is_running = false;
    sim::run(loop, Inventory(client).put({.machine = both[0], .is_cordoned = true})).value();
    api.change<Node>({"", "web-1"}, [](Node& changed) { changed.spec.unschedulable = true; });
    ASSERT_EQ(apply(both), "");
    EXPECT_THAT(machines_.names("192.0.2.1"), ElementsAre("ask", "roll back", "folder", "unpack", "stop", "place keep", "start", "forget"))
        << "so that the old program can come back";
    EXPECT_EQ(machines_.at("192.0.2.1").program, "newer");
    EXPECT_FALSE(node("web-1")->spec.unschedulable);
    EXPECT_THAT(inventory().at("web-1"), HasSubstr(R"("cordoned":false)"));
}

}  // namespace
}  // namespace porthole::provision
