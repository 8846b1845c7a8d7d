#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "node_join/windows_node/environment.h"
#include "node_join/windows_node/firewall.h"
#include "node_join/windows_node/node_object.h"
#include "node_join/windows_node/node_plan.h"
#include "node_join/windows_node/node_status.h"
#include "node_join/windows_node/preflight.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "winservice/service_order.h"

namespace porthole::node_join {

using namespace winservice;
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

WindowsNode some_node() {
    WindowsNode node;
    node.name = "win-1";
    node.ip = "192.0.2.13";
    return node;
}

ServiceDefinition service_of(const WindowsNode& node, const std::string& name, const std::string& runtime = "") {
    const auto all = node_services(node, runtime);
    return *std::ranges::find(all, name, &ServiceDefinition::name);
}

// JOI-07, JOI-12, JOI-18
TEST(NodeServices, StartInOrderAndTheProxyAfterTheKubelet) {
    const auto services = node_services(some_node(), "");
    ASSERT_EQ(services.size(), std::size(NodeServices));
    for (std::size_t i = 0; i < services.size(); ++i) EXPECT_EQ(services[i].name, NodeServices[i]);
    EXPECT_EQ(services[0].name, "flanneld");
    EXPECT_EQ(services[1].name, "kubelet");
    EXPECT_TRUE(services[0].depends_on.empty());
    EXPECT_THAT(services[2].depends_on, ElementsAre("kubelet"));
    EXPECT_EQ(services[0].environment.at("NODE_NAME"), "win-1");
    EXPECT_EQ(services[2].environment.at("KUBE_NETWORK"), "cbr0");
}

// STO-24
TEST(NodeServices, HaveACsiProxyUnlessAnotherIsThere) {
    auto node = some_node();
    EXPECT_THAT(service_of(node, "csi-proxy").command, Contains("--windows-service"));
    EXPECT_EQ(service_of(node, "csi-proxy").command.front(), node.folder + "\\csi-proxy.exe");
    node.csi_proxy = false;
    EXPECT_EQ(node_services(node, "").size(), 3u);
}

TEST(NodeServices, AreOursByTheirProgram) {
    WindowsNode node;
    node.folder = "C:\\k";
    EXPECT_TRUE(is_program_of(node, "C:\\k\\csi-proxy.exe"));
    EXPECT_TRUE(is_program_of(node, "\\\\?\\c:/K/csi-proxy.exe"));
    for (const char* other : {"C:\\kubernetes\\csi-proxy.exe", "C:\\etc\\csi-proxy.exe", "C:\\k\\..\\etc\\csi-proxy.exe", ""})
        EXPECT_FALSE(is_program_of(node, other)) << other;
}

TEST(NodeServices, WaitForTheRuntimeWhereItIsAService) {
    EXPECT_THAT(service_of(some_node(), "kubelet", "containerd").depends_on, ElementsAre("containerd"));
}

TEST(NodeServices, AgreeOnTheNetworkInEitherMode) {
    auto node = some_node();
    EXPECT_THAT(service_of(node, "flanneld").command, Contains("--backend=host-gw"));
    EXPECT_THAT(service_of(node, "kube-proxy").command, Contains("--network-name=cbr0"));
    EXPECT_THAT(firewall_rules(node), ElementsAre(FirewallRule{"Porthole kubelet", "TCP", 10250}));
    node.network_mode = "overlay";
    EXPECT_THAT(service_of(node, "flanneld").command, Contains("--backend=vxlan"));
    EXPECT_THAT(service_of(node, "kube-proxy").command, Contains("--network-name=vxlan0"));
    EXPECT_THAT(service_of(node, "kube-proxy").command, testing::Not(Contains("--enable-dsr=true")));
    node.direct_server_return = true;
    EXPECT_THAT(service_of(node, "kube-proxy").command, Contains("--enable-dsr=true"));
    EXPECT_THAT(firewall_rules(node), Contains(FirewallRule{"Porthole overlay network", "UDP", 4789}));
}

TEST(NodeServices, OnASharedDiskNothingGoesForWantOfRoom) {
    auto node = some_node();
    EXPECT_THAT(service_of(node, "kubelet").command, testing::Not(Contains(HasSubstr("image-gc"))));
    node.shared_disk = true;
    EXPECT_THAT(service_of(node, "kubelet").command, Contains("--image-gc-high-threshold=100"));
    EXPECT_THAT(service_of(node, "kubelet").command, Contains(HasSubstr("nodefs.available<0%")));
}

// JOI-09, JOI-10
TEST(NodeServices, CanBeRegisteredByOtherMeans) {
    auto node = some_node();
    node.folder = "C:\\Program Files\\k";
    const auto services = node_services(node, "");
    const auto sc = sc_commands(services);
    EXPECT_THAT(sc, Contains(HasSubstr(R"(sc.exe create kubelet binPath= "\"C:\Program Files\k\kubelet.exe\" --windows-service )")));
    EXPECT_THAT(sc, Contains(HasSubstr(" start= auto depend= kubelet")));
    EXPECT_EQ(sc.back(), "sc.exe start csi-proxy");
    const auto nssm = nssm_commands(node, services);
    EXPECT_THAT(nssm, Contains(HasSubstr(R"(nssm install kubelet "C:\Program Files\k\kubelet.exe" )")));
    EXPECT_THAT(nssm, Contains("nssm set kube-proxy DependOnService kubelet"));
    EXPECT_THAT(nssm, Contains("nssm set kubelet AppEnvironmentExtra KUBE_NETWORK=cbr0 NODE_NAME=win-1"));
    for (const auto& line : nssm) EXPECT_THAT(line, testing::Not(HasSubstr("--windows-service")));
}

// KBL-04
TEST(WindowsNode, RefusesWhatCannotBe) {
    EXPECT_TRUE(check_node(some_node()));
    struct {
        const char* name;
        void (*spoil)(WindowsNode&);
        const char* says;
    } const rows[] = {
        {"a name that swallowed a flag", [](WindowsNode& node) { node.name = "win--kubeconfig=c:\\k"; }, "cannot be a node's name"},
        {"capitals", [](WindowsNode& node) { node.name = "WIN-1"; }, "cannot be a node's name"},
        {"a mode", [](WindowsNode& node) { node.network_mode = "bridge"; }, "l2bridge or overlay"},
        {"a range", [](WindowsNode& node) { node.cluster_cidr = "10.244"; }, "not a valid address range"},
        {"a relative folder", [](WindowsNode& node) { node.folder = "k"; }, "full path"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        auto node = some_node();
        row.spoil(node);
        const auto checked = check_node(node);
        ASSERT_FALSE(checked);
        EXPECT_THAT(checked.error().message, HasSubstr(row.says));
    }
}

HostFacts good_host() {
    return {
        .elevated = true, .build = 20348, .runtime_answers = true, .adapter = "00-15-5d-01-02-03", .page_file = 1 << 30, .processors = 4};
}

// JOI-17, RUN-07
TEST(Preflight, NamesWhatIsWrongAndWhatHelps) {
    for (const Check& check : preflight(good_host(), some_node())) EXPECT_EQ(check.outcome, CheckOutcome::Pass) << check.id;
    struct {
        const char* id;
        void (*spoil)(HostFacts&);
        CheckOutcome outcome;
    } const rows[] = {
        {"elevation", [](HostFacts& facts) { facts.elevated = false; }, CheckOutcome::Fail},
        {"windows-build", [](HostFacts& facts) { facts.build = 14393; }, CheckOutcome::Fail},
        {"containers-feature", [](HostFacts& facts) { facts.network_service = "not there"; }, CheckOutcome::Fail},
        {"runtime", [](HostFacts& facts) { facts.runtime_answers = false; }, CheckOutcome::Fail},
        {"adapter", [](HostFacts& facts) { facts.adapter = ""; }, CheckOutcome::Fail},
        {"ports", [](HostFacts& facts) { facts.taken_ports = {10250}; }, CheckOutcome::Fail},
        {"names", [](HostFacts& facts) { facts.foreign_service = "kubelet"; }, CheckOutcome::Fail},
        {"page-file", [](HostFacts& facts) { facts.page_file = 0; }, CheckOutcome::Warn},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.id);
        auto facts = good_host();
        row.spoil(facts);
        const auto checks = preflight(facts, some_node());
        const auto found = std::ranges::find(checks, row.id, &Check::id);
        ASSERT_NE(found, checks.end());
        EXPECT_EQ(found->outcome, row.outcome);
        EXPECT_NE(found->remedy, "");
        EXPECT_EQ(std::ranges::count(checks, CheckOutcome::Pass, &Check::outcome), static_cast<int>(checks.size()) - 1);
    }
    EXPECT_EQ(check_clock(-3).outcome, CheckOutcome::Pass);
    EXPECT_EQ(check_clock(3600).outcome, CheckOutcome::Fail);
}

// KBL-17, KBL-18
TEST(Preflight, SomethingIsKeptForWindowsItself) {
    const auto reservation = [](const char* reserved) {
        auto node = some_node();
        if (reserved) node.system_reserved = reserved;
        const auto checks = preflight(good_host(), node);
        return *std::ranges::find(checks, "reservation", &Check::id);
    };
    EXPECT_THAT(reservation(nullptr).text, HasSubstr("--system-reserved=memory=2Gi,cpu=200m")) << "50m a processor";
    EXPECT_EQ(reservation("cpu=100m,memory=4Gi").outcome, CheckOutcome::Pass);
    EXPECT_EQ(reservation("cpu=100m,memory=1Gi").outcome, CheckOutcome::Warn);
    EXPECT_EQ(reservation("cpu=100m").outcome, CheckOutcome::Warn);
    EXPECT_EQ(reservation("").outcome, CheckOutcome::Warn);
    EXPECT_THAT(service_of(some_node(), "kubelet").command, Contains("--system-reserved=memory=2Gi"));
}

// JOI-14
TEST(Preflight, JOI14_TheProxyIsShownWithoutItsPassword) {
    const auto check = [](const char* proxy) {
        auto facts = good_host();
        facts.proxy = proxy;
        const auto checks = preflight(facts, some_node());
        return *std::ranges::find(checks, "proxy", &Check::id);
    };
    EXPECT_EQ(check("http://jane:sesame@proxy.example.com:3128").text,
              "requests go through http://proxy.example.com:3128, those to pods and services do not");
    EXPECT_EQ(check("http://:80").outcome, CheckOutcome::Warn);
}

// JOI-14
TEST(Preflight, KeepsTheClusterOutOfTheProxy) {
    EXPECT_EQ(completed_no_proxy("example.com, 10.96.0.0/12", some_node()),
              "example.com,10.96.0.0/12,localhost,127.0.0.1,10.244.0.0/16,.svc,.cluster.local,192.0.2.13");
}

/// Remembers what it was told, in order.
class FakeServiceManager final : public ServiceManager {
public:
    Result<void> ensure(const ServiceDefinition& service) override {
        services.try_emplace(service.name, ServiceState::Stopped);
        return {};
    }
    Result<std::optional<ServiceState>> find(const std::string& name) override {
        const auto found = services.find(name);
        return found == services.end() ? std::optional<ServiceState>() : found->second;
    }
    Result<void> start(const std::string& name, std::chrono::seconds) override {
        if (name == broken) return Error(Reason::Io, "service " + name + " ended while starting, with code 1");
        services[name] = ServiceState::Running;
        return {};
    }
    Result<void> stop(const std::string& name, std::chrono::seconds) override {
        services[name] = ServiceState::Stopped;
        return {};
    }
    Result<void> remove(const std::string& name) override {
        services.erase(name);
        return {};
    }

    std::map<std::string, ServiceState> services;
    std::string broken;
};

class ServiceOrder : public testing::Test {
protected:
    Result<void> install() { return install_services(manager, node_services(some_node(), ""), report); }
    std::vector<std::string> take() { return std::exchange(said, {}); }

    FakeServiceManager manager;
    std::vector<std::string> said, names{std::begin(NodeServices), std::end(NodeServices)};
    Report report = [this](const std::string& text) { said.push_back(text); };
};

TEST_F(ServiceOrder, StartsAndStopsInOppositeOrders) {
    ASSERT_TRUE(install());
    EXPECT_THAT(take(), ElementsAre("service flanneld runs", "service kubelet runs", "service kube-proxy runs", "service csi-proxy runs"));
    ASSERT_TRUE(stop_services(manager, names, report));
    EXPECT_THAT(take(), ElementsAre("service csi-proxy stopped", "service kube-proxy stopped", "service kubelet stopped",
                                    "service flanneld stopped"));
    ASSERT_TRUE(stop_services(manager, names, report));
    EXPECT_TRUE(take().empty());
}

TEST_F(ServiceOrder, MayBeInstalledAndRemovedTwice) {
    ASSERT_TRUE(install());
    ASSERT_TRUE(install());
    EXPECT_EQ(manager.services.size(), 4u);
    ASSERT_TRUE(remove_services(manager, names, report));
    EXPECT_TRUE(manager.services.empty());
    EXPECT_TRUE(remove_services(manager, names, report));
}

TEST_F(ServiceOrder, EndsAtTheServiceThatDoesNotStart) {
    manager.broken = "flanneld";
    const auto installed = install();
    ASSERT_FALSE(installed);
    EXPECT_THAT(installed.error().message, HasSubstr("flanneld"));
    EXPECT_EQ(manager.services["kube-proxy"], ServiceState::Stopped);
}

// JOI-15
TEST(Environment, AFolderIsInPathOnce) {
    EXPECT_EQ(path_with("C:\\Windows;C:\\Tools", "C:\\k"), "C:\\Windows;C:\\Tools;C:\\k");
    EXPECT_EQ(path_with("C:\\Windows;", "C:\\k"), "C:\\Windows;C:\\k");
    EXPECT_EQ(path_with("", "C:\\k"), "C:\\k");
    for (const char* there : {"C:\\k;C:\\Windows", "C:\\Windows;c:\\K\\", "C:/k"}) EXPECT_EQ(path_with(there, "C:\\k"), there);
    EXPECT_EQ(path_with("C:\\kube", "C:\\k"), "C:\\kube;C:\\k");
}

// JOI-18
TEST(NodeObject, IsWhatTheKubeletWouldMake) {
    kubelet::HostFacts facts;
    facts.operating_system = "windows";
    facts.architecture = "amd64";
    facts.windows_build = "10.0.20348";
    auto node = some_node();
    node.labels = {"team=shop", "plain"};
    node.taints = {"os=windows:NoSchedule", "gpu:NoExecute"};
    const auto made = first_node(node, facts);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->metadata.name, "win-1");
    const auto label = [&](const char* key) { return made->metadata.labels.at(key); };
    EXPECT_EQ(label("kubernetes.io/os"), "windows");
    EXPECT_EQ(label("kubernetes.io/hostname"), "win-1");
    EXPECT_EQ(label("node.kubernetes.io/windows-build"), "10.0.20348");
    EXPECT_EQ(label("team"), "shop");
    EXPECT_EQ(label("plain"), "");
    ASSERT_EQ(made->spec.taints.size(), 2u);
    EXPECT_EQ(made->spec.taints[0].key + made->spec.taints[0].value + made->spec.taints[0].effect, "oswindowsNoSchedule");
    EXPECT_EQ(made->spec.taints[1].key + made->spec.taints[1].value + made->spec.taints[1].effect, "gpuNoExecute");
    EXPECT_EQ(made->status.addresses.at(0).address, "192.0.2.13") << "flanneld waits for it";
    EXPECT_TRUE(made->status.conditions.empty()) << "of its state only the kubelet speaks";
    node.taints = {"os=windows"};
    EXPECT_THAT(first_node(node, facts).error().message, HasSubstr("key=value:NoSchedule"));
}

/// A netsh that keeps rules by name, or none at all.
class FakeNetsh final : public ProcessRunner {
public:
    Task<CommandOutput> run(Command command) override {
        const std::string verb = command.arguments.at(3), name = command.arguments.at(5).substr(5);
        if (verb == "add" && keeps) rules[name] = command.arguments.back();
        if (verb == "delete") rules.erase(name);
        CommandOutput output{.exit_code = rules.contains(name) || verb == "add" ? 0 : 1};
        if (verb == "show" && rules.contains(name)) output.output = "Rule Name: " + name + "\n";
        co_return output;
    }
    std::map<std::string, std::string> rules;
    bool keeps = true;
};

TEST(Firewall, MakesARuleOnceAndBelievesOnlyWhatIsShown) {
    sim::SimLoop loop;
    FakeNetsh netsh;
    const FirewallRule rule{"Porthole kubelet", "TCP", 10250};
    EXPECT_TRUE(sim::run(loop, ensure_firewall_rule(netsh, rule)));
    EXPECT_TRUE(sim::run(loop, ensure_firewall_rule(netsh, rule)));
    EXPECT_EQ(netsh.rules.at("Porthole kubelet"), "localport=10250");
    EXPECT_TRUE(sim::run(loop, remove_firewall_rule(netsh, rule.name)));
    EXPECT_TRUE(netsh.rules.empty());
    netsh.keeps = false;
    const auto none = sim::run(loop, ensure_firewall_rule(netsh, rule));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().reason, Reason::Unavailable);
}

// NET-42
TEST(NodeServices, NET42_TheAdapterOfThePodNetworkIsChosen) {
    auto node = some_node();
    for (const std::string& word : service_of(node, "flanneld").command) EXPECT_FALSE(word.starts_with("--adapter")) << word;
    node.adapter = "Ethernet 2";
    EXPECT_THAT(service_of(node, "flanneld").command, Contains("--adapter=Ethernet 2"));
    const std::vector<net::Interface> all{
        {"Ethernet", {IpAddress::parse("192.0.2.13").value()}},
        {"vEthernet (Ethernet 2)", {IpAddress::parse("fe80::1").value(), IpAddress::parse("192.0.2.99").value()}},
        {"Ethernet 2", {}}};
    EXPECT_EQ(address_of_adapter("Ethernet", all).value(), "192.0.2.13");
    EXPECT_EQ(address_of_adapter("ethernet 2", all).value(), "192.0.2.99") << "that of the switch on it";
    EXPECT_THAT(address_of_adapter("LAN", all).error().message, HasSubstr("this machine has \"Ethernet\", \"vEthernet (Ethernet 2)\""));
}

NodeStatus well() {
    using enum ServiceState;
    return {.services = {{"flanneld", Running}, {"kubelet", Running}, {"kube-proxy", Running}, {"csi-proxy", Running}},
            .readiness = "Ready",
            .missing_network = "",
            .adapters = "Ethernet (192.0.2.13)",
            .network_trouble = "",
            .stale_files = {}};
}

// TRB-01
TEST(NodeStatus, TRB01_ListsServicesLogsAndReadiness) {
    const std::string text = to_text(well(), some_node());
    EXPECT_TRUE(well().is_well());
    EXPECT_THAT(text, HasSubstr("node      win-1 Ready\n"));
    for (const char* name : NodeServices) EXPECT_THAT(text, HasSubstr(std::string("C:\\k\\logs\\") + name + ".log"));
    NodeStatus status = well();
    status.services[1].state = ServiceState::Stopped;
    status.readiness = "NotReady (Kubelet stopped posting node status.)";
    EXPECT_FALSE(status.is_well());
    EXPECT_THAT(to_text(status, some_node()), HasSubstr("sc.exe start kubelet; it ended because: C:\\k\\logs\\kubelet.log"));
    EXPECT_THAT(to_text(status, some_node()), HasSubstr("kubectl describe node win-1"));
    const auto json = to_value(status, some_node());
    EXPECT_EQ(json.find("services")->as_array().at(1).string_at({"state"}), "stopped");
    EXPECT_FALSE(json.find("well")->as_bool());
}

// TRB-01
TEST(NodeStatus, TRB01_ANodeMayDoWithoutACsiProxyOfItsOwnAndWithoutNothingElse) {
    for (const char* name : {"flanneld", "kubelet", "kube-proxy"}) EXPECT_TRUE(is_required_service(name)) << name;
    EXPECT_FALSE(is_required_service("csi-proxy"));
}

// TRB-02
TEST(NodeStatus, TRB02_SaysHowToRunInTheBackground) {
    NodeStatus status = well();
    status.services[0].state.reset();
    EXPECT_FALSE(status.is_well());
    EXPECT_THAT(to_text(status, some_node()), HasSubstr("flanneld    not registered"));
    EXPECT_THAT(to_text(status, some_node()), HasSubstr("porthole.exe register"));
}

// TRB-20
TEST(NodeStatus, TRB20_RepeatsTheLastFailureOfTheNetworksSetUp) {
    const std::string failure =
        "I1 flanneld Waiting for the Network to be created network=cbr0 error=\"creating {...}: 0x803b0014\" adapters=Ethernet";
    EXPECT_EQ(last_network_trouble("a\nW1 node network setup failed error=x\r\n" + failure + "\r\nb\n"), failure);
    EXPECT_EQ(last_network_trouble(failure + "\nI2 pod network ready network=cbr0\nb"), "") << "it was made in the end";
    EXPECT_EQ(last_network_trouble("pod network ready\n" + failure), failure) << "and is gone again";
    EXPECT_EQ(last_network_trouble(""), "");
    NodeStatus status = well();
    status.missing_network = "the HNS network cbr0";
    status.network_trouble = failure;
    EXPECT_THAT(to_text(status, some_node()), HasSubstr("0x803b0014"));
    EXPECT_THAT(to_text(status, some_node()), HasSubstr("adapters  Ethernet (192.0.2.13)"));
    EXPECT_THAT(to_text(status, some_node()), HasSubstr("C:\\k\\logs\\flanneld.log has the reason"));
}

// TRB-08
TEST(NodeStatus, TRB08_FindsFilesOfAnEarlierSetUp) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    const WindowsNode node = some_node();
    EXPECT_TRUE(find_stale_files(files, node, "10.244.3.0/24").empty());
    ASSERT_TRUE(files.write("C:\\k\\sourceVip.json", "{}", 0644));
    ASSERT_TRUE(files.write("C:\\run\\flannel\\subnet.env", "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\n", 0644));
    EXPECT_THAT(find_stale_files(files, node, "10.244.3.0/24"), ElementsAre("C:\\k\\sourceVip.json"));
    EXPECT_THAT(find_stale_files(files, node, "10.244.7.0/24"), ElementsAre("C:\\k\\sourceVip.json", "C:\\run\\flannel\\subnet.env"));
    EXPECT_THAT(find_stale_files(files, node, ""), ElementsAre("C:\\k\\sourceVip.json")) << "of an unknown range nothing is said";
    NodeStatus status = well();
    status.stale_files = {"C:\\k\\sourceVip.json"};
    EXPECT_THAT(to_text(status, node), HasSubstr("stale     C:\\k\\sourceVip.json"));
    EXPECT_THAT(to_text(status, node), HasSubstr("porthole.exe leave"));
    HostFacts facts;
    facts.stale_files = status.stale_files;
    const auto checks = preflight(facts, node);
    const auto told = std::ranges::find(checks, "stale-files", &Check::id);
    EXPECT_EQ(told->outcome, CheckOutcome::Warn);
    EXPECT_THAT(told->text, HasSubstr("C:\\k\\sourceVip.json"));
    EXPECT_THAT(script_files(node), ElementsAre("C:\\k\\sourceVip.json", "C:\\k\\SourceVipRequest.json"));
}

}  // namespace
}  // namespace porthole::node_join
