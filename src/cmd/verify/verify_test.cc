#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "bundled_images/bundled_images.h"
#include "client/fake/fake_api.h"
#include "cmd/verify/router_routes.h"
#include "cmd/verify/verification.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::cmd::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

const std::vector<Node> Nodes{{.name = "lin1", .address = "192.0.2.11", .server = "server-1", .server_ip = "10.244.1.5"},
                              {.name = "lin2", .address = "192.0.2.12", .server = "server-2", .server_ip = "10.244.2.5"},
                              {.name = "win1", .address = "192.0.2.13", .windows = true, .server = "server-3", .server_ip = "10.244.3.5"}};
const Service All{.name = "all",
                  .namespace_ = "check",
                  .cluster_ip = "10.96.0.9",
                  .cluster_domain = "cluster.local",
                  .node_port = 30080,
                  .host_port = 43080};

std::vector<Check> of(const std::vector<Check>& checks, Flow flow, const std::string& from) {
    std::vector<Check> found;
    for (const Check& check : checks) {
        if (check.flow == flow && check.from == from) found.push_back(check);
    }
    return found;
}

/// All pass but those for which `fails` is true.
template <class F>
Outcomes outcomes(const std::vector<Check>& checks, F fails) {
    Outcomes all;
    for (const Check& check : checks) all[check] = !fails(check);
    return all;
}

// VER-03
TEST(NetVerify, VER03_TriesEveryPairOfNodesOfBothSystems) {
    const auto checks = plan_checks(Nodes, All, "http://198.51.100.7/");
    EXPECT_EQ(of(checks, Flow::PodToPod, "win1").size(), 3u) << "its own pod among them";
    EXPECT_EQ(of(checks, Flow::PodToPod, "win1")[2].url, "http://10.244.3.5:80/");
    EXPECT_EQ(of(checks, Flow::PodToPod, "win1")[0].url, "http://10.244.1.5:80/");
    EXPECT_EQ(of(checks, Flow::NodeToNode, "lin1").size(), 2u);
    EXPECT_EQ(of(checks, Flow::NodeToNode, "win1").size(), 2u);
    EXPECT_EQ(of(checks, Flow::PodByName, "lin1")[2].url, "http://server-3.servers.check.svc.cluster.local:80/");
    EXPECT_EQ(of(checks, Flow::ServiceByName, "win1")[0].url, "http://all:80/");
    EXPECT_EQ(of(checks, Flow::NodePort, "lin1")[2].url, "http://192.0.2.13:30080/");
    EXPECT_EQ(of(checks, Flow::HostPort, "win1").size(), 2u) << "not its own";
    EXPECT_EQ(of(checks, Flow::OutsideByPing, "lin1")[0].ping, "198.51.100.7");
}

// VER-01
TEST(NetVerify, VER01_PingsBothWaysBetweenNodesOfBothSystems) {
    const auto checks = plan_checks(Nodes, All, "");
    EXPECT_EQ(of(checks, Flow::NodeToNode, "lin1")[1].ping, "192.0.2.13");
    EXPECT_EQ(of(checks, Flow::NodeToNode, "win1")[0].ping, "192.0.2.11");
    for (const Check& check : of(checks, Flow::NodeToNode, "win1")) {
        EXPECT_TRUE(check.on_host);
        EXPECT_EQ(check.limitation, "");
    }
}

// VER-02
TEST(NetVerify, VER02_PodsPingTheGatewayOfTheirOwnRouteTableAndTheNodes) {
    const auto checks = plan_checks(Nodes, All, "");
    for (const char* name : {"lin1", "win1"}) {
        const auto gateway = of(checks, Flow::PodToGateway, name);
        ASSERT_EQ(gateway.size(), 1u);
        EXPECT_EQ(gateway[0].ping, Gateway);
        EXPECT_EQ(gateway[0].limitation, "");
        EXPECT_EQ(of(checks, Flow::PodToNode, name).size(), 3u);
    }
    const Images bundled{bundled_images::WebImage, bundled_images::WebImage}, other{"busybox:1", "agnhost:2.53"};
    const std::vector<std::pair<std::size_t, Check>> one{{4, of(checks, Flow::PodToGateway, "win1")[0]}};
    EXPECT_EQ(prober_pod(Nodes[0], false, bundled, "ns", one).spec.containers[0].command.back(), "4=ping:gateway");
    EXPECT_THAT(prober_pod(Nodes[0], false, other, "ns", one).spec.containers[0].command.back(), HasSubstr("ip route"));
    EXPECT_EQ(prober_pod(Nodes[2], false, bundled, "ns", one).spec.containers[0].command.back(), "4=ping:gateway");
    EXPECT_THAT(prober_pod(Nodes[2], false, other, "ns", one).spec.containers[0].command.back(),
                HasSubstr("'route print -4 0.0.0.0 ^| find"));
}

// VER-03, SVC-19, SVC-20, TRB-06, TRB-11, LIM-09, LIM-10
TEST(NetVerify, VER03_LabelsWhatAWindowsHostDoesNotReachAndSaysFromWhereToTest) {
    Report report{.nodes = Nodes, .checks = plan_checks(Nodes, All, "")};
    const auto from_host = of(report.checks, Flow::ServiceFromNode, "win1");
    ASSERT_EQ(from_host.size(), 1u);
    EXPECT_TRUE(from_host[0].on_host);
    EXPECT_THAT(from_host[0].limitation, HasSubstr("test from a pod"));
    const auto ports = of(report.checks, Flow::NodePortFromNode, "win1");
    ASSERT_EQ(ports.size(), 3u);
    EXPECT_EQ(ports[0].limitation, "") << "another node's";
    EXPECT_EQ(ports[2].url, "http://192.0.2.13:30080/");
    EXPECT_THAT(ports[2].limitation, HasSubstr("test from another machine"));
    EXPECT_THAT(ports[2].limitation, testing::EndsWith(" (see docs/guide/windows_support.md#win421)"));
    EXPECT_EQ(of(report.checks, Flow::NodePortFromNode, "lin1")[0].limitation, "") << "Linux reaches its own";
    const auto expected = [](const Check& c) {
        return c.from == "win1" && (c.flow == Flow::ServiceFromNode || (c.flow == Flow::NodePortFromNode && c.to == "win1"));
    };
    report.outcomes = outcomes(report.checks, expected);
    EXPECT_TRUE(report.passed());
    EXPECT_THAT(to_text(report, false), HasSubstr("expected limitation: node win1 → http://10.96.0.9:80/"));
    report.outcomes = outcomes(report.checks, [](const Check& c) { return c.flow == Flow::NodePortFromNode && c.from == "lin1"; });
    EXPECT_FALSE(report.passed());
    EXPECT_THAT(to_text(report, false), HasSubstr("stops at service proxy of lin1"));
}

// TRB-05, NET-21
TEST(NetVerify, TRB05_ProbesTheOutsideByTcpAndLooksAtTheExceptionsFromTranslation) {
    std::vector<Node> nodes = Nodes;
    nodes[2].nat_exceptions = {"10.244.0.0/16", "198.51.100.0/24"};
    Report report{.nodes = nodes, .checks = plan_checks(nodes, All, "http://198.51.100.7:8080/x")};
    report.outcomes = outcomes(report.checks, [](const Check& c) { return c.flow == Flow::OutsideByPing && c.from == "win1"; });
    EXPECT_TRUE(report.passed()) << "TCP passes, and pings fail by design";
    EXPECT_THAT(to_text(report, false), HasSubstr("Windows does not translate ICMP"));
    const auto fails = [](const Check& c) { return c.flow == Flow::OutsideByTcp; };
    const auto hop = [&](const char* from) {
        return failing_hop(of(report.checks, Flow::OutsideByTcp, from).front(), outcomes(report.checks, fails), nodes);
    };
    EXPECT_THAT(hop("win1"), HasSubstr("198.51.100.0/24 is among its exceptions and covers the target"));
    EXPECT_THAT(hop("lin1"), HasSubstr("check address translation on lin1"));
    nodes[2].nat_exceptions.pop_back();
    EXPECT_THAT(hop("win1"), HasSubstr("check address translation on win1"));
}

// TRB-04, LIM-47
TEST(NetVerify, TRB04_FindsAdaptersThatDropTheAddressesOfPods) {
    const auto checks = plan_checks(Nodes, All, "");
    const auto hop = [&](auto fails, const char* from = "win1", const std::vector<Node>& nodes = Nodes) {
        return failing_hop(of(checks, Flow::PodToPod, from)[from == std::string("win1") ? 0 : 2], outcomes(checks, fails), nodes);
    };
    const auto beyond = [](const Check& c) { return c.flow == Flow::PodToPod && c.from != c.to && (c.from == "win1" || c.to == "win1"); };
    EXPECT_THAT(hop(beyond), HasSubstr("enable MAC address spoofing on all of its adapters"));
    EXPECT_THAT(hop(beyond, "lin1"), HasSubstr("the network adapter of win1")) << "it is the other end that drops";

    constexpr const char* Advice = "MAC address spoofing";
    EXPECT_THAT(hop([&](const Check& c) { return beyond(c) && c.to != "lin2"; }), Not(HasSubstr(Advice))) << "one node is reached";
    EXPECT_THAT(hop([&](const Check& c) { return beyond(c) || c.flow == Flow::NodeToNode; }), Not(HasSubstr(Advice)))
        << "nodes are cut off";
    EXPECT_THAT(hop([&](const Check& c) { return beyond(c) || (c.flow == Flow::NodeToPod && c.from == "win1"); }), Not(HasSubstr(Advice)))
        << "the node has no routes";
    EXPECT_THAT(hop([](const Check& c) { return c.flow == Flow::PodToPod; }), Not(HasSubstr(Advice)))
        << "pods do not even reach their own node";
    std::vector<Node> overlay = Nodes;
    overlay[2].overlay = true;
    EXPECT_THAT(hop(beyond, "win1", overlay), Not(HasSubstr(Advice))) << "its frames are within packets of the node";
}

// NET-30, NET-31
TEST(NetVerify, NET31_KnowsWhatWindowsLimitsByDesign) {
    std::vector<Node> nodes = Nodes;
    auto checks = plan_checks(nodes, All, "http://198.51.100.7/");
    EXPECT_THAT(of(checks, Flow::OutsideByPing, "win1")[0].limitation, HasSubstr("ICMP"));
    EXPECT_EQ(of(checks, Flow::OutsideByPing, "lin1")[0].limitation, "");
    EXPECT_EQ(of(checks, Flow::NodeToPod, "lin1")[2].limitation, "");
    for (Node& node : nodes) node.overlay = true;
    checks = plan_checks(nodes, All, "");
    EXPECT_THAT(of(checks, Flow::NodeToPod, "lin1")[2].limitation, HasSubstr("overlay"));
    EXPECT_EQ(of(checks, Flow::NodeToPod, "lin1")[1].limitation, "");
    EXPECT_THAT(of(checks, Flow::NodeToPod, "win1")[0].limitation, HasSubstr("overlay"));
    EXPECT_EQ(of(checks, Flow::NodeToPod, "win1")[2].limitation, "") << "its own pod";
}

// DNS-11, DNS-13, TRB-13
TEST(NetVerify, ExplainsTheSuffixRulesWhereAPartOfANameFails) {
    Report report{.nodes = Nodes, .checks = plan_checks(Nodes, All, "")};
    EXPECT_EQ(of(report.checks, Flow::ServiceByPartName, "win1")[0].url, "http://all.check:80/");
    report.outcomes = outcomes(report.checks, [](const Check& c) { return c.flow == Flow::ServiceByPartName && c.from == "win1"; });
    EXPECT_TRUE(report.passed());
    EXPECT_THAT(to_text(report, false), HasSubstr("expected limitation: pod on win1 → http://all.check:80/"));
    EXPECT_THAT(to_text(report, false), HasSubstr("Windows completes only names without a dot"));
    EXPECT_THAT(to_text(report, false), HasSubstr("all.check.svc.cluster.local"));
    EXPECT_THAT(schema::to_pretty_json(to_value(report)), HasSubstr("Windows completes only names without a dot"));
    report.outcomes = outcomes(report.checks, [](const Check& c) { return c.flow == Flow::ServiceByPartName; });
    EXPECT_FALSE(report.passed()) << "Linux pods must reach it";
    report.outcomes = outcomes(report.checks, [](const Check& c) { return c.flow == Flow::ServiceByName; });
    EXPECT_THAT(to_text(report, false), HasSubstr("Resolve-DnsName"));
}

// NET-02
TEST(NetVerify, NET02_NamesTheRouterThatHasTheRoutes) {
    std::vector<Node> nodes = Nodes;
    for (Node& node : nodes) node.routed = true;
    const auto checks = plan_checks(nodes, All, "");
    const auto to_lin1 = [](const Check& c) { return c.to == "lin1" && c.from != "lin1" && c.flow != Flow::NodeToNode; };
    EXPECT_THAT(
        failing_hop(of(checks, Flow::PodToPod, "lin2").front(), outcomes(checks, to_lin1), nodes),
        HasSubstr("node lin2 to the pods of lin1: check the routes of the router between them, which `porthole net routes` prints"));
}

TEST(NetVerify, NamesTheHopAtWhichAWayEnds) {
    const auto checks = plan_checks(Nodes, All, "");
    const auto hop = [&](Flow flow, const std::string& from, auto fails) {
        return failing_hop(of(checks, flow, from).front(), outcomes(checks, fails), Nodes);
    };
    const auto to_lin1 = [](const Check& c) { return c.to == "lin1" && c.from == "lin2"; };
    EXPECT_THAT(hop(Flow::PodToPod, "lin2", [&](const Check& c) { return to_lin1(c); }), HasSubstr("between the nodes lin2 and lin1"));
    EXPECT_THAT(hop(Flow::PodToPod, "lin2", [&](const Check& c) { return to_lin1(c) && c.flow != Flow::NodeToNode; }),
                HasSubstr("routes of lin2"));
    EXPECT_THAT(hop(Flow::PodToPod, "lin2", [](const Check& c) { return c.to == "lin1" && c.flow != Flow::NodeToNode; }),
                HasSubstr("pod network of lin1"));
    const auto service = [](const Check& c) { return c.flow >= Flow::ServiceByAddress && c.flow <= Flow::NodePort && c.from == "win1"; };
    EXPECT_THAT(hop(Flow::ServiceByFullName, "win1", service), HasSubstr("service proxy of win1"));
    EXPECT_THAT(hop(Flow::ServiceByName, "win1", [](const Check& c) { return c.flow == Flow::ServiceByName; }), HasSubstr("DNS"));
    EXPECT_THAT(hop(Flow::ServiceByAddress, "lin2", [&](const Check& c) { return service(c) || to_lin1(c) || c.from == "lin2"; }),
                HasSubstr("between the nodes"))
        << "not the proxy where pods are out of reach, too";
}

TEST(NetVerify, ReadsWhatProbersPrint) {
    EXPECT_EQ(read_answers("check 3 pass\r\nnoise\ncheck 12 fail\ncheck x pass\ncheck 4\ncheck 12 pass"),
              (std::map<std::size_t, bool>{{3, true}, {12, false}}));
    EXPECT_EQ(read_answers("check 1 ping \r\nRequest timed out.\r\ncheck 1 fail\r\n"
                           "check 2 ping \r\nReply from 10.244.1.5: bytes=32 time<1ms TTL=62\r\ncheck 2 fail\r\n"
                           "check 3 ping \r\nReply from 10.89.0.2: Destination host unreachable.\r\ncheck 3 fail\r\n"
                           "check 4 ping \r\n"),
              (std::map<std::size_t, bool>{{1, false}, {2, true}, {3, false}}));
}

TEST(NetVerify, ReportsPassLimitationAndFailure) {
    Report report{.nodes = Nodes, .checks = plan_checks(Nodes, All, "http://198.51.100.7/")};
    report.outcomes = outcomes(report.checks, [](const Check& c) { return c.flow == Flow::OutsideByPing && c.from == "win1"; });
    EXPECT_TRUE(report.passed());
    EXPECT_THAT(to_text(report, false), HasSubstr("expected limitation: pod on win1 → 198.51.100.7"));
    EXPECT_THAT(to_text(report, false), Not(HasSubstr("    pass: ")));
    report.outcomes[of(report.checks, Flow::ServiceByAddress, "win1").front()] = false;
    EXPECT_FALSE(report.passed());
    EXPECT_THAT(to_text(report, false), HasSubstr("stops at service proxy of win1"));
    EXPECT_THAT(schema::to_pretty_json(to_value(report)), HasSubstr("\"hop\": \"service proxy of win1"));
}

TEST(NetVerify, NamesWholePathsInItsReport) {
    Report report{.nodes = Nodes, .checks = plan_checks(Nodes, All, "http://198.51.100.7/")};
    report.outcomes = outcomes(report.checks, [](const Check&) { return false; });
    for (const Check& check : report.checks) EXPECT_THAT(to_text(report, false), HasSubstr(std::string(title(check.flow)) + " "));
}

/// Runs pods in memory: servers get addresses, probers end.
struct Kubelets {
    client::FakeApi& api;
    void step() {
        for (auto pod : api.list<core::Pod>()) {
            if (!pod.status.phase.empty()) continue;
            const bool server = pod.metadata.name.starts_with("server-");
            pod.status.phase = server ? "Running" : "Succeeded";
            pod.status.pod_ip = "10.244.9." + std::to_string(++given);
            if (server) pod.status.conditions.push_back({.type = "Ready", .status = "True"});
            api.put(pod);
        }
    }
    int given = 0;
};

core::Node ready_node(const std::string& name, const std::string& system, bool ready = true) {
    core::Node node;
    node.metadata.name = name;
    node.metadata.labels = {{"kubernetes.io/os", system}};
    node.spec.pod_cidr = name == "lin1" ? "10.244.1.0/24" : "10.244.2.0/24";
    node.status.addresses = {{.type = "InternalIP", .address = name == "lin1" ? "192.0.2.11" : "192.0.2.13"}};
    node.status.conditions.push_back({.type = "Ready", .status = ready ? "True" : "False"});
    return node;
}

/// An API whose probers tell what `outcome` says of their round (the last word of a prober's name).
class TellingApi final : public client::Transport {
public:
    TellingApi(client::FakeApi& api, std::function<bool(int round)> outcome) : api_(api), outcome_(std::move(outcome)) {}

    Task<client::ApiResponse> call(client::ApiRequest request) override {
        const std::size_t start = request.path.rfind("/from-"), end = request.path.rfind("/log");
        if (start == std::string::npos || end == std::string::npos || end < start) co_return co_await api_.call(std::move(request));
        const std::string name = request.path.substr(start + 1, end - start - 1);
        co_return client::ApiResponse{.code = 200, .body = std::make_shared<const std::string>(log_of(name, name.back() - '0'))};
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override { return api_.watch(std::move(request)); }

private:
    std::string log_of(const std::string& name, int round) const {
        std::string log;
        for (const auto& pod : api_.list<core::Pod>()) {
            if (pod.metadata.name != name) continue;
            // "NUMBER=TARGET" for the bundled image's program, "check NUMBER" in a script.
            std::string before;
            for (const std::string& word : split(join(pod.spec.containers.front().command, " "), ' ')) {
                const std::string number = word.substr(0, word.find_first_not_of("0123456789"));
                if (!number.empty() && (before == "check" || word.substr(number.size()).starts_with("=")))
                    log += "check " + number + (outcome_(round) ? " pass\n" : " fail\n");
                before = word;
            }
        }
        return log;
    }

    client::FakeApi& api_;
    std::function<bool(int)> outcome_;
};

struct VerificationTest : testing::Test {
    sim::SimLoop loop;
    client::FakeApi api{loop};
    SeededRandom random{1};
    std::vector<std::string> told;

    /// Requires: the check comes to an end.
    Report verify(client::Transport& transport) {
        client::Client client(transport);
        Kubelets kubelets{api};
        Verification verification(loop, client, random, {}, [this](const std::string& step) { told.push_back(step); });
        std::optional<Result<Report>> ended;
        TaskContext context(loop);
        start_task(verification.run(), context, [&](Result<Report> report) { ended = std::move(report); });
        for (int i = 0; i < 600 && !ended; ++i) {
            loop.advance(500ms);
            kubelets.step();
        }
        return std::move(ended.value().value());
    }
};

TEST_F(VerificationTest, LeavesNothingBehindAndTellsWhichNodesItLeftOut) {
    api.put(ready_node("lin1", "linux"));
    api.put(ready_node("win1", "windows"));
    api.put(ready_node("win2", "windows", false));
    const Report report = verify(api);
    EXPECT_EQ(report.nodes.size(), 2u);
    EXPECT_THAT(report.left_out.front(), HasSubstr("win2 is not Ready"));
    EXPECT_FALSE(report.passed()) << "nobody has told of a success";
    EXPECT_TRUE(api.list<core::Namespace>().empty() || api.list<core::Namespace>().front().metadata.deletion_timestamp);
}

TEST_F(VerificationTest, AWayThatOpensALittleLaterPasses) {
    api.put(ready_node("lin1", "linux"));
    api.put(ready_node("win1", "windows"));
    TellingApi late(api, [](int round) { return round > 1; });
    EXPECT_TRUE(verify(late).passed());
    EXPECT_THAT(told, testing::Contains(HasSubstr("once more"))) << "only what failed";

    TellingApi shut(api, [](int) { return false; });
    const Report report = verify(shut);
    EXPECT_TRUE(report.left_out.empty());
    EXPECT_FALSE(report.passed());
}

TEST(NetVerify, TheImageThatNodesCarryNeedsNoShell) {
    const Images bundled{bundled_images::WebImage, bundled_images::WebImage}, other{"busybox:1", "agnhost:2.53"};
    const Node& lin1 = Nodes[0];
    ASSERT_FALSE(lin1.windows);
    EXPECT_TRUE(server_pod(lin1, bundled, All).spec.containers[0].command.empty()) << "its own entrypoint serves";
    EXPECT_EQ(server_pod(lin1, other, All).spec.containers[0].command.front(), "sh");
    const std::vector<std::pair<std::size_t, Check>> checks{{0, {.url = "http://10.244.1.2:80/"}}, {7, {.ping = "192.0.2.11"}}};
    EXPECT_THAT(prober_pod(lin1, false, bundled, "ns", checks).spec.containers[0].command,
                ElementsAre("/web/check", "0=http://10.244.1.2:80/", "7=ping:192.0.2.11"));
    EXPECT_EQ(prober_pod(lin1, false, other, "ns", checks).spec.containers[0].command.front(), "sh");
}

TEST(NetVerify, OnlyAHostProcessPodIsOnTheNetworkOfAWindowsHost) {
    const std::vector<std::pair<std::size_t, Check>> checks{{0, {.url = "http://10.244.1.2:80/"}}};
    const Images bundled{bundled_images::WebImage, bundled_images::WebImage};
    const core::Pod host = prober_pod(Nodes[2], true, bundled, "ns", checks), inside = prober_pod(Nodes[2], false, bundled, "ns", checks);
    EXPECT_TRUE(host.spec.host_network);
    EXPECT_TRUE(host.spec.security_context->windows_options->host_process.value());
    EXPECT_THAT(host.spec.containers[0].command.back(),
                HasSubstr("%CONTAINER_SANDBOX_MOUNT_POINT%\\web\\check.exe 0=http://10.244.1.2:80/"));
    EXPECT_FALSE(inside.spec.security_context.has_value());
    EXPECT_THAT(inside.spec.containers[0].command, ElementsAre("C:\\web\\check.exe", "0=http://10.244.1.2:80/"));
}

// NET-02
TEST(NetRoutes, NET02_PrintsTheRoutesOfARouter) {
    const std::vector<core::Node> nodes{ready_node("win1", "windows"), ready_node("lin1", "linux")};
    EXPECT_EQ(router_routes(nodes, "ip", "192.0.2.11").value(),
              "ip route replace 10.244.1.0/24 via 192.0.2.11\nip route replace 10.244.2.0/24 via 192.0.2.13\n");
    EXPECT_EQ(router_routes(nodes, "csv", "").value(), "node,range,via\nlin1,10.244.1.0/24,192.0.2.11\nwin1,10.244.2.0/24,192.0.2.13\n");
    EXPECT_THAT(router_routes(nodes, "cisco", "").error().message, HasSubstr("powershell"));
    EXPECT_THAT(router_routes({core::Node{}}, "ip", "").error().message, HasSubstr("has no address"));
}

// NET-04
TEST(NetRoutes, NET04_TheScriptForWindowsAddsOnlyWhatIsMissing) {
    const std::vector<core::Node> nodes{ready_node("win1", "windows"), ready_node("lin1", "linux")};
    const std::string script = router_routes(nodes, "powershell", "192.0.2.99").value();
    for (const char* route :
         {"-DestinationPrefix 10.244.1.0/24 -NextHop 192.0.2.11", "-DestinationPrefix 10.244.2.0/24 -NextHop 192.0.2.13"}) {
        EXPECT_THAT(script,
                    HasSubstr(std::string("if (-not (Get-NetRoute ") + route + " -ErrorAction SilentlyContinue)) { New-NetRoute " + route));
    }
    EXPECT_THAT(script, HasSubstr("Find-NetRoute -RemoteIPAddress 192.0.2.99"));
    EXPECT_THAT(script, HasSubstr("-not (Get-NetRoute -DestinationPrefix 192.0.2.99/32 -ErrorAction SilentlyContinue)"));
    EXPECT_THAT(router_routes(nodes, "powershell", "").value(), Not(HasSubstr("/32")));
}

}  // namespace
}  // namespace porthole::cmd::verify
