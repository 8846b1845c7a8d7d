#include "cmd/server/store_location.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/files/durable_file.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;
using local_cluster::DataDir;

class StoreLocation : public testing::Test {
protected:
    StoreLocation() { fs::create_directories(data_.store()); }
    ~StoreLocation() override { fs::remove_all(data_.root()); }
    /// The objects are in the data directory.
    void keep_objects_here() { ASSERT_TRUE(write_durably(data_.store() / "store.db", "objects")); }
    static EtcdFlags etcd(std::string prefix) { return {.servers = {"https://10.0.0.1:2379"}, .prefix = std::move(prefix)}; }
    std::string check(const EtcdFlags& flags) const {
        const auto checked = check_known_location(data_, flags);
        return checked ? "" : checked.error().message;
    }

    const DataDir data_{(fs::temp_directory_path() / ("porthole-location-" + std::to_string(::getpid()))).string()};
};

TEST_F(StoreLocation, IsFreeForANewCluster) {
    EXPECT_EQ(check({}), "");
    EXPECT_EQ(check(etcd("/registry")), "");
}

TEST_F(StoreLocation, IsTheDataDirectoryWhileThatHasAStore) {
    keep_objects_here();
    EXPECT_EQ(check({}), "");
    EXPECT_NE(check(etcd("/registry")).find("not in an etcd: leave the --etcd flags out"), std::string::npos)
        << "what is in etcd is a copy that was left behind, or another cluster";
}

TEST_F(StoreLocation, IsTheEtcdWhereTheServerRanLast) {
    keep_objects_here();  // from before they were moved
    ASSERT_TRUE(note_store_location(data_, etcd("/two")));
    EXPECT_EQ(check(etcd("/two")), "");
    EXPECT_EQ(check(etcd("/two/")), "");
    EtcdFlags moved = etcd("/two");
    moved.servers = {"https://10.0.0.8:2379", "https://10.0.0.9:2379"};
    EXPECT_EQ(check(moved), "") << "members are replaced";
    EXPECT_NE(check({}).find("are in etcd (https://10.0.0.1:2379, /two): give the --etcd flags"), std::string::npos);
    EXPECT_NE(check(etcd("/registry")).find("not below /registry: give --etcd-prefix /two"), std::string::npos);
    ASSERT_TRUE(note_store_location(data_, {}));
    EXPECT_EQ(check({}), "");
}

TEST_F(StoreLocation, IsTheDataDirectoryAlsoWhenTheStoreIsGone) {
    keep_objects_here();
    ASSERT_TRUE(note_store_location(data_, {}));
    EXPECT_EQ(check({}), "");
    fs::remove_all(data_.store());
    const std::string refused = check({});
    EXPECT_NE(refused.find("the objects of the cluster are missing in " + data_.store().string()), std::string::npos) << refused;
    EXPECT_TRUE(refused.ends_with("To begin an empty cluster, remove " + (data_.root() / "store-expected").string())) << refused;
    EXPECT_EQ(check(etcd("/registry")), "") << "what is in etcd is used instead: the remedy of the other refusal";
    fs::remove(data_.root() / "store-expected");
    EXPECT_EQ(check({}), "");
}

TEST_F(StoreLocation, CanBeginEmptyWithoutTheRecordOfAnEtcd) {
    ASSERT_TRUE(note_store_location(data_, {}));
    ASSERT_TRUE(note_store_location(data_, etcd("/registry")));
    EXPECT_NE(check({}).find("To go on without them, remove " + data_.store_location().string()), std::string::npos);
    fs::remove(data_.store_location());
    EXPECT_EQ(check({}), "");
}

}  // namespace
}  // namespace porthole::cmd
