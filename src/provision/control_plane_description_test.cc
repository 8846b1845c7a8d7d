#include "provision/control_plane_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::provision {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<std::optional<ControlPlaneDescription>> read_plane(const std::string& spec, const std::string& metadata = "{name: prod}") {
    return read_control_plane("apiVersion: porthole.dev/v1alpha1\nkind: Cluster\nmetadata: " + metadata + "\nspec: " + spec,
                              {.folder = "/home/me/cluster", .home = "/home/me"});
}

// PRV-01
TEST(ControlPlaneDescription, HostsHaveTheFormOfAPoolsAndServersTheOptionsOfUp) {
    const auto plane = read_plane(R"({
      apiServer: {port: 7443, extraArgs: {audit-log-maxage: "7"}}, network: {pods: 10.42.0.0/16},
      controlPlane: {user: admin, port: 2222, identityFile: id, knownHosts: ~/known, hosts: [{name: cp-1, address: 10.0.0.5, user: root}]},
      pools: [{name: web, os: linux, hosts: [{name: web-1, address: 10.0.0.11}]}]})");
    ASSERT_TRUE(plane) << plane.error().message;
    ASSERT_TRUE(*plane);
    const ControlPlaneDescription& read = **plane;
    EXPECT_EQ(read.cluster, "prod");
    EXPECT_EQ(read.kubeconfig, "/home/me/cluster/prod.kubeconfig");
    ASSERT_EQ(read.hosts.size(), 1U);
    EXPECT_EQ(
        read.hosts[0].ssh,
        (SshTarget{
            .address = "10.0.0.5", .port = 2222, .user = "root", .identity_file = "/home/me/cluster/id", .known_hosts = "/home/me/known"}));
    EXPECT_EQ(read.url(read.hosts[0]), "https://10.0.0.5:7443");
    EXPECT_EQ(read.networks, "pods 10.42.0.0/16, services 10.96.0.0/12, dns 10.96.0.10, domain cluster.local");
    EXPECT_THAT(read.flags, testing::IsSupersetOf({"--port", "7443", "--cluster-cidr", "10.42.0.0/16", "--audit-log-maxage=7"}));
}

TEST(ControlPlaneDescription, FilesOfAnEtcdAreRelativeToIt) {
    const auto plane = read_plane(R"({controlPlane: {kubeconfig: out/admin, etcdServers: ["https://10.0.0.5:2379", "https://10.0.0.6:2379"],
      etcdCaFile: pki/ca.crt, etcdCertFile: /pki/c.crt, etcdKeyFile: ~/c.key, serverTokenFile: token,
      hosts: [{name: a, address: 10.0.0.5}, {name: b, address: 10.0.0.6}]}})");
    ASSERT_TRUE(plane) << plane.error().message;
    const EtcdOfServers& etcd = (*plane)->etcd;
    EXPECT_THAT(etcd.urls, ElementsAre("https://10.0.0.5:2379", "https://10.0.0.6:2379"));
    EXPECT_EQ(etcd.ca_file, "/home/me/cluster/pki/ca.crt");
    EXPECT_EQ(etcd.certificate_file, "/pki/c.crt");
    EXPECT_EQ(etcd.key_file, "/home/me/c.key");
    EXPECT_EQ((*plane)->kubeconfig, "/home/me/cluster/out/admin");
}

// PRV-01
TEST(ControlPlaneDescription, AnEtcdOfItsOwnHasAMemberOnEachHost) {
    const std::string three = "hosts: [{name: a, address: 10.0.0.5}, {name: b, address: 10.0.0.6}, {name: c, address: 10.0.0.7}]";
    auto plane = read_plane("{controlPlane: {etcd: {}, " + three + "}}");
    ASSERT_TRUE(plane) << plane.error().message;
    ASSERT_TRUE((*plane)->own_etcd);
    EXPECT_EQ((*plane)->own_etcd->program, "/usr/bin/etcd");
    EXPECT_THAT((*plane)->etcd.urls, ElementsAre("https://10.0.0.5:2379", "https://10.0.0.6:2379", "https://10.0.0.7:2379"));
    EXPECT_EQ((*plane)->etcd.token_file, "");
    plane = read_plane("{controlPlane: {etcd: {program: /opt/etcd/etcd}, serverTokenFile: token, hosts: [{name: a, address: 10.0.0.5}]}}");
    ASSERT_TRUE(plane) << plane.error().message;
    EXPECT_EQ((*plane)->own_etcd->program, "/opt/etcd/etcd");
    EXPECT_EQ((*plane)->etcd.token_file, "/home/me/cluster/token");
}

TEST(ControlPlaneDescription, IsNotThereWithoutItsField) {
    EXPECT_FALSE(*read_plane("{pools: []}", "{}"));
    EXPECT_FALSE(*read_plane("", "{}"));
}

TEST(ControlPlaneDescription, NamesTheFieldThatIsWrong) {
    const std::string host = "hosts: [{name: a, address: 10.0.0.5}]",
                      two = "hosts: [{name: a, address: 10.0.0.5}, {name: b, address: 10.0.0.6}]", etcd = "etcdServers: ['https://e:2379']";
    const struct {
        std::string spec, error;
    } rows[] = {
        {"{controlPlane: }", "spec.controlPlane: must be an object"},
        {"{controlPlane: {host: []}}", "spec.controlPlane.host: unknown field"},
        {"{controlPlane: {}}", "spec.controlPlane.hosts: must be a list of 1 to 9 hosts"},
        {"{controlPlane: {hosts: []}}",
         "spec.controlPlane.hosts: is empty: the last server is not removed, because the cluster's data would be lost"},
        {"{controlPlane: {os: windows, " + host + "}}", "spec.controlPlane.os: must be linux: no other system runs the control plane"},
        {"{controlPlane: {hosts: [{name: a, address: cp.example.test}]}}",
         "spec.controlPlane.hosts[0].address: must be an IPv4 address at which nodes reach the server"},
        {"{controlPlane: {hosts: [{name: a, address: 127.0.0.1}]}}",
         "spec.controlPlane.hosts[0].address: must be an IPv4 address at which nodes reach the server"},
        {"{controlPlane: {" + two + "}}",
         "spec.controlPlane.etcdServers: several servers need an etcd: `etcd: {}` for one on their hosts, or the URLs of one that runs "
         "already"},
        {"{controlPlane: {etcd: , " + host + "}}", "spec.controlPlane.etcd: must be an object"},
        {"{controlPlane: {etcd: {servers: 3}, " + host + "}}", "spec.controlPlane.etcd.servers: unknown field"},
        {"{controlPlane: {etcd: {}, " + two + "}}", "spec.controlPlane.hosts: are 2; with etcd there are 1, 3 or 5, as"},
        {"{controlPlane: {etcd: {}, " + etcd + ", " + host + "}}",
         "spec.controlPlane.etcdServers: names an etcd that runs already; with etcd, its members run on the hosts"},
        {"{controlPlane: {etcd: {}, etcdKeyFile: k, " + host + "}}", "spec.controlPlane.etcdKeyFile: names an etcd that runs already"},
        {"{controlPlane: {etcd: {program: etcd}, " + host + "}}", "spec.controlPlane.etcd.program: must be the absolute path of etcd"},
        {"{controlPlane: {etcd: {program: '/bin/etcd -x'}, " + host + "}}", "spec.controlPlane.etcd.program: must be the absolute path"},
        {"{controlPlane: {etcdCaFile: x, " + host + "}}", "spec.controlPlane.etcdCaFile: needs etcdServers"},
        {"{controlPlane: {etcdServers: ['etcd:2379'], " + host + "}}",
         "spec.controlPlane.etcdServers: must be at most 20 URLs like https://10.0.0.5:2379"},
        {"{controlPlane: {" + etcd + ", etcdCertFile: x, serverTokenFile: t, " + host + "}}",
         "spec.controlPlane.etcdKeyFile: is missing: a certificate and its key belong together"},
        {"{controlPlane: {" + etcd + ", " + host + "}}",
         "spec.controlPlane.serverTokenFile: is missing: servers of one etcd share their keys by it"},
        {"{hardened: true, controlPlane: {" + host + "}}", "spec.hardened: is for `porthole up`; with controlPlane it has no meaning"},
        {"{apiServer: {servers: 3}, controlPlane: {" + host + "}}", "spec.apiServer.servers: is for `porthole up`"},
        {"{pools: [{os: linux, count: 2}], controlPlane: {" + host + "}}",
         "spec.pools[0]: has no hosts: with controlPlane, nodes are machines reached by SSH"},
        {"{pools: [{os: linux, hosts: [{name: web, address: 10.0.0.5}]}], controlPlane: {" + host + "}}",
         "spec: two hosts have the address 10.0.0.5 port 22"},
    };
    for (const auto& row : rows) {
        const auto refused = read_plane(row.spec);
        ASSERT_FALSE(refused) << row.spec;
        EXPECT_THAT(refused.error().message, testing::StartsWith(row.error));
    }
    EXPECT_THAT(read_plane("{controlPlane: {" + host + "}}", "{}").error().message,
                HasSubstr("metadata.name: must be a name of the cluster"));
    EXPECT_THAT(read_plane("{controlPlane: {" + host + "}}", "{name: A_}").error().message, HasSubstr("metadata.name: must be"));
}

}  // namespace
}  // namespace porthole::provision
