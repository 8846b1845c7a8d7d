#include "local_cluster/start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "local_cluster/hosts/host_files.h"
#include "local_cluster/state/store_mark.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PlannedCluster : public testing::Test {
protected:
    PlannedCluster() {
        options.windows_nodes = {{"2022"}};
        fs::create_directories(data.node("windows-1"));
        EXPECT_TRUE(Cluster{.options = options}.save(data));
    }
    ~PlannedCluster() override { fs::remove_all(data.root()); }
    std::string refusal(const ClusterOptions& wanted) const {
        bool running = false;
        const auto planned = planned_cluster(data, wanted, running);
        return planned ? "" : planned.error().message;
    }

    const DataDir data{(fs::temp_directory_path() / ("porthole-start-" + std::to_string(::getpid()))).string()};
    ClusterOptions options;
};

TEST_F(PlannedCluster, IsNotEmptyInPlaceOfOneWhoseStoreIsGone) {
    EXPECT_EQ(refusal(options), "") << "a first start that was cut off";
    ASSERT_TRUE(expect_store(data));
    EXPECT_THAT(refusal(options), HasSubstr("the objects of the cluster are missing in " + data.store().string()));
    EXPECT_THAT(refusal(options), HasSubstr("delete what is left with `porthole down --purge"));
    ASSERT_TRUE(write_durably(data.store_location(), "https://127.71.5.1:2379, /registry\n"));
    EXPECT_EQ(refusal(options), "") << "they are in etcd";
    fs::remove(data.store_location());
    fs::create_directories(data.store());
    EXPECT_THAT(refusal(options), HasSubstr("are missing")) << "the directory alone";
    ASSERT_TRUE(write_durably(data.store() / "store.db", "objects"));
    EXPECT_EQ(refusal(options), "");
    fs::remove_all(data.store());
    ASSERT_TRUE(expect_no_store(data));
    EXPECT_EQ(refusal(options), "");
}

TEST_F(PlannedCluster, KeepsAHostWithDataOfClaims) {
    Cluster known{.options = options, .host_numbers = {{"windows-1", 2}}};
    ASSERT_TRUE(known.save(data));
    ClusterOptions wanted = options;
    wanted.windows_nodes.clear();
    EXPECT_EQ(refusal(wanted), "");
    const fs::path drive = data.node("windows-1") / "h/upper/wine/drive_c";
    fs::create_directories(drive / "var/lib/kubelet/local-volumes/pvc-1");
    EXPECT_THAT(refusal(wanted), HasSubstr("the data of claims are on windows-1, which would be removed"));
    EXPECT_EQ(refusal(options), "");
    fs::rename(drive / "var", drive / "elsewhere");
    fs::create_directory_symlink("elsewhere", drive / "var");
    EXPECT_THAT(refusal(wanted), HasSubstr("whether data of claims are on windows-1, which would be removed, is not known"));
}

TEST_F(PlannedCluster, KeepsThePodNetworkThatAWindowsHostHasJoinedWith) {
    ClusterOptions wanted = options;
    wanted.backend = "vxlan";
    EXPECT_EQ(refusal(wanted), "") << "it has not joined yet";
    ASSERT_TRUE(HostFiles(data.node("windows-1")).note_joined("https://10.89.0.1:6443"));
    EXPECT_THAT(refusal(wanted), HasSubstr("windows-1 has joined with another pod network (host-gw), which cannot be changed"));
    EXPECT_EQ(refusal(options), "");
    wanted.windows_nodes.clear();
    EXPECT_EQ(refusal(wanted), "") << "the host is removed, and joins once more if it is added again";
}

}  // namespace
}  // namespace porthole::local_cluster
