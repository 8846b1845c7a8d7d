#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cmd/doctor/node/disk_encryption.h"
#include "cmd/doctor/node/limited_wait.h"
#include "cmd/doctor/node/node_check.h"
#include "cmd/doctor/node/node_gather.h"
#include "cmd/doctor/report/report.h"
#include "hns/emulator/emulator_fixture.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::cmd::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// A Windows node that is well.
NodeEvidence healthy() {
    NodeEvidence evidence{.windows = true,
                          .windows_build = 17763,
                          .windows_update = 1817,
                          .address = "192.0.2.13",
                          .adapters = "vEthernet (Ethernet) (192.0.2.13)"};
    evidence.adapter = "vEthernet (Ethernet)";
    evidence.mtu = evidence.pod_mtu = 1500;
    for (const char* name : {"flanneld", "kubelet", "kube-proxy"})
        evidence.services.push_back({.name = name, .state = "running", .runs = true, .remedy = "sc.exe start " + std::string(name)});
    evidence.ports = {{10250, "kubelet", true}, {10256, "kube-proxy", true}};
    evidence.volume = "C:";
    evidence.volume_encrypted = true;
    evidence.pod_network = "cbr0";
    evidence.network_remedy = "look at the log of flanneld";
    evidence.hns.emplace();
    evidence.nat_exceptions = {"10.244.0.0/16", "10.96.0.0/12", "192.0.2.0/24"};
    evidence.cluster_cidr = "10.244.0.0/16";
    evidence.service_cidr = "10.96.0.0/12";
    evidence.cluster_domain = "cluster.local";
    evidence.server = "https://192.0.2.1:6443";
    evidence.seconds_behind = 2;
    return evidence;
}

/// What is not well, as "verdict title: detail: objects".
std::vector<std::string> problems(const NodeEvidence& evidence) {
    std::vector<std::string> found;
    for (const Finding& finding : examine_node(evidence)) {
        if (finding.verdict == Verdict::Pass || finding.verdict == Verdict::NotApplicable) continue;
        EXPECT_NE(finding.remedy, "") << finding.item.title;
        std::string text = (finding.verdict == Verdict::Fail ? "fail " : "warn ") + std::string(finding.item.title) + ": " + finding.detail;
        for (const std::string& object : finding.objects) text += ": " + object;
        found.push_back(text);
    }
    return found;
}

TEST(NodeDoctor, FindsNothingWrongWithAHealthyNode) {
    EXPECT_THAT(problems(healthy()), IsEmpty());
    NodeEvidence on_linux = healthy();
    on_linux.windows = false;
    on_linux.hns.reset();
    on_linux.nat_exceptions.reset();
    EXPECT_THAT(problems(on_linux), IsEmpty()) << "which has neither HNS nor exceptions";
}

/// BitLocker's program.
struct FakeBitLocker final : ProcessRunner {
    Result<CommandOutput> answer;
    std::vector<std::string> asked;
    explicit FakeBitLocker(Result<CommandOutput> given) : answer(std::move(given)) {}
    Task<CommandOutput> run(Command command) override {
        asked = command.arguments;
        co_return answer;
    }
};

NodeEvidence told_by(FakeBitLocker bit_locker) {
    sim::SimLoop loop;
    NodeEvidence evidence{.windows = true};
    EXPECT_TRUE(sim::run(loop, ask_bitlocker(bit_locker, "C:", evidence)));
    EXPECT_THAT(bit_locker.asked, ElementsAre("manage-bde.exe", "-status", "C:", "-protectionaserrorlevel"));
    return evidence;
}

// SEC-02, LIM-42
TEST(NodeDoctor, SEC02_BitLockerIsAskedByItsExitCode) {
    EXPECT_EQ(told_by(FakeBitLocker(CommandOutput{.exit_code = 0})).volume_encrypted, true);
    EXPECT_EQ(told_by(FakeBitLocker(CommandOutput{.exit_code = 1})).volume_encrypted, false);
    const NodeEvidence refused = told_by(FakeBitLocker(CommandOutput{.exit_code = -1}));
    EXPECT_EQ(refused.volume_encrypted, std::nullopt);
    EXPECT_THAT(refused.encryption_unknown, HasSubstr("needs an administrator"));
    EXPECT_THAT(told_by(FakeBitLocker(Error(Reason::NotFound, "no such program"))).encryption_unknown, HasSubstr("no such program"));
    EXPECT_THAT(problems(refused), testing::Not(testing::Contains(HasSubstr("encrypted")))) << "what is not known is no problem";
}

// SEC-02
TEST(NodeDoctor, SEC02_ALinuxVolumeIsEncryptedIfAllOfItsDisksAre) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    const auto device = [&](const std::string& number, const char* uuid, const std::vector<std::pair<std::string, std::string>>& parts) {
        const std::string folder = "/sys/dev/block/" + number;
        EXPECT_TRUE(files.create_directories(folder + "/dm", 0755));
        EXPECT_TRUE(files.create_directories(folder + "/slaves", 0755));
        if (*uuid) EXPECT_TRUE(files.write(folder + "/dm/uuid", uuid, 0644));
        for (const auto& [name, part] : parts) {
            EXPECT_TRUE(files.create_directories(folder + "/slaves/" + name, 0755));
            EXPECT_TRUE(files.write(folder + "/slaves/" + name + "/dev", part + "\n", 0644));
        }
    };
    device("8:1", "", {});
    device("253:0", "CRYPT-LUKS2-1-root\n", {{"sda1", "8:1"}});
    device("253:1", "LVM-1\n", {{"dm-0", "253:0"}});
    device("253:2", "LVM-2\n", {{"dm-0", "253:0"}, {"sda1", "8:1"}});
    device("253:3", "LVM-3\n", {{"dm-3", "253:3"}});
    EXPECT_EQ(is_encrypted_device(files, "8:1"), false);
    EXPECT_EQ(is_encrypted_device(files, "253:0"), true);
    EXPECT_EQ(is_encrypted_device(files, "253:1"), true) << "a logical volume on an encrypted disk";
    EXPECT_EQ(is_encrypted_device(files, "253:2"), false) << "half of it is on another disk";
    EXPECT_EQ(is_encrypted_device(files, "253:3"), std::nullopt) << "ends for one that says it is made of itself";
    EXPECT_EQ(is_encrypted_device(files, "0:45"), std::nullopt);

    const auto of_path = [&](const char* mounts) {
        EXPECT_TRUE(files.create_directories("/proc/self", 0755));
        EXPECT_TRUE(files.write("/proc/self/mountinfo", mounts, 0444));
        NodeEvidence evidence;
        look_at_encryption(files, "/var/lib", evidence);
        return evidence.volume_encrypted;
    };
    EXPECT_EQ(of_path("1 0 253:1 / / rw - ext4 /dev/a rw\n2 1 8:1 / /var/library rw - ext4 /dev/b rw\n"), true);
    EXPECT_EQ(of_path("1 0 253:1 / / rw - ext4 /dev/a rw\n2 1 8:1 / /var rw - ext4 /dev/b rw\n"), false) << "a volume of its own";
    EXPECT_EQ(of_path("1 0 253:1 / / rw - ext4 /dev/a rw\n2 1 0:45 / /var/lib rw - tmpfs t rw\n"), std::nullopt);
    EXPECT_EQ(of_path("1 0\n"), std::nullopt);
}

// SEC-13, LIM-43
TEST(NodeDoctor, SEC13_NamesTheUpdateThatAccountsNeedForNetworkShares) {
    NodeEvidence evidence = healthy();
    evidence.windows_update = 1816;
    const auto found = examine_node(evidence);
    const auto told = std::ranges::find_if(found, [](const Finding& finding) { return finding.verdict == Verdict::Warn; });
    ASSERT_NE(told, found.end());
    EXPECT_THAT(told->detail, HasSubstr("this is build 17763.1816"));
    EXPECT_THAT(told->detail, HasSubstr("it needs 17763.1817"));
    EXPECT_THAT(told->remedy, HasSubstr("KB5000822"));
    evidence.windows_build = 20348;
    evidence.windows_update = 1;
    EXPECT_THAT(problems(evidence), IsEmpty()) << "newer builds have had it from the start";
    evidence.windows_build = 17763;
    evidence.windows_update = 0;
    EXPECT_THAT(problems(evidence), IsEmpty()) << "what is not known is no problem";
}

// TRB-01, TRB-12, TRB-15, NET-21
TEST(NodeDoctor, NamesEachThingThatIsWrong) {
    struct {
        const char* name;
        std::function<void(NodeEvidence&)> change;
        const char* problem;
    } const rows[] = {
        {"a service that has ended", [](auto& e) { e.services[1] = {"kubelet", "stopped", false, "start it"}, e.ports.clear(); },
         "fail the node's programs run: kubelet is stopped"},
        {"another address", [](auto& e) { e.adapter = "", e.mtu.reset(); },
         "fail an adapter has the node's address: no adapter has 192.0.2.13; this machine has vEthernet (Ethernet) (192.0.2.13)"},
        {"no pod network", [](auto& e) { e.missing_network = "the HNS network cbr0"; },
         "fail the pod network exists: missing is the HNS network cbr0; this machine has"},
        {"no HNS", [](auto& e) { e.hns.reset(), e.hns_error = "it is stopped"; },
         "fail no HNS endpoints of deleted pods are left: the host network service does not answer: it is stopped"},
        {"a balancer without its pods",
         [](auto& e) {
             auto& one = e.hns->load_balancers.emplace_back();
             one.id = "B1";
             one.frontend_vips = {"10.96.7.8"};
             one.host_compute_endpoints = {"gone"};
         },
         "warn no HNS load balancers without pods are left: connections to these service addresses can hang: "
         "load balancer B1 of 10.96.7.8"},
        {"a volume in clear text", [](auto& e) { e.volume_encrypted = false; },
         "warn the volume with the kubelet's files is encrypted: C: is not encrypted, and contains pods' Secrets in plain text"},
        {"no CNI configuration", [](auto& e) { e.nat_exceptions.reset(); },
         "fail packets between pods keep their addresses: no CNI configuration at "},
        {"services are translated", [](auto& e) { e.nat_exceptions = {"10.0.0.0/10", "10.244.0.0/16"}; },
         "fail packets between pods keep their addresses: these ranges are not excluded from address translation"},
        {"nothing is translated", [](auto& e) { e.nat_exceptions = {"0.0.0.0/0"}; },
         "fail packets of pods to other hosts get the node's address: all addresses"},
        {"a proxy for pods", [](auto& e) { e.https_proxy = "http://proxy", e.no_proxy = "10.96.0.0/12,.svc"; },
         "fail pods and services are reached without a proxy: requests to these go through the proxy: 10.244.0.0/16"},
        {"a proxy that is none", [](auto& e) { e.https_proxy = "http://:80"; },
         "fail pods and services are reached without a proxy: HTTP_PROXY or HTTPS_PROXY is not valid"},
        {"small packets", [](auto& e) { e.mtu = 1400; },
         "fail packets of pods fit the MTU of the node's adapter: vEthernet (Ethernet) takes 1400 bytes, and packets of the pod network "
         "have up to 1500"},
        {"no room to encapsulate", [](auto& e) { e.mtu = 1450, e.overlay = true, e.pod_mtu.reset(); },
         "fail packets of pods fit the MTU of the node's adapter: vEthernet (Ethernet) takes 1450 bytes, and an encapsulated packet"},
        {"a dead API server", [](auto& e) { e.server_in_use = "https://192.0.2.1:6443", e.dead_servers = {"https://192.0.2.2:6443"}; },
         "warn all API servers that the node knows answer: in use is https://192.0.2.1:6443; these do not answer: https://192.0.2.2:6443"},
        {"dead API servers", [](auto& e) { e.dead_servers = {"https://192.0.2.2:6443"}; },
         "fail all API servers that the node knows answer: none does: https://192.0.2.2:6443"},
        {"a slow clock", [](auto& e) { e.seconds_behind = 31; }, "fail the clock is in step with the API server's: it is 31 s behind"},
        {"a fast clock", [](auto& e) { e.seconds_behind = -3600; }, "fail the clock is in step with the API server's: it is 3600 s ahead"},
        {"no kubeconfig", [](auto& e) { e.seconds_behind.reset(), e.server = ""; },
         "fail the clock is in step with the API server's: no API server"},
        {"a taken port", [](auto& e) { e.ports.push_back({10250, "another", true}); },
         "fail no other program uses the node's ports: in use by another program: TCP 10250 of another"},
    };
    for (const auto& row : rows) {
        NodeEvidence evidence = healthy();
        row.change(evidence);
        EXPECT_THAT(problems(evidence), ElementsAre(StartsWith(row.problem))) << row.name;
    }
}

// TRB-01
TEST(NodeDoctor, APortOfAProgramThatIsThereButNotWellYetIsNotAnothers) {
    NodeEvidence evidence = healthy();
    evidence.services[1] = {.name = "kubelet", .state = "not healthy", .runs = false, .remedy = "check its log", .present = true};
    EXPECT_THAT(problems(evidence), ElementsAre(StartsWith("fail the node's programs run: kubelet is not healthy")));
}

// TRB-12
TEST(NodeDoctor, AnAddressThatIsNotKnownIsNotMissed) {
    NodeEvidence evidence = healthy();
    evidence.address = evidence.adapter = "";
    evidence.mtu.reset();
    EXPECT_THAT(problems(evidence), IsEmpty());
}

// TRB-15
TEST(NodeDoctor, AServerThatDoesNotAnswerMightBeBehindAProxy) {
    NodeEvidence evidence = healthy();
    evidence.seconds_behind.reset();
    evidence.server_error = "connection timed out";
    EXPECT_THAT(problems(evidence), ElementsAre(HasSubstr("no proxy is set, and the API server does not answer"),
                                                HasSubstr("https://192.0.2.1:6443 does not answer: connection timed out")));
}

TEST(NodeDoctor, TheReportHasTheNodeAsItsSection) {
    const std::string text = to_text(examine_node(healthy()), {.color = false, .everything = true, .other = "This node"});
    EXPECT_THAT(text, StartsWith("This node\n"));
    EXPECT_THAT(text, HasSubstr("the node's programs run (kubelet)"));
    EXPECT_THAT(text, testing::EndsWith(" 0 warn, 0 fail, 0 not applicable\n"));
}

// TRB-12
TEST(NodeDoctor, WhatDoesNotAnswerIsNotWaitedFor) {
    std::promise<void> end;
    const auto hangs = [ended = end.get_future().share()] { return ended.wait(), 1; };
    EXPECT_EQ(wait_at_most<int>(std::chrono::milliseconds(1), hangs), std::nullopt);
    end.set_value();
    EXPECT_EQ(wait_at_most<int>(std::chrono::minutes(1), hangs), 1);
}

/// On an emulated host.
struct NodeDoctorOnHost : hns::emulator::EmulatorFixture {
    std::vector<std::string> found() {
        NodeEvidence evidence = healthy();
        evidence.hns = get(read_hns(emulator(), "cbr0"));
        return problems(evidence);
    }
};

TEST_F(NodeDoctorOnHost, EndpointsOfPodsThatHaveGoneAreFound) {
    start();
    const auto bridge = make_bridge();
    auto leg = endpoint(bridge.id, "10.9.3.2");
    leg.name = "cbr0_ep";
    get(client().create(leg));
    const auto other = get(client().create(network("nat", hns::hcn::NetworkMode::Nat, "172.20.0.0/20", "172.20.0.1")));
    make_endpoint(other.id);
    const auto pod = make_endpoint(bridge.id, "10.9.3.7");
    const auto room = make_namespace();
    done(client().attach_endpoint(room.id, pod.id));
    EXPECT_THAT(found(), IsEmpty()) << "the host's own leg, another network's endpoint, and a pod's";
    done(client().detach_endpoint(room.id, pod.id));
    EXPECT_THAT(found(), ElementsAre(HasSubstr("endpoint " + pod.id)));
}

}  // namespace
}  // namespace porthole::cmd::doctor
