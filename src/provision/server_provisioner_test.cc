#include "provision/server_provisioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "base/strings.h"
#include "client/kubeconfig.h"
#include "net/tls/x509.h"
#include "provision/fake_server_hosts.h"
#include "provision/recorded_steps.h"
#include "runtime/scope.h"
#include "runtime/sim/memory_file_system.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* SecretToken = "a token that is long enough";

/// The administrator's kubeconfig of a new cluster.
std::string kubeconfig_of_a_cluster() {
    const auto now = std::chrono::sys_seconds(1'700'000'000s);
    const auto ca = net::CertificateAuthority::create("ca", now, now + 24h * 365);
    client::Kubeconfig config;
    config.set_entry({.name = "porthole",
                      .server = "https://192.0.2.1:6443",
                      .ca_pem = ca.certificate_pem(),
                      .certificate_pem = ca.certificate_pem(),
                      .key_pem = "key"});
    return config.text();
}

struct ServerProvision : testing::Test {
    ServerProvision() {
        hosts.kubeconfig = kubeconfig_of_a_cluster();
        for (const char* name : {"ca", "crt", "key", "token"})
            EXPECT_TRUE(files.write(std::string("/") + name, name == std::string("token") ? SecretToken : name, 0600));
    }
    static MachineDescription host(int number) {
        return {.name = "cp-" + std::to_string(number), .ssh = {.address = "192.0.2." + std::to_string(number), .user = "root"}};
    }
    static ControlPlaneDescription plane(std::vector<int> numbers, bool has_etcd) {
        ControlPlaneDescription wanted{.cluster = "prod", .kubeconfig = "/prod.kubeconfig"};
        wanted.networks = "pods 10.244.0.0/16";
        for (const int number : numbers) wanted.hosts.push_back(host(number));
        if (has_etcd)
            wanted.etcd = {
                .urls = {"https://etcd:2379"}, .ca_file = "/ca", .certificate_file = "/crt", .key_file = "/key", .token_file = "/token"};
        return wanted;
    }
    /// With an etcd on the hosts.
    static ControlPlaneDescription own_etcd(std::vector<int> numbers) {
        ControlPlaneDescription wanted = plane(std::move(numbers), false);
        wanted.own_etcd.emplace();
        for (const MachineDescription& one : wanted.hosts) wanted.etcd.urls.push_back("https://" + one.ssh.address + ":2379");
        return wanted;
    }
    FakeEtcd::Host& etcd(int number) { return hosts.etcd.at("192.0.2." + std::to_string(number)); }
    ServerProvisioner make(ControlPlaneDescription wanted) {
        return ServerProvisioner({.loop = loop,
                                  .transport = hosts,
                                  .connect = [this](const std::string& url, const AdminCredentials&) { return hosts.connect(url); },
                                  .connect_etcd = hosts.etcd.connect(),
                                  .files = files,
                                  .report = steps},
                                 std::move(wanted), settings);
    }
    /// What the run ends with; "" is success.
    std::string apply(ControlPlaneDescription wanted) {
        steps.lines.clear();
        hosts.forget_seen();
        ServerProvisioner provisioner = make(std::move(wanted));
        const auto done = sim::run(loop, provisioner.apply());
        (void)sim::run(loop, provisioner.clean_up());
        return done ? "" : done.error().message;
    }
    std::vector<std::string> plan(ControlPlaneDescription wanted) {
        std::vector<std::string> lines;
        ServerProvisioner provisioner = make(std::move(wanted));
        EXPECT_TRUE(sim::run(loop, provisioner.plan([&](const std::string& line) { lines.push_back(line); })));
        return lines;
    }
    std::map<std::string, std::string> inventory() {
        const auto found = api.find<api::core::v1::ConfigMap>({"kube-system", "porthole-servers"});
        return found ? found->data : std::map<std::string, std::string>();
    }
    FakeServerHosts::State& machine(int number) { return hosts.at("192.0.2." + std::to_string(number)); }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    FakeServerHosts hosts{loop, api};
    sim::MemoryFileSystem files{loop};
    RecordedSteps steps;
    ServerSettings settings{.program = {"/usr/bin/porthole", "new"}, .holder = "me", .new_server_token = "made token\n"};
};

// PRV-01, PRV-02
TEST_F(ServerProvision, ABareMachineRunsAServerAndTheAdministratorHasAKubeconfig) {
    ASSERT_EQ(apply(plane({1}, false)), "");
    EXPECT_THAT(steps.lines, ElementsAre("server cp-1 ready", "kubeconfig written: /prod.kubeconfig"));
    EXPECT_EQ(machine(1).program, "new");
    EXPECT_EQ(machine(1).files.at("cluster"), "prod");
    EXPECT_THAT(machine(1).files.at("porthole-server.service"), HasSubstr("--advertise-address 192.0.2.1"));
    EXPECT_THAT(inventory(), testing::SizeIs(1));
    EXPECT_EQ(files.status("/prod.kubeconfig")->mode, 0600U);
    const auto config = client::read_kubeconfig(files, "/prod.kubeconfig")->resolve(files);
    EXPECT_EQ(config->server, "https://192.0.2.1:6443");
    EXPECT_EQ(config->key_pem, "key");
}

// PRV-07
TEST_F(ServerProvision, AnotherRunChangesNothing) {
    ASSERT_EQ(apply(plane({1, 2, 3}, true)), "");
    api.clear_requests();
    ASSERT_EQ(apply(plane({1, 2, 3}, true)), "");
    EXPECT_THAT(steps.lines, ElementsAre("server cp-1 as described", "server cp-2 as described", "server cp-3 as described"));
    EXPECT_THAT(hosts.names, Not(Contains(HasSubstr("start"))));
    EXPECT_THAT(hosts.names, Not(Contains(HasSubstr("write"))));
    for (const auto& request : api.requests()) EXPECT_EQ(request.method, "GET") << request.path;
}

// PRV-09
TEST_F(ServerProvision, SecretsArePartOfNoCommand) {
    ASSERT_EQ(apply(plane({1, 2}, true)), "");
    EXPECT_EQ(machine(2).files.at("server-token"), SecretToken);
    EXPECT_EQ(machine(2).files.at("etcd-client.key"), "key");
    for (const std::string& word : hosts.words) EXPECT_THAT(word, Not(HasSubstr(SecretToken)));
    EXPECT_THAT(machine(2).files.at("porthole-server.service"), HasSubstr("--server-token-file /var/lib/porthole-server/server-token"));
}

// RUN-10
TEST_F(ServerProvision, ServersAreUpgradedOneByOne) {
    ASSERT_EQ(apply(plane({1, 2, 3}, true)), "");
    settings.program.sha256 = "newer";
    EXPECT_THAT(plan(plane({1, 2, 3}, true)), ElementsAre("upgrade server cp-1", "upgrade server cp-2", "upgrade server cp-3"));
    ASSERT_EQ(apply(plane({1, 2, 3}, true)), "");
    EXPECT_THAT(steps.lines, ElementsAre("server cp-1 upgraded", "server cp-2 upgraded", "server cp-3 upgraded"));
    for (const int number : {1, 2, 3}) {
        EXPECT_EQ(machine(number).program, "newer");
        EXPECT_EQ(machine(number).previous, "");
    }
    std::string stops_and_ends;
    for (const std::string& name : hosts.names)
        if (name.ends_with("stop") || name.ends_with("forget")) stops_and_ends += name.front();
    EXPECT_EQ(stops_and_ends, "112233");
}

// RUN-10
TEST_F(ServerProvision, AServerThatDoesNotComeBackGetsWhatItHadAndTheRunEnds) {
    ASSERT_EQ(apply(plane({1, 2}, true)), "");
    settings.program.sha256 = "newer";
    machine(1).broken_program = "newer";
    EXPECT_EQ(apply(plane({1, 2}, true)), "failed: server cp-1 upgraded; what comes after it was not done, fix the cause and run it again");
    EXPECT_THAT(steps.lines,
                ElementsAre("server cp-1 upgraded: porthole-server ends again and again; its log ends with: out of cheese; the "
                            "old server runs again"));
    EXPECT_EQ(machine(1).program, "new");
    EXPECT_TRUE(machine(1).is_running);
    EXPECT_EQ(machine(2).program, "new");
    machine(1).broken_program.clear();
    EXPECT_EQ(apply(plane({1, 2}, true)), "");
    EXPECT_EQ(machine(2).program, "newer");
}

TEST_F(ServerProvision, AServerThatDoesNotAnswerIsRolledBackAfterTheLimit) {
    ASSERT_EQ(apply(plane({1}, false)), "");
    settings.program.sha256 = "newer";
    machine(1).silent_program = "newer";
    const MonotonicTime before = loop.now();
    EXPECT_NE(apply(plane({1}, false)), "");
    EXPECT_LT(loop.now() - before, 10min);
    EXPECT_THAT(steps.lines, ElementsAre(HasSubstr("is not ready in time: timed out: /readyz; ")));
    EXPECT_EQ(machine(1).program, "new");
}

TEST_F(ServerProvision, AProgramThatACutOffRunHasUploadedIsNotUsed) {
    ASSERT_EQ(apply(plane({1}, false)), "");
    machine(1).uploaded = "half of another";
    ControlPlaneDescription other = plane({1}, false);
    other.flags = {"--backend", "vxlan"};
    ASSERT_EQ(apply(other), "");
    EXPECT_EQ(machine(1).program, "new");
}

// RUN-10
TEST_F(ServerProvision, AnUpgradeThatWasCutOffIsUndoneAndDoneAgain) {
    ASSERT_EQ(apply(plane({1}, false)), "");
    machine(1).previous = std::exchange(machine(1).program, "newer");
    machine(1).previous_files = std::exchange(machine(1).files, {});
    machine(1).is_running = false;
    settings.program.sha256 = "newer";
    ASSERT_EQ(apply(plane({1}, false)), "");
    EXPECT_THAT(hosts.names, testing::IsSupersetOf({"1 roll back", "1 place", "1 forget"}));
    EXPECT_EQ(machine(1).program, "newer");
    EXPECT_EQ(machine(1).files.size(), 3U);
}

TEST_F(ServerProvision, OtherOptionsOfTheDescriptionReachTheServers) {
    ASSERT_EQ(apply(plane({1}, false)), "");
    ControlPlaneDescription other = plane({1}, false);
    other.flags = {"--backend", "vxlan"};
    ASSERT_EQ(apply(other), "");
    EXPECT_THAT(steps.lines, ElementsAre("server cp-1 upgraded"));
    EXPECT_THAT(hosts.names, Not(Contains("1 unpack"))) << "the program is there";
    EXPECT_THAT(machine(1).files.at("porthole-server.service"), HasSubstr("--backend vxlan"));
}

// PRV-03
TEST_F(ServerProvision, AServerThatIsNamedNoMoreIsRemoved) {
    ASSERT_EQ(apply(plane({1, 2, 3}, true)), "");
    EXPECT_THAT(plan(plane({1, 2}, true)), Contains("remove server cp-3"));
    ASSERT_EQ(apply(plane({1, 2}, true)), "");
    EXPECT_THAT(steps.lines, Contains("server cp-3 removed"));
    EXPECT_EQ(machine(3).program, "");
    EXPECT_EQ(inventory().size(), 2U);
}

TEST_F(ServerProvision, AServerThatIsGoneIsForgottenWhenItsEntryIs) {
    ASSERT_EQ(apply(plane({1, 2}, true)), "");
    machine(2).is_reachable = false;
    EXPECT_NE(apply(plane({1}, true)), "");
    EXPECT_THAT(steps.lines.back(),
                HasSubstr(R"(kubectl -n kube-system patch configmap porthole-servers --type merge -p '{"data":{"cp-2":null}}')"));
    sim::run(loop,
             [&]() -> Task<> {
                 auto way = hosts.connect("https://192.0.2.1:6443").value();
                 client::Client client(*way);
                 co_return co_await Inventory(client, Inventory::Servers).erase("cp-2");
             }())
        .value();
    EXPECT_EQ(apply(plane({1}, true)), "");
}

TEST_F(ServerProvision, AServerWithAnotherNameIsNotRemovedFromItsMachine) {
    ASSERT_EQ(apply(plane({1}, false)), "");
    ControlPlaneDescription renamed = plane({1}, false);
    renamed.hosts[0].name = "first";
    ASSERT_EQ(apply(renamed), "");
    EXPECT_TRUE(machine(1).is_running);
    EXPECT_THAT(inventory(), ElementsAre(testing::Key("first")));
}

TEST_F(ServerProvision, AMachineThatServesAnotherClusterByNowStaysAsItIs) {
    ASSERT_EQ(apply(plane({1, 2}, true)), "");
    machine(2).files["cluster"] = "other";
    ASSERT_EQ(apply(plane({1}, true)), "");
    EXPECT_TRUE(machine(2).is_running);
    EXPECT_EQ(inventory().size(), 1U);
}

// The store of a single server is on its machine.
TEST_F(ServerProvision, ASingleServerDoesNotMoveToAnotherMachine) {
    ASSERT_EQ(apply(plane({1}, false)), "");
    EXPECT_THAT(apply(plane({2}, false)), HasSubstr("/prod.kubeconfig belongs to a cluster prod, but no described host runs its server"));
    EXPECT_EQ(machine(2).program, "");
    EXPECT_TRUE(machine(1).is_running);
}

TEST_F(ServerProvision, OnlyOneRunAtATimeWorksOnTheHosts) {
    machine(2).holder = "someone";
    EXPECT_EQ(apply(plane({1, 2}, true)), "another run for this control plane is in progress: someone");
    EXPECT_EQ(machine(1).holder, "") << "released";
    EXPECT_EQ(machine(1).program, "");
    machine(2).holder.clear();
    ASSERT_EQ(apply(plane({1, 2}, true)), "");
    EXPECT_EQ(machine(2).holder, "");
}

TEST_F(ServerProvision, ARunEndsWhenAnotherHasTakenItsHosts) {
    hosts.kubeconfig = "not yet";
    ServerProvisioner provisioner = make(plane({1}, false));
    std::optional<Result<void>> done;
    Scope scope(loop);
    const auto run = [&]() -> Task<> {
        done.emplace(co_await provisioner.apply());
        co_return {};
    };
    scope.spawn(run());
    while (machine(1).holder.empty()) loop.advance(10ms);
    machine(1).holder = "someone";
    loop.advance(25s);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->error().message, "another run has begun meanwhile: someone");
    sim::run(loop, scope.close()).value();
}

TEST_F(ServerProvision, WhatCannotBeAServerIsNamedAndNothingIsChanged) {
    const struct {
        const char* name;
        std::function<void()> prepare;
        const char* error;
    } rows[] = {
        {"unreachable", [&] { machine(2).is_reachable = false; }, "machine cp-2: 192.0.2.2 cannot be reached: no route to host"},
        {"of another cluster", [&] { machine(2).files = {{"cluster", "test"}, {"networks", ""}}; },
         "machine cp-2: the machine runs a server of the cluster test, and this description is of prod"},
        {"with other networks", [&] { machine(2).files = {{"cluster", "prod"}, {"networks", "pods 10.42.0.0/16"}}; },
         "machine cp-2: spec.network: a cluster's networks do not change; this one has pods 10.42.0.0/16"},
        {"set up by hand", [&] { machine(2).more = "data=yes\n"; },
         "machine cp-2: the machine has a control plane that `provision` did not set up"},
        {"a node", [&] { machine(2).more = "node=yes\n"; }, "machine cp-2: the machine is a node"},
        {"another processor", [&] { machine(2).more = "architecture=aarch64\n"; }, "machine cp-2: the machine's processor is not x86_64"},
        {"no systemd", [&] { machine(2).more = "services=\n"; }, "machine cp-2: the machine has no systemd"},
        {"Windows", [&] { machine(2).refusal = "''timeout'' is not recognized as an internal or external command"; },
         "machine cp-2: the machine seems to run Windows, and the control plane needs Linux"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        machine(2) = {};
        row.prepare();
        EXPECT_EQ(apply(plane({1, 2}, true)), "failed: cp-2; nothing was changed, fix the cause and run it again");
        EXPECT_THAT(steps.lines, ElementsAre(HasSubstr(row.error)));
        EXPECT_EQ(machine(1).program, "");
    }
}

TEST_F(ServerProvision, AMissingFileOfTheDescriptionIsNamed) {
    ControlPlaneDescription wanted = plane({1}, true);
    wanted.etcd.ca_file = "/missing";
    EXPECT_THAT(apply(wanted), HasSubstr("spec.controlPlane.etcdCaFile: cannot be read: open /missing"));
    EXPECT_THAT(hosts.names, IsEmpty());
}

// A machine must not have the administrator's machine read files or start programs.
TEST_F(ServerProvision, OfAMachinesKubeconfigOnlyTheTextsCount) {
    ASSERT_EQ(apply(plane({1}, false)), "");
    ASSERT_TRUE(files.remove("/prod.kubeconfig"));
    for (const char* text :
         {"clusters: [{cluster: {certificate-authority: /token}}]\nusers: [{user: {tokenFile: /token}}]", "[1", "{}", "clusters: []"}) {
        hosts.kubeconfig = text;
        settings.ready_limit = 5s;
        machine(1).is_running = true;
        EXPECT_NE(apply(plane({1}, false)), "") << text;
        EXPECT_FALSE(files.exists("/prod.kubeconfig"));
    }
    hosts.kubeconfig = std::string(70'000, '#') + "\n" + kubeconfig_of_a_cluster();
    EXPECT_NE(apply(plane({1}, false)), "");
    EXPECT_THAT(steps.lines.back(), HasSubstr("longer than 64 KiB"));
}

// PRV-01
TEST_F(ServerProvision, AnEtcdOfItsOwnComesBeforeTheServers) {
    EXPECT_THAT(plan(own_etcd({1, 2, 3})),
                testing::IsSupersetOf({"set up etcd member cp-1", "start etcd member cp-3", "set up server cp-1"}));
    EXPECT_EQ(hosts.etcd.roster(), "");
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    EXPECT_EQ(steps.lines.front(), "etcd member cp-1 set up");
    EXPECT_EQ(steps.lines[9], "server cp-1 ready");
    EXPECT_EQ(hosts.etcd.roster(), "1 2 3");
    const std::string& unit = machine(2).files.at("porthole-server.service");
    EXPECT_THAT(unit, HasSubstr("--etcd-servers https://192.0.2.1:2379,https://192.0.2.2:2379,https://192.0.2.3:2379 --etcd-cafile "
                                "/var/lib/porthole-etcd/ca.crt --etcd-certfile /var/lib/porthole-etcd/client.crt --etcd-keyfile "
                                "/var/lib/porthole-etcd/client.key --server-token-file /var/lib/porthole-server/server-token"));
    for (const int number : {1, 2, 3}) {
        EXPECT_EQ(machine(number).files.at("server-token"), "made token\n");
        EXPECT_EQ(etcd(number).files.at("bootstrap"), SealedBootstrap) << "it does not begin again without its data";
    }
    EXPECT_EQ(etcd(1).files.at("ca.key"), etcd(3).files.at("ca.key"));
}

// PRV-07
TEST_F(ServerProvision, AnotherRunChangesNothingOfAnEtcd) {
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    settings.new_server_token = "another token\n";
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    EXPECT_THAT(steps.lines,
                ElementsAre("etcd as described", "server cp-1 as described", "server cp-2 as described", "server cp-3 as described"));
    for (const char* change : {"start", "write", "keys", "clear"}) EXPECT_THAT(hosts.names, Not(Contains(HasSubstr(change))));
    EXPECT_THAT(plan(own_etcd({1, 2, 3})),
                testing::IsSupersetOf({"leave as it is: etcd member cp-1, healthy, leads", "leave as it is: etcd member cp-2, healthy"}));
}

// PRV-09
TEST_F(ServerProvision, KeysOfAnEtcdArePartOfNoCommand) {
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    std::string key = etcd(1).files.at("ca.key");
    key = key.substr(key.find('\n') + 1, 40);
    for (const std::string& word : hosts.words) {
        EXPECT_THAT(word, Not(HasSubstr(key)));
        EXPECT_THAT(word, Not(HasSubstr("made token")));
    }
    for (const std::string& line : steps.lines) EXPECT_THAT(line, Not(HasSubstr(key)));
}

TEST_F(ServerProvision, HostsAreAddedToAnEtcdAndTakenOut) {
    ASSERT_EQ(apply(own_etcd({1})), "");
    hosts.etcd.refusals = 3;  // etcd changes nothing for a few seconds
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    EXPECT_THAT(hosts.etcd.changes, ElementsAre("add 2", "promote 2", "add 3", "promote 3"));
    EXPECT_THAT(steps.lines, Contains("server cp-1 upgraded")) << "it gets the others' addresses";
    EXPECT_EQ(machine(3).files.at("server-token"), "made token\n");
    hosts.etcd.changes.clear();
    hosts.forget_seen();
    ASSERT_EQ(apply(own_etcd({1})), "");
    EXPECT_THAT(hosts.etcd.changes, ElementsAre("remove 2", "remove 3"));
    EXPECT_THAT(steps.lines, testing::IsSupersetOf({"etcd member 192.0.2.2 removed: it is no longer described", "server cp-2 removed"}));
    EXPECT_EQ(hosts.etcd.roster(), "1");
}

TEST_F(ServerProvision, AHostThatIsGoneIsReplaced) {
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    machine(3).is_reachable = false;
    etcd(3).is_running = false;
    EXPECT_NE(apply(own_etcd({1, 2, 4})), "") << "only a person knows that it is gone for good";
    EXPECT_THAT(hosts.etcd.changes, ElementsAre("remove 3", "add 4", "promote 4"));
    EXPECT_THAT(steps.lines.back(), HasSubstr("kubectl -n kube-system patch configmap porthole-servers"));
    EXPECT_TRUE(machine(4).is_running);
}

TEST_F(ServerProvision, AMemberThatHasLostItsDataIsReplaced) {
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    etcd(2).has_log = etcd(2).is_running = false;
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    EXPECT_THAT(hosts.etcd.changes, ElementsAre("remove 2", "add 2", "promote 2"));
    hosts.etcd.changes.clear();
    for (const int number : {1, 2}) etcd(number).has_log = etcd(number).is_running = false;
    EXPECT_EQ(apply(own_etcd({1, 2, 3})), "failed: etcd healthy; what comes after it was not done, fix the cause and run it again");
    EXPECT_THAT(steps.lines.back(), HasSubstr("there are no data of etcd on cp-1 and cp-2"));
    EXPECT_THAT(hosts.etcd.changes, IsEmpty());
}

// PRV-07
TEST_F(ServerProvision, ARunOfAnEtcdThatWasCutOffAnywhereGoesOn) {
    for (int commands = 5; commands < 120; commands += 3) {
        SCOPED_TRACE(commands);
        for (const int number : {1, 2, 3}) machine(number) = {};
        hosts.etcd = {};
        (void)files.remove("/prod.kubeconfig");
        hosts.forget_seen();
        {
            ServerProvisioner provisioner = make(own_etcd({1, 2, 3}));
            Scope scope(loop);
            scope.spawn(provisioner.apply());
            for (int i = 0; i < 10'000 && hosts.names.size() < static_cast<std::size_t>(commands); ++i) loop.advance(10ms);
            scope.cancel();
            sim::run(loop, scope.close()).value();
            (void)sim::run(loop, provisioner.clean_up());
        }
        ASSERT_EQ(apply(own_etcd({1, 2, 3})), "") << testing::PrintToString(steps.lines);
        EXPECT_EQ(hosts.etcd.roster(), "1 2 3");
        EXPECT_TRUE(machine(1).is_running && machine(2).is_running && machine(3).is_running);
    }
}

TEST_F(ServerProvision, AMemberThatDoesNotComeUpIsNamedWithItsLastWords) {
    etcd(2).has_problem = true;
    EXPECT_THAT(apply(own_etcd({1, 2, 3})), HasSubstr("failed: etcd member cp-2 started"));
    EXPECT_THAT(steps.lines.back(), HasSubstr("the log of porthole-etcd on cp-2 ends with: bind: cannot assign requested address"));
    EXPECT_EQ(machine(1).program, "");
    etcd(2).has_problem = false;
    EXPECT_EQ(apply(own_etcd({1, 2, 3})), "");
}

TEST_F(ServerProvision, WhatCannotBeAMemberIsNamedAndNothingIsChanged) {
    const struct {
        const char* name;
        std::function<void()> prepare;
        const char* error;
    } rows[] = {
        {"no program", [&] { etcd(2).version = ""; },
         "machine cp-2: the machine has no program /usr/bin/etcd: apt-get install etcd-server there"},
        {"too old", [&] { etcd(2).version = "3.3.25"; }, "machine cp-2: /usr/bin/etcd is version 3.3.25, and 3.4 or a newer 3 is needed"},
        {"another store", [&] { etcd(2).has_own_store = true; }, "`porthole store migrate`"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        etcd(2) = {};
        row.prepare();
        EXPECT_EQ(apply(own_etcd({1, 2, 3})), "failed: cp-2; nothing was changed, fix the cause and run it again");
        EXPECT_THAT(steps.lines, ElementsAre(HasSubstr(row.error)));
        EXPECT_TRUE(etcd(1).files.empty());
    }
}

TEST_F(ServerProvision, HostsOfDifferentEtcdsOrTokensAreRefused) {
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    machine(3).files["server-token"] = "another";
    EXPECT_THAT(apply(own_etcd({1, 2, 3})), HasSubstr("the hosts have different server tokens"));
    machine(3).files["server-token"] = "made token\n";
    ASSERT_EQ(apply(own_etcd({1, 2, 3})), "");
    etcd(3).files["ca.crt"] = "another";
    EXPECT_THAT(apply(own_etcd({1, 2, 3})), HasSubstr("the hosts have members of different etcds"));
}

}  // namespace
}  // namespace porthole::provision
