#include "local_cluster/description/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::local_cluster {
namespace {

const std::string Head = "apiVersion: porthole.dev/v1alpha1\nkind: Cluster\n";

// PRV-01
TEST(Description, SaysWhatTheFlagsSay) {
    ClusterOptions options;
    ASSERT_TRUE(read_description(Head + R"(
metadata: {name: dev}
spec:
  apiServer: {port: 7443, extraArgs: {runtime-config: extensions/v1beta1=true}}
  hardened: true
  wineRoot: /srv/wine-10
  network: {nodes: 10.88.0.0/24, pods: 10.42.0.0/16, services: 10.43.0.0/16, dns: 10.43.0.10, domain: dev.test, backend: vxlan}
  pools:
  - {os: linux, count: 2}
  - {os: windows, release: "2019"}
  - {os: windows, count: 2, wineRoot: /srv/wine-11}
  - {os: windows, wineRoot: installed}
)",
                                 options));
    EXPECT_EQ(options,
              (ClusterOptions{.linux_nodes = 2,
                              .windows_nodes = {{"2019"}, {"2022", "/srv/wine-11"}, {"2022", "/srv/wine-11"}, {"2022", "installed"}},
                              .cluster_cidr = "10.42.0.0/16",
                              .service_cidr = "10.43.0.0/16",
                              .backend = "vxlan",
                              .cluster_dns = "10.43.0.10",
                              .cluster_domain = "dev.test",
                              .node_cidr = "10.88.0.0/24",
                              .port = 7443,
                              .hardened = true,
                              .wine_root = "/srv/wine-10",
                              .server_arguments = {{"runtime-config", "extensions/v1beta1=true"}}}));
    EXPECT_EQ(nodes_text(options), "linux=2,windows=1:2019,windows=2:2022@/srv/wine-11,windows=1:2022@installed");
}

TEST(Description, LeavesWhatItDoesNotName) {
    ClusterOptions options{.port = 7000};
    ASSERT_TRUE(read_description(Head, options));
    EXPECT_EQ(options, ClusterOptions{.port = 7000});
}

TEST(Description, NamesTheFieldThatIsWrongAndChangesNothing) {
    const struct {
        const char *spec, *error;
    } rows[] = {
        {"{nodes: 3}", "spec.nodes: unknown field"},
        {"[]", "spec: must be an object"},
        {"{apiServer: {port: 70000}}", "spec.apiServer.port: must be a number from 1 to 65535"},
        {"{apiServer: {servers: 2}}", "spec.apiServer.servers: must be 1, 3 or 5"},
        {"{apiServer: {extraArgs: {v: 1}}}", "spec.apiServer.extraArgs.v: must be a string: numbers, true and false need quotes"},
        {"{apiServer: {extraArgs: {port: '1'}}}",
         "spec.apiServer.extraArgs: `porthole up` itself sets the server's option --port; see `porthole up --help`"},
        {"{hardened: 1}", "spec.hardened: must be true or false"},
        {"{wineRoot: wine-10}", "spec.wineRoot: must be a whole path without commas, or `installed`"},
        {"{network: {pods: 10}}", "spec.network.pods: must be a string"},
        {"{network: {backend: ipip}}", "spec.network.backend: must be host-gw, vxlan or alloc"},
        {"{network: {cni: x}}", "spec.network.cni: unknown field"},
        {"{pools: {}}", "spec.pools: must be a list of 1 to 100 pools"},
        {"{pools: [1]}", "spec.pools[0]: must be an object"},
        {"{pools: [{os: linux}, {os: mac}]}", "spec.pools[1].os: must be linux or windows"},
        {"{pools: [{os: linux, count: 0}]}", "spec.pools[0].count: must be a number from 1 to 50"},
        {"{pools: [{os: linux}, {os: windows, wineRoot: '/a,windows=9'}]}",
         "spec.pools[1].wineRoot: must be a whole path without commas, or `installed`"},
        {"{pools: [{os: linux}, {os: windows, wineRoot: wine-10}]}",
         "spec.pools[1].wineRoot: must be a whole path without commas, or `installed`"},
        {"{pools: [{os: linux, wineRoot: /srv/wine-10}]}",
         "spec.pools: --nodes linux=1@/srv/wine-10: only Windows nodes have a release and a Wine root, \"linux=1@/srv/wine-10\" is Linux; "
         "write it like linux=2 or linux=1,windows=1:2019,windows=1:2025"},
        {"{pools: [{os: windows}]}",
         "spec.pools: --nodes windows=1: a cluster needs at least one Linux node; write it like linux=2 or "
         "linux=1,windows=1:2019,windows=1:2025"},
    };
    for (const auto& row : rows) {
        ClusterOptions options;
        const auto refused = read_description(Head + "spec: " + row.spec, options);
        ASSERT_FALSE(refused) << row.spec;
        EXPECT_EQ(refused.error().message, row.error);
        EXPECT_EQ(options, ClusterOptions());
    }
    ClusterOptions options;
    EXPECT_EQ(read_description("kind: Cluster", options).error().message,
              "a description starts with `apiVersion: porthole.dev/v1alpha1` and `kind: Cluster`");
    EXPECT_EQ(read_description(Head + "spec: {hardened: true, hardened: false}", options).error().message, "spec.hardened: is there twice");
    EXPECT_FALSE(read_description(Head + "spec: {", options));
}

}  // namespace
}  // namespace porthole::local_cluster
