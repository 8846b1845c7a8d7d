#include "provision/machine_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::provision {
namespace {

const std::string Head = "apiVersion: porthole.dev/v1alpha1\nkind: Cluster\nspec: {pools: [";

Result<std::vector<MachineDescription>> read(const std::string& pools) {
    return read_machines(Head + pools + "]}", {.folder = "/home/me/cluster", .home = "/home/me"});
}

// PRV-01
TEST(MachineDescription, HostsGetWhatTheirPoolSaysUnlessTheySayItThemselves) {
    const auto machines = read(R"(
      {os: linux, count: 2},
      {os: windows, release: "2019", wineRoot: /srv/wine-10},
      {name: web, os: linux, user: admin, port: 2222, identityFile: keys/id, knownHosts: ~/.ssh/known, labels: {tier: web},
       taints: ["dedicated=web:NoSchedule"], joinFlags: ["--max-pods=50", "--shared-disk"],
       hosts: [{name: web-1, address: 192.0.2.11}, {name: web-2, address: "2001:db8::1", user: root, port: 22, identityFile: /root/key}]},
      {name: win, os: windows, hosts: [{name: win-1, address: win-1.example.test}]})");
    ASSERT_TRUE(machines) << machines.error().message;
    ASSERT_EQ(machines->size(), 3U) << "a pool without hosts is `up`'s";
    const MachineDescription first{.name = "web-1",
                                   .pool = "web",
                                   .ssh = {.address = "192.0.2.11",
                                           .port = 2222,
                                           .user = "admin",
                                           .identity_file = "/home/me/cluster/keys/id",
                                           .known_hosts = "/home/me/.ssh/known"},
                                   .labels = {{"tier", "web"}},
                                   .taints = {"dedicated=web:NoSchedule"},
                                   .join_flags = {"--max-pods=50", "--shared-disk"}};
    EXPECT_EQ((*machines)[0], first);
    EXPECT_EQ((*machines)[1].ssh.identity_file, "/root/key");
    EXPECT_EQ((*machines)[1].ssh.user, "root");
    EXPECT_TRUE((*machines)[2].is_windows);
    EXPECT_EQ((*machines)[2].ssh.user, "Administrator");
}

TEST(MachineDescription, TheInventoryKeepsAllOfIt) {
    const auto machines = read(
        "{name: a, os: linux, user: u, port: 3, identityFile: k, knownHosts: h, labels: {a: b}, taints: ['t:NoExecute'], "
        "joinFlags: [--x], hosts: [{name: node, address: b}]}");
    ASSERT_TRUE(machines) << machines.error().message;
    const auto kept = from_pool(to_pool(machines->front()));
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_EQ(*kept, machines->front());
}

// What is accepted becomes an argument of ssh, so nothing may look like an option or be expanded by it.
TEST(MachineDescription, NamesTheFieldThatIsWrong) {
    const struct {
        const char *pool, *error;
    } rows[] = {
        {"{os: mac, hosts: [{name: a, address: b}]}", "spec.pools[0].os: must be linux or windows"},
        {"{os: linux, host: [{name: a, address: b}]}", "spec.pools[0].host: unknown field"},
        {"{os: linux, hosts: []}", "spec.pools[0].hosts: must be a list of 1 to 500 hosts"},
        {"{os: linux, count: 2, hosts: [{name: a, address: b}]}", "spec.pools[0].count: unknown field"},
        {"{os: windows, wineRoot: /a, hosts: [{name: a, address: b}]}", "spec.pools[0].wineRoot: unknown field"},
        {"{os: linux, password: x, hosts: [{name: a, address: b}]}", "spec.pools[0].password: unknown field"},
        {"{os: linux, hosts: [{name: A_, address: b}]}",
         "spec.pools[0].hosts[0].name: must be a node's name: lower-case letters, digits, dashes and dots"},
        {"{os: linux, hosts: [{name: a, address: '-oProxyCommand=x'}]}",
         "spec.pools[0].hosts[0].address: must be a host's name or IP address"},
        {"{os: linux, hosts: [{name: a, address: 'b;id'}]}", "spec.pools[0].hosts[0].address: must be a host's name or IP address"},
        {"{os: linux, hosts: [{name: a}]}", "spec.pools[0].hosts[0].address: must be a host's name or IP address"},
        {"{os: linux, user: '-l', hosts: [{name: a, address: b}]}",
         "spec.pools[0].user: must be a user's name of letters, digits, dots, dashes and underscores"},
        {"{os: linux, port: 0, hosts: [{name: a, address: b}]}", "spec.pools[0].port: must be a number from 1 to 65535"},
        {"{os: linux, knownHosts: 'a%h', hosts: [{name: a, address: b}]}",
         "spec.pools[0].knownHosts: must be a path without control characters and any of \" % $ \\"},
        {"{os: linux, taints: ['a=b'], hosts: [{name: a, address: b}]}",
         "spec.pools[0].taints: must be like key=value:NoSchedule, with NoSchedule, PreferNoSchedule or NoExecute"},
        {"{os: linux, joinFlags: ['--token=x'], hosts: [{name: a, address: b}]}",
         "spec.pools[0].joinFlags: --token is given by `provision` itself"},
        {"{os: linux, joinFlags: [max-pods], hosts: [{name: a, address: b}]}",
         "spec.pools[0].joinFlags: must be like --name or --name=value"},
        {"{os: windows, joinFlags: ['--adapter=a\"b'], hosts: [{name: a, address: b}]}",
         "spec.pools[0].joinFlags: must, for Windows, consist of ASCII without \", and not end in \\ where it has a blank"},
        {"{os: windows, joinFlags: ['--adapter=\u2019'], hosts: [{name: a, address: b}]}",
         "spec.pools[0].joinFlags: must, for Windows, consist of ASCII without \", and not end in \\ where it has a blank"},
        {"{os: windows, joinFlags: ['--log-dir=C:\\my logs\\'], hosts: [{name: a, address: b}]}",
         "spec.pools[0].joinFlags: must, for Windows, consist of ASCII without \", and not end in \\ where it has a blank"},
        {"{os: linux, hosts: [{name: a, address: b}, {name: a, address: c}]}", "spec.pools: two hosts are named a"},
        {"{os: linux, hosts: [{name: a, address: b}, {name: c, address: b}]}", "spec.pools: two hosts have the address b port 22"},
    };
    for (const auto& row : rows) {
        const auto refused = read(row.pool);
        ASSERT_FALSE(refused) << row.pool;
        EXPECT_EQ(refused.error().message, row.error);
    }
}

}  // namespace
}  // namespace porthole::provision
