#include "local_cluster/admin_client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "client/kubeconfig.h"
#include "local_cluster/state/cluster.h"
#include "local_cluster/state/data_dir.h"

namespace porthole::local_cluster {
namespace {

// JOI-14
TEST(AdminClient, JOI14_TheClusterOfThisMachineIsReachedDirectlyHoweverItsKubeconfigIsNamed) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("porthole-admin-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const DataDir data(folder);
    const std::string own = data.admin_kubeconfig().string(), other = (folder / "other").string();
    const auto files = make_file_system();
    for (const std::string& path : {own, other})
        ASSERT_TRUE(client::add_to_kubeconfig(*files, path, {.name = "porthole", .server = "http://10.89.0.1:6443"}));
    AsioLoop loop;
    const auto is_direct = [&](const std::string& kubeconfig) {
        return connect_as_admin(loop, kubeconfig, folder.string()).value()->direct;
    };
    EXPECT_TRUE(is_direct(""));
    EXPECT_TRUE(is_direct(own)) << "as a change of the cluster's nodes names it";
    EXPECT_FALSE(is_direct(other));
    std::filesystem::remove_all(folder);
}

TEST(AdminClient, AStoppedClusterIsReportedWithTheCommandThatStartsIt) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("porthole-stopped-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const DataDir data(folder);
    ASSERT_TRUE(client::add_to_kubeconfig(*make_file_system(), data.admin_kubeconfig().string(),
                                          {.name = "porthole", .server = "http://10.89.0.1:6443"}));
    Cluster cluster;
    cluster.processes["server"] = {.pid = ::getpid(), .start_time = 1};  // of an earlier process with this number
    ASSERT_TRUE(cluster.save(data));
    AsioLoop loop;
    EXPECT_EQ(connect_as_admin(loop, "", folder.string()).error().message,
              "the cluster in " + folder.string() + " is not running; start it with `porthole up --data " + folder.string() + "`");
    cluster.processes["server"] = identify(::getpid());
    ASSERT_TRUE(cluster.save(data));
    EXPECT_TRUE(connect_as_admin(loop, "", folder.string())) << "a server that runs without its supervisor answers";
    std::filesystem::remove_all(folder);
}

TEST(AdminClient, WhatIsNamedAndIsNotThereIsNotReplacedByKubectlsCluster) {
    AsioLoop loop;
    EXPECT_EQ(connect_as_admin(loop, "/nowhere/kubeconfig", "/nowhere").error().message,
              "the kubeconfig /nowhere/kubeconfig does not exist");
    EXPECT_EQ(connect_as_admin(loop, "", "/nowhere").error().message,
              "/nowhere does not exist; name the cluster's data directory with --data");
    ASSERT_EQ(::setenv("KUBECONFIG", "/nowhere/config", 1), 0);
    EXPECT_EQ(
        connect_as_admin(loop, "", "/usr").error().message,
        "no cluster found in /usr, and no kubeconfig for kubectl (kubeconfig: no context is selected); start a cluster with `porthole up`, "
        "or name its data directory with --data");
    ::unsetenv("KUBECONFIG");
}

}  // namespace
}  // namespace porthole::local_cluster
