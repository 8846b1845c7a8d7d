#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "local_cluster/control_plane/api_servers.h"
#include "local_cluster/control_plane/etcd_members.h"
#include "local_cluster/kubeconfig_entry.h"
#include "local_cluster/start.h"
#include "net/tls/x509.h"
#include "node_join/pki.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A cluster of three servers in a folder of its own.
struct SeveralServers : testing::Test {
    SeveralServers() {
        fs::create_directories(data.root());
        cluster.options.servers = 3;
        cluster.etcd = {.network = "127.71.5", .port = 2379};
    }
    ~SeveralServers() override { fs::remove_all(data.root()); }

    std::string certificate(const std::string& name) const { return read_file(data.etcd() / "pki" / (name + ".crt")).value_or(""); }

    const DataDir data{fs::temp_directory_path() / ("porthole-servers-" + std::to_string(::getpid()))};
    Cluster cluster;
    const SystemTime now = std::chrono::system_clock::now();
};

TEST(CheckServers, TakesOddNumbersOnly) {
    for (int number : {1, 3, 5}) EXPECT_TRUE(check_servers(number)) << number;
    for (int number : {-1, 0, 2, 4, 6, 7})
        EXPECT_THAT(check_servers(number).error().message, HasSubstr("a cluster has 1, 3 or 5 API servers")) << number;
}

TEST_F(SeveralServers, HaveAddressesOfTheirOwnAtTheEndOfTheNodesNetwork) {
    EXPECT_THAT(cluster.server_urls(), ElementsAre("https://10.89.0.1:6443", "https://10.89.0.254:6443", "https://10.89.0.253:6443"));
    EXPECT_EQ(cluster.server_url(), "https://127.0.0.1:6444") << "the balancer of the first node";
    ClusterOptions small{.servers = 3, .linux_nodes = 4, .node_cidr = "10.89.0.0/29"};
    EXPECT_TRUE(check_networks(small));
    small.linux_nodes = 5;
    EXPECT_FALSE(check_networks(small)) << "the fifth node would have a server's address";
}

TEST_F(SeveralServers, AreWhatIsWrittenDown) {
    ASSERT_TRUE(cluster.save(data));
    const auto loaded = Cluster::load(data);
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->options, cluster.options);
    EXPECT_EQ(loaded->etcd, cluster.etcd);
}

TEST_F(SeveralServers, CanBecomeOfOneServerOnlyAndWhileItIsStopped) {
    ClusterOptions one;
    EXPECT_THAT(check_resize(one, cluster.options, "end it").error().message, HasSubstr("this cluster has one API server"));
    bool running = false;
    ASSERT_TRUE(Cluster{.options = one}.save(data));
    EXPECT_TRUE(planned_cluster(data, cluster.options, running));
    ASSERT_TRUE(cluster.save(data));
    ASSERT_TRUE(write_durably(data.store_location(), "https://127.71.5.1:2379, /registry\n"));
    for (int other : {1, 5}) {
        ClusterOptions wanted = cluster.options;
        wanted.servers = other;
        const auto refused = planned_cluster(data, wanted, running);
        ASSERT_FALSE(refused) << other;
        EXPECT_THAT(refused.error().message, HasSubstr("has 3 servers, and only one server can become several"));
    }
    cluster.processes["server-2"] = identify(::getpid());
    ASSERT_TRUE(cluster.save(data));
    EXPECT_THAT(planned_cluster(data, one, running).error().message, HasSubstr("only one server can become several"))
        << "ending it would not help";
}

TEST_F(SeveralServers, AreAsManyAsAskedForUntilTheObjectsAreInEtcd) {
    ASSERT_TRUE(cluster.save(data));
    for (int other : {1, 5}) {
        ClusterOptions wanted = cluster.options;
        wanted.servers = other;
        bool running = false;
        const auto planned = planned_cluster(data, wanted, running);
        ASSERT_TRUE(planned) << planned.error().message;
        EXPECT_EQ(planned->options.servers, other);
        EXPECT_EQ(planned->etcd, EtcdPlace()) << "another etcd";
    }
    bool running = false;
    EXPECT_EQ(planned_cluster(data, cluster.options, running)->etcd, cluster.etcd) << "the same goes on";
}

TEST_F(SeveralServers, WhatRunsWithoutASupervisorIsGoneOnWith) {
    cluster.processes["server-2"] = identify(::getpid());
    ASSERT_TRUE(cluster.save(data));
    bool running = false;
    EXPECT_TRUE(planned_cluster(data, cluster.options, running));
    ClusterOptions wanted = cluster.options;
    wanted.servers = 1;
    EXPECT_THAT(planned_cluster(data, wanted, running).error().message, HasSubstr("cannot change that while it runs"));
}

TEST_F(SeveralServers, RefuseOtherNetworksAtOnceAndNotAfterADownThatWouldNotHelp) {
    cluster.processes["server-2"] = identify(::getpid());
    ASSERT_TRUE(cluster.save(data));
    ASSERT_TRUE(write_durably(data.store_location(), "https://127.71.5.1:2379, /registry\n"));
    ClusterOptions wanted = cluster.options;
    wanted.service_cidr = "10.43.0.0/16";
    bool running = false;
    EXPECT_THAT(
        planned_cluster(data, wanted, running).error().message,
        AllOf(HasSubstr("--service-cidr 10.43.0.0/16: the cluster's objects contain 10.96.0.0/12"), HasSubstr("porthole down --purge")));
}

TEST_F(SeveralServers, KnowAMemberOfEtcdThatHasLostItsData) {
    const EtcdMember member = etcd_members(data, cluster).at(1);
    EXPECT_FALSE(has_lost_data(data, member)) << "the first start";
    ASSERT_TRUE(write_durably(data.store_location(), "https://127.71.5.1:2379, /registry\n"));
    EXPECT_TRUE(has_lost_data(data, member));
    fs::create_directories(member.data / "member/wal");
    EXPECT_TRUE(has_lost_data(data, member)) << "a start as a new member has failed";
    ASSERT_TRUE(write_durably(member.data / "member/wal/0000000000000000-0000000000000000.wal", "a log"));
    EXPECT_FALSE(has_lost_data(data, member));
    EXPECT_THAT(etcd_command(data, member, {{member}}).arguments, Contains("--initial-cluster-state=new"));
    const auto words = etcd_command(data, member, {.members = {member}, .exist = true}).arguments;
    EXPECT_THAT(words, Contains("--initial-cluster-state=existing")) << "it does not begin a cluster of its own";
    EXPECT_THAT(words, Contains("--initial-cluster=etcd-2=https://127.71.5.2:2380"));
}

TEST_F(SeveralServers, NeedAPortThatOthersCanName) {
    cluster.options.port = 0;
    bool running = false;
    EXPECT_EQ(planned_cluster(data, cluster.options, running).error().message, "--port 0: the API server needs a port from 1 to 65535");
}

TEST_F(SeveralServers, AreBehindTheAddressInTheKubeconfigWhicheverOfThemWritesIt) {
    ASSERT_TRUE(node_join::Pki::ensure(data.pki(), {}, now));
    ASSERT_TRUE(cluster.save(data));
    ASSERT_TRUE(write_admin_kubeconfig(data, "https://10.89.0.1:6443"));
    const fs::path merged = data.root() / "config";
    ASSERT_TRUE(enter_kubeconfig(data, merged));
    for (const fs::path& file : {data.admin_kubeconfig(), merged}) {
        const auto text = read_file(file);
        ASSERT_TRUE(text);
        EXPECT_THAT(*text, HasSubstr("https://127.0.0.1:6444"));
        EXPECT_THAT(*text, HasSubstr("tls-server-name: kubernetes"));
    }
}

TEST_F(SeveralServers, ShareAnEtcdAndATokenAndTheFirstHasTheClustersDirectory) {
    ASSERT_TRUE(ensure_server_token(data));
    const auto token = read_file(data.server_token());
    ASSERT_TRUE(ensure_server_token(data));
    EXPECT_EQ(*read_file(data.server_token()), *token) << "it stays";
    EXPECT_EQ(token->size(), 65u);
    const auto servers = api_servers(data, cluster);
    ASSERT_EQ(servers.size(), 3u);
    EXPECT_EQ(servers[0].data.root(), data.root());
    EXPECT_EQ(servers[2].data.root(), data.root() / "api-servers/server-3");
    for (const ApiServerProcess& server : servers) {
        const auto words = api_server_command(data, cluster, server).arguments;
        EXPECT_THAT(words, Contains("https://127.71.5.1:2379,https://127.71.5.2:2379,https://127.71.5.3:2379"));
        EXPECT_THAT(words, Contains(data.server_token().string()));
        EXPECT_EQ(*std::next(std::ranges::find(words, "--bind-address")), server.address) << "they have one port";
        EXPECT_EQ(std::ranges::count(words, "--revive-supervisor"), server.name == "server-1");
    }
}

TEST_F(SeveralServers, OneServerIsAsItWas) {
    cluster.options.servers = 1;
    EXPECT_EQ(cluster.server_url(), "https://10.89.0.1:6443");
    EXPECT_TRUE(etcd_members(data, cluster).empty());
    const auto servers = api_servers(data, cluster);
    ASSERT_EQ(servers.size(), 1u);
    EXPECT_EQ(servers[0].name, "server");
    EXPECT_THAT(api_server_command(data, cluster, servers[0]).arguments, Not(Contains("--etcd-servers")));
}

TEST_F(SeveralServers, EtcdsCertificatesAreOfAnAuthorityWhoseKeyIsNotKept) {
    ASSERT_TRUE(ensure_etcd_certificates(data, cluster, now));
    EXPECT_FALSE(fs::exists(data.etcd() / "pki/ca.key"));
    const auto authority = net::parse_certificate(certificate("ca")), member = net::parse_certificate(certificate("etcd-2")),
               client = net::parse_certificate(certificate("client"));
    ASSERT_TRUE(authority && member && client);
    EXPECT_TRUE(authority->is_ca);
    EXPECT_EQ(member->issuer_common_name, authority->subject.common_name);
    EXPECT_THAT(member->subject.ip_addresses, ElementsAre("127.71.5.2", "127.0.0.1"));
    EXPECT_TRUE(client->subject.ip_addresses.empty());
    const std::string before = certificate("client");
    ASSERT_TRUE(ensure_etcd_certificates(data, cluster, now + std::chrono::hours(24 * 365)));
    EXPECT_EQ(certificate("client"), before);
    ASSERT_TRUE(ensure_etcd_certificates(data, cluster, now + std::chrono::hours(24 * 365 * 7)));
    EXPECT_NE(certificate("client"), before) << "made again in the last third of their life";
}

TEST_F(SeveralServers, MembersOfEtcdAskEveryoneForACertificate) {
    const auto members = etcd_members(data, cluster);
    ASSERT_EQ(members.size(), 3u);
    const auto words = etcd_command(data, members[1], {members}).arguments;
    for (const char* word : {"--client-cert-auth=true", "--peer-client-cert-auth=true", "--listen-client-urls=https://127.71.5.2:2379",
                             "--listen-peer-urls=https://127.71.5.2:2380", "--quota-backend-bytes=2147483648"})
        EXPECT_THAT(words, Contains(word));
}

TEST_F(SeveralServers, FiveHaveAsManyMembersAndCertificates) {
    cluster.options.servers = 5;
    EXPECT_EQ(cluster.server_urls().back(), "https://10.89.0.251:6443");
    EXPECT_EQ(api_servers(data, cluster).back().data.root(), data.root() / "api-servers/server-5");
    const auto members = etcd_members(data, cluster);
    ASSERT_EQ(members.size(), 5u);
    EXPECT_EQ(members[4].url, "https://127.71.5.5:2379");
    ASSERT_TRUE(ensure_etcd_certificates(data, cluster, now));
    EXPECT_THAT(net::parse_certificate(certificate("etcd-5"))->subject.ip_addresses, ElementsAre("127.71.5.5", "127.0.0.1"));
    EXPECT_THAT(etcd_command(data, members[4], {members}).arguments, Contains(HasSubstr("etcd-1=https://127.71.5.1:2380")));
}

TEST_F(SeveralServers, EtcdHasAPlaceOnLoopbackThatIsTheClustersOwn) {
    const auto place = choose_etcd_place(data, 3);
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_THAT(place->network, testing::StartsWith("127."));
    EXPECT_NE(place->network, "127.0.0");
    EXPECT_EQ(choose_etcd_place(data, 3)->network, place->network);
}

}  // namespace
}  // namespace porthole::local_cluster
