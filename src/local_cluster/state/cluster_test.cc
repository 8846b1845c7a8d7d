#include "local_cluster/state/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "local_cluster/kubeconfig_entry.h"
#include "net/http/proxy.h"
#include "node_join/pki.h"

namespace porthole::local_cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseNodes, CountsSystemsAndHostProfiles) {
    ClusterOptions options;
    ASSERT_TRUE(parse_nodes("linux=2,windows=2:2019,windows=1", options));
    EXPECT_EQ(options.linux_nodes, 2);
    EXPECT_THAT(options.windows_nodes, ElementsAre(WindowsNode{"2019"}, WindowsNode{"2019"}, WindowsNode{"2022"}));
}

// EMU-12
TEST(ParseNodes, ReadsTheWineRootOfNodesAndWritesItAgain) {
    ClusterOptions options;
    ASSERT_TRUE(parse_nodes("linux=1,windows=1:2019@/srv/wine:10@a=b,windows=2@installed,windows=1@/srv/x", options));
    EXPECT_THAT(options.windows_nodes, ElementsAre(WindowsNode{"2019", "/srv/wine:10@a=b"}, WindowsNode{"2022", "installed"},
                                                   WindowsNode{"2022", "installed"}, WindowsNode{"2022", "/srv/x"}));
    EXPECT_EQ(nodes_text(options), "linux=1,windows=1:2019@/srv/wine:10@a=b,windows=2:2022@installed,windows=1:2022@/srv/x");
}

TEST(ParseNodes, TakesTheTextOfNodesAsAPersonWouldTypeIt) {
    for (const char* text :
         {"linux=1", "linux=2,windows=3:2022", "linux=1,windows=2:2019,windows=1:2022,windows=2:2019,windows=1:2019@/srv/x"}) {
        ClusterOptions options, again;
        ASSERT_TRUE(parse_nodes(text, options));
        EXPECT_EQ(nodes_text(options), text);
        ASSERT_TRUE(parse_typed_nodes(nodes_text(options), again)) << text;
        EXPECT_EQ(again, options);
    }
}

TEST(ParseNodes, RefusesWhatItDoesNotUnderstandAndChangesNothing) {
    for (const char* text : {"", "2", "linux", "linux=", "linux=0", "linux=x", "linux=1x", "linux=51", "windows=1",
                             "linux=1,windows=1:2016", "linux=1:2022", "linux=1,mac=1", "linux=1,windows=21", "linux=50,linux=1"}) {
        ClusterOptions options{.linux_nodes = 7};
        const auto parsed = parse_nodes(text, options);
        ASSERT_FALSE(parsed) << text;
        EXPECT_THAT(parsed.error().message, HasSubstr("write it like")) << text;
        EXPECT_EQ(options.linux_nodes, 7);
    }
}

TEST(ParseNodes, SaysWhichPartIsWrongAndShowsAnExample) {
    const struct {
        const char *text, *why;
    } rows[] = {
        {"2", "\"2\" is not SYSTEM=COUNT"},
        {"linux=0", "the count of \"linux=0\" is not a number from 1 to 50"},
        {"linux=1,mac=1", "\"mac\" is neither linux nor windows"},
        {"linux=1,windows=1:2016", "\"2016\" is not a release that can be emulated (2019, 1809, 1903, 2004, 20H2, 19551, 2022, 2025)"},
        {"windows=1", "a cluster needs at least one Linux node"},
        {"linux=1@/srv/x", "only Windows nodes have a release and a Wine root, \"linux=1@/srv/x\" is Linux"},
        {"linux=1,windows=1:2019@", "\"windows=1:2019@\" names no Wine root"},
        {"linux=1,windows@/srv/x=1", "\"windows@/srv/x\" is neither linux nor windows"},
        {"linux=1,windows=21", "one machine has up to 50 Linux and 20 Windows nodes"},
    };
    for (const auto& row : rows) {
        ClusterOptions options;
        const auto parsed = parse_nodes(row.text, options);
        ASSERT_FALSE(parsed) << row.text;
        EXPECT_EQ(parsed.error().message,
                  std::string("--nodes ") + row.text + ": " + row.why + "; write it like linux=2 or linux=1,windows=1:2019,windows=1:2025");
    }
}

TEST(ParseNodes, RefusesTheSameKindTwiceWhereAPersonHasWrittenIt) {
    const struct {
        const char *text, *why;
    } rows[] = {
        {"linux=1,linux=2", "\"linux=1\" and \"linux=2\" are nodes of the same kind; write their number once, such as linux=3"},
        {"linux=1,windows=1,linux=1", "\"linux=1\" and \"linux=1\" are nodes of the same kind; write their number once, such as linux=2"},
        {"linux=1,windows=1:2025,windows=2:2025",
         "\"windows=1:2025\" and \"windows=2:2025\" are nodes of the same kind; write their number once, such as windows=3:2025"},
        {"linux=1,windows=1,windows=1:2022",
         "\"windows=1\" and \"windows=1:2022\" are nodes of the same kind; write their number once, such as windows=2:2022"},
        {"linux=1,windows=1@/srv/x,windows=1:2022@/srv/x",
         "\"windows=1@/srv/x\" and \"windows=1:2022@/srv/x\" are nodes of the same kind; write their number once, such as "
         "windows=2:2022@/srv/x"},
    };
    for (const auto& row : rows) {
        ClusterOptions options{.linux_nodes = 7};
        const auto parsed = parse_typed_nodes(row.text, options);
        ASSERT_FALSE(parsed) << row.text;
        EXPECT_EQ(parsed.error().message, std::string("--nodes ") + row.text + ": " + row.why);
        EXPECT_EQ(options.linux_nodes, 7);
        EXPECT_TRUE(parse_nodes(row.text, options)) << "pools of a description may be of the same kind";
    }
    ClusterOptions options;
    EXPECT_FALSE(parse_typed_nodes("linux=0", options));
    ASSERT_TRUE(parse_typed_nodes("linux=1,windows=1:2019,windows=1,windows=1@/srv/x,windows=1:2019", options));
    EXPECT_THAT(options.windows_nodes,
                ElementsAre(WindowsNode{"2019"}, WindowsNode{"2022"}, WindowsNode{"2022", "/srv/x"}, WindowsNode{"2019"}));
}

// JOI-14
TEST(ClusterState, JOI14_ItsProcessesReachEachOtherWithoutAProxy) {
    const Cluster cluster;
    const net::ProxySettings settings("http://proxy", "http://proxy", net::add_exceptions("example.com", cluster.proxy_exceptions()));
    for (const std::string& own : {cluster.server_address(), std::string("10.89.0.7"), std::string("10.96.0.1"), std::string("10.244.3.4"),
                                   std::string("web.default.svc")})
        EXPECT_TRUE(settings.is_exempt(own, 443)) << own;
    EXPECT_FALSE(settings.is_exempt("registry-1.docker.io", 443));
}

TEST(ClusterState, ThatCannotBeLookedAtIsAnErrorOfOneLine) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("porthole-cluster-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    std::filesystem::create_symlink("loop", folder / "loop");
    const auto loaded = Cluster::load(DataDir(folder / "loop"));
    std::filesystem::remove_all(folder);
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("cannot read " + (folder / "loop").string()));
}

TEST(ClusterState, ThatIsMissingIsToldWithTheCommandThatMakesIt) {
    EXPECT_EQ(Cluster::load(DataDir("/nowhere")).error().message,
              "no cluster found in /nowhere; start one with `porthole up --data /nowhere`");
    EXPECT_EQ(DataDir(default_data_dir()).flag(), "");
}

TEST(ClusterState, OfAServerAloneIsNotTakenForNothing) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("porthole-server-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder / "pki");
    const auto loaded = Cluster::load(DataDir(folder));
    std::filesystem::remove_all(folder);
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("is one of `porthole server`, not of `porthole up`"));
}

// API-19, NET-36
TEST(CheckNetworks, RefusesWhatCannotWorkBeforeAnythingStarts) {
    EXPECT_TRUE(check_networks({}));
    const struct {
        const char* name;
        ClusterOptions options;
        const char* message;
    } rows[] = {
        {"pods among services",
         {.cluster_cidr = "10.96.0.0/16"},
         "--service-cidr 10.96.0.0/12 and --cluster-cidr 10.96.0.0/16 overlap; choose separate ranges"},
        {"nodes among pods",
         {.node_cidr = "10.244.9.0/24"},
         "--node-cidr 10.244.9.0/24 and --cluster-cidr 10.244.0.0/16 overlap; choose separate ranges"},
        {"no network",
         {.cluster_cidr = "10.0.0.0/33"},
         "--cluster-cidr: \"10.0.0.0/33\" is not an IPv4 network; write it like 10.89.0.0/24"},
        {"no length",
         {.cluster_cidr = "10.244.0.0"},
         "--cluster-cidr 10.244.0.0 is an address and not a network: add the length of its prefix, such as 10.244.0.0/16"},
        {"dual stack",
         {.cluster_cidr = "10.244.0.0/16,fd00:10:244::/56"},
         "--cluster-cidr 10.244.0.0/16,fd00:10:244::/56 has several ranges: dual-stack clusters are not supported; give one range of IPv4"},
        {"part of a node's range",
         {.cluster_cidr = "10.244.0.0/25"},
         "--cluster-cidr 10.244.0.0/25 is too small: each of 1 nodes needs a /24 of it"},
        {"too many nodes",
         {.linux_nodes = 3, .cluster_cidr = "10.244.0.0/23"},
         "--cluster-cidr 10.244.0.0/23 is too small: each of 3 nodes needs a /24 of it"},
        {"too many hosts",
         {.linux_nodes = 3, .node_cidr = "10.89.0.0/30"},
         "10.89.0.0/30 is too small for 3 hosts; choose a larger network"},
        {"name service elsewhere", {.cluster_dns = "10.1.1.1"}, "--cluster-dns 10.1.1.1 is not in --service-cidr 10.96.0.0/12"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto checked = check_networks(row.options);
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().message, row.message);
    }
}

TEST(CheckPodRange, AllowsPartsOfTheClustersRangeOnly) {
    const ClusterOptions options{.cluster_cidr = "10.244.0.0/16"};
    for (const char* part : {"10.244.3.0/24", "10.244.0.0/16", "10.244.255.255/32"})
        EXPECT_EQ(check_pod_range(options, part)->to_string(), part);
    for (const char* other : {"0.0.0.0/0", "10.0.0.0/8", "10.245.0.0/24", "fd00::/64"})
        EXPECT_EQ(check_pod_range(options, other).error().reason, Reason::Forbidden) << other;
    for (const char* none : {"", "default", "10.244.3.0", "10.244.3.0/24 via 10.89.0.9", "10.244.3.0/24\nroute del default"})
        EXPECT_EQ(check_pod_range(options, none).error().reason, Reason::BadRequest) << none;
}

TEST(CheckKubeconfig, RefusesAFileThatCannotBeRead) {
    const std::string path = (std::filesystem::temp_directory_path() / ("porthole-kubeconfig-" + std::to_string(::getpid()))).string();
    EXPECT_TRUE(check_kubeconfig(path)) << "it will be made";
    std::ofstream(path) << "{bad";
    const auto refused = check_kubeconfig(path);
    std::filesystem::remove(path);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(path));
    EXPECT_FALSE(check_kubeconfig("/proc/none/kubeconfig"));
}

TEST(AdminKubeconfig, IsWrittenBesideTheDataAndMergedWhereKubectlLooks) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("porthole-admin-" + std::to_string(::getpid()));
    const DataDir data(folder);
    EXPECT_EQ(admin_kubeconfig(data).error().reason, Reason::NotFound);
    ASSERT_TRUE(node_join::Pki::ensure(data.pki(), {}, std::chrono::system_clock::now()));
    ASSERT_TRUE(write_admin_kubeconfig(data, "https://10.0.0.5:6443"));
    const auto text = admin_kubeconfig(data);
    ASSERT_TRUE(text);
    EXPECT_THAT(*text, HasSubstr("https://10.0.0.5:6443"));
    const std::string elsewhere = folder / "config";
    ASSERT_TRUE(enter_kubeconfig(data, elsewhere));
    std::ostringstream merged;
    merged << std::ifstream(elsewhere).rdbuf();
    EXPECT_THAT(merged.str(), HasSubstr("https://10.0.0.5:6443"));
    EXPECT_THAT(merged.str(), HasSubstr("current-context: porthole"));
    std::filesystem::remove_all(folder);
}

TEST(ClusterNodes, GiveTheMachineTheFirstAddressAndEveryOtherHostANamespace) {
    Cluster cluster;
    ASSERT_TRUE(parse_nodes("linux=1,windows=1:2025", cluster.options));
    cluster.options.wine_root = "/srv/wine-10";
    const auto nodes = cluster.nodes(DataDir("/somewhere"));
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].wine_root, "");
    EXPECT_EQ(nodes[1].wine_root, "/srv/wine-10");
    EXPECT_EQ(nodes[0].network_namespace, "");
    EXPECT_EQ(nodes[1].name, "windows-1");
    EXPECT_EQ(nodes[1].address, "10.89.0.2");
    EXPECT_EQ(nodes[1].windows_profile, "2025");
    EXPECT_THAT(nodes[1].network_namespace, HasSubstr("windows-1"));
}

// EMU-12
TEST(ClusterNodes, HaveTheWineRootOfTheirOwnOrThatOfTheCluster) {
    const DataDir data("/somewhere");
    Cluster cluster;
    ASSERT_TRUE(parse_nodes("linux=1,windows=1,windows=1@/srv/wine-11,windows=1@installed", cluster.options));
    const auto roots = [&] {
        std::vector<std::string> all;
        for (const NodeHost& node : cluster.nodes(data)) all.push_back(node.wine_root);
        return all;
    };
    EXPECT_THAT(roots(), ElementsAre("", "", "/srv/wine-11", ""));
    cluster.options.wine_root = "/srv/wine-10";
    EXPECT_THAT(roots(), ElementsAre("", "/srv/wine-10", "/srv/wine-11", ""));
}

// EMU-12
TEST(ClusterNodes, OfAnEarlierVersionAreReadFromItsFile) {
    const DataDir data(testing::TempDir() + "porthole-earlier-nodes");
    std::filesystem::create_directories(data.root());
    std::ofstream(data.state_file()) << R"({"linuxNodes": 1, "windowsNodes": ["2019", "2022"], "wineRoot": "/srv/wine-10"})";
    const auto loaded = Cluster::load(data);
    std::filesystem::remove_all(data.root());
    ASSERT_TRUE(loaded);
    EXPECT_THAT(loaded->options.windows_nodes, ElementsAre(WindowsNode{"2019"}, WindowsNode{"2022"}));
    EXPECT_EQ(loaded->nodes(data).at(2).wine_root, "/srv/wine-10");
}

TEST(ClusterNodes, OfAForeignClusterAreWindowsHostsWithNamesOfTheirOwn) {
    const DataDir data(testing::TempDir() + "porthole-foreign");
    std::filesystem::create_directories(data.root());
    Cluster cluster;
    cluster.options.linux_nodes = 0;
    cluster.options.windows_nodes = {{"2019"}, {"2019", "/srv/wine-11"}};
    cluster.options.host_prefix = "desk-";
    cluster.options.wine_root = "/srv/wine-10";
    cluster.options.first_host = 200;
    cluster.options.foreign = ForeignCluster{.server = "https://10.0.0.5:6443",
                                             .token = "abcdef.0123456789abcdef",
                                             .ca_hash = "sha256:00",
                                             .wishes = {.cluster_cidr = "10.42.0.0/16", .cluster_domain = "k3s.test"}};
    ASSERT_TRUE(cluster.save(data));
    const auto loaded = Cluster::load(data);
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->options, cluster.options);
    EXPECT_EQ(loaded->server_url(), "https://10.0.0.5:6443");
    const auto nodes = loaded->nodes(data);
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[1].name, "desk-windows-2");
    EXPECT_EQ(nodes[0].wine_root, "/srv/wine-10");
    EXPECT_EQ(nodes[1].wine_root, "/srv/wine-11");
    EXPECT_EQ(nodes[0].address, "10.89.0.200");
    EXPECT_NE(nodes[0].network_namespace, "");
    std::filesystem::remove_all(data.root());
}

TEST(ClusterNodes, KeepTheirAddressesWhenOthersComeAndGo) {
    const DataDir data(testing::TempDir() + "porthole-numbers");
    std::filesystem::create_directories(data.root());
    Cluster cluster;
    const auto resize = [&](const char* nodes) {
        ASSERT_TRUE(parse_nodes(nodes, cluster.options));
        // What the supervisor does: it removes hosts, then gives numbers to new ones, and writes that down.
        for (const NodeHost& host : cluster.surplus_hosts(data)) cluster.host_numbers.erase(host.name);
        cluster.number_hosts(data);
        ASSERT_TRUE(cluster.save(data));
        cluster = Cluster::load(data).value();
    };
    const auto addresses = [&] {
        std::string text;
        for (const NodeHost& node : cluster.nodes(data)) text += node.name + " " + node.address.substr(node.address.rfind('.')) + " ";
        return text;
    };
    resize("linux=2,windows=1");
    EXPECT_EQ(addresses(), "linux-1 .1 linux-2 .2 windows-1 .3 ");
    resize("linux=3,windows=2");
    EXPECT_EQ(addresses(), "linux-1 .1 linux-2 .2 linux-3 .4 windows-1 .3 windows-2 .5 ");
    resize("linux=1,windows=2");
    EXPECT_EQ(addresses(), "linux-1 .1 windows-1 .3 windows-2 .5 ");
    resize("linux=2,windows=2");
    EXPECT_EQ(addresses(), "linux-1 .1 linux-2 .2 windows-1 .3 windows-2 .5 ");
    ASSERT_TRUE(parse_nodes("linux=1", cluster.options));
    const auto surplus = cluster.surplus_hosts(data);
    ASSERT_EQ(surplus.size(), 3u);
    EXPECT_EQ(surplus.front().name, "linux-2");
    EXPECT_FALSE(surplus.front().is_windows());
    EXPECT_TRUE(surplus.back().is_windows());
    EXPECT_EQ(cluster.all_hosts(data).size(), 4u);
    std::filesystem::remove_all(data.root());
}

/// "" where the nodes can become these while the cluster runs.
std::string resize_error(const ClusterOptions& now, const char* nodes) {
    ClusterOptions wanted = now;
    EXPECT_TRUE(parse_nodes(nodes, wanted));
    const auto checked = check_resize(now, wanted, "end it");
    return checked ? "" : checked.error().message;
}

TEST(CheckResize, LetsOnlyTheEndsOfTheListsChange) {
    ClusterOptions now;
    ASSERT_TRUE(parse_nodes("linux=2,windows=1:2019,windows=1:2025", now));
    const struct {
        const char *nodes, *error;
    } rows[] = {
        {"linux=1,windows=1:2019", ""},
        {"linux=5,windows=1:2019,windows=1:2025,windows=1", ""},
        {"linux=2", ""},
        {"linux=2,windows=1:2022", "windows-1 emulates Server 2019, and no other release while the cluster runs; end it"},
        {"linux=2,windows=1:2019,windows=1", "windows-2 emulates Server 2025, and no other release while the cluster runs; end it"},
    };
    for (const auto& row : rows) EXPECT_EQ(resize_error(now, row.nodes), row.error) << row.nodes;
}

// EMU-12
TEST(CheckResize, KeepsTheWineOfNodesThatRun) {
    ClusterOptions now;
    ASSERT_TRUE(parse_nodes("linux=1,windows=1,windows=1@/srv/wine-10", now));
    const struct {
        const char *nodes, *error;
    } rows[] = {
        {"linux=1,windows=1,windows=1@/srv/wine-10,windows=1@/srv/wine-11", ""},
        {"linux=1,windows=1@installed,windows=1@/srv/wine-10", ""},
        {"linux=1,windows=1@/srv/wine-10", "windows-1 has the installed Wine, and no other Wine while the cluster runs; end it"},
        {"linux=1,windows=2", "windows-2 has the Wine root /srv/wine-10, and no other Wine while the cluster runs; end it"},
    };
    for (const auto& row : rows) EXPECT_EQ(resize_error(now, row.nodes), row.error) << row.nodes;
}

TEST(CheckResize, NamesTheOptionsThatARunningClusterCannotChange) {
    ClusterOptions now;
    now.server_arguments = {{"audit-log-maxsize", "7"}, {"v", "2"}};
    ClusterOptions wanted = now;
    wanted.port = 7443;
    EXPECT_EQ(check_resize(now, wanted, "end it").error().message,
              "a cluster with other options is running (--port is 6443, not 7443); end it");
    wanted = now;
    wanted.backend = "vxlan";
    wanted.hardened = true;
    wanted.wine_root = "/srv/wine-10";
    wanted.server_arguments = {{"audit-log-maxsize", "8"}};
    EXPECT_EQ(
        check_resize(now, wanted, "end it").error().message,
        "a cluster with other options is running (--backend is host-gw, not vxlan; --hardened is off, not on; --wine-root is installed, "
        "not /srv/wine-10; --server-arg audit-log-maxsize is 7, not 8; --server-arg v is 2, not unset); end it");
}

TEST(CheckResize, SpeaksOfTheHostsOfAnotherClusterAsSuch) {
    ClusterOptions now;
    now.foreign = ForeignCluster{.server = "https://10.0.0.5:6443"};
    EXPECT_EQ(check_resize(now, now, "end them").error().message, "hosts with other options are running; end them");
}

TEST(CheckRestart, KeepsTheNetworksAndTheDomainThatObjectsContain) {
    const ClusterOptions now;
    EXPECT_TRUE(check_restart(now, {.linux_nodes = 3, .backend = "vxlan", .port = 7443, .hardened = true}, "delete it"));
    EXPECT_EQ(check_restart(now, {.service_cidr = "10.43.0.0/16"}, "delete it").error().message,
              "--service-cidr 10.43.0.0/16: the cluster's objects contain 10.96.0.0/12, so it cannot be changed; delete it");
    for (const ClusterOptions& other : {ClusterOptions{.cluster_cidr = "10.42.0.0/16"}, ClusterOptions{.cluster_dns = "10.96.0.11"},
                                        ClusterOptions{.cluster_domain = "other.test"}, ClusterOptions{.node_cidr = "10.88.0.0/24"}})
        EXPECT_FALSE(check_restart(now, other, ""));
}

}  // namespace
}  // namespace porthole::local_cluster
