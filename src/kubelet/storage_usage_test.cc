#include "kubelet/storage_usage.h"

#include "kubelet/volumes/volumes_fixture.h"
#include "runtime/scope.h"

namespace porthole::kubelet {
namespace {

using StorageUsageTest = VolumesTest;

TEST_F(StorageUsageTest, FilesOfAnotherMachineAreNotAskedFor) {
    ASSERT_TRUE(mounts(R"({"volumes":[{"name":"own","emptyDir":{}},{"name":"share","nfs":{"server":"files.example.com","path":"/a"}}]})"));
    StorageUsage usage({.loop = loop, .files = files, .workers = pool, .volumes = manager, .log_root = "/logs", .pods = [&] {
                            return std::vector<std::shared_ptr<const core::Pod>>{pod};
                        }});
    Scope scope(loop);
    scope.spawn(usage.run());
    loop.advance(1s);
    ASSERT_EQ(usage.of("u").volumes.size(), 1u);
    EXPECT_EQ(usage.of("u").volumes[0].name, "own");
    ASSERT_TRUE(porthole::sim::run(loop, scope.close()));
}

}  // namespace
}  // namespace porthole::kubelet
