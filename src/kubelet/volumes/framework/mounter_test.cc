#include "kubelet/volumes/framework/mounter.h"

#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

/// A volume with a link out of it and one inside.
struct PlainMounterTest : testing::Test {
    PlainMounterTest() {
        for (const char* folder : {"/v/in", "/out"}) EXPECT_TRUE(files.create_directories(folder, 0755));
        EXPECT_TRUE(files.change_mode("/v", 0777));
        EXPECT_TRUE(files.create_symlink("/out", "/v/link"));
        EXPECT_TRUE(files.create_symlink("/v/in", "/v/inner"));
    }
    porthole::sim::SimLoop loop;
    porthole::sim::MemoryFileSystem files{loop};
    std::unique_ptr<Mounter> mounter = make_plain_mounter(files);
};

// STO-30: nothing but the volume is shown.
TEST_F(PlainMounterTest, ASubPathStaysInItsVolume) {
    EXPECT_EQ(mounter->bind_beneath("/v", "in", "/t").value(), "/v/in");
    EXPECT_EQ(mounter->bind_beneath("/v", "inner", "/t").value(), "/v/in") << "by a link inside";
    EXPECT_EQ(mounter->bind_beneath("/v", "none", "/t").error().reason, Reason::NotFound);
    for (const char* path : {"link", "link/x", "../out", "..\\out", "in:stream", "C:\\out"}) {
        EXPECT_TRUE(files.create_directories("/out/x", 0755));
        EXPECT_EQ(mounter->bind_beneath("/v", path, "/t").error().reason, Reason::Forbidden) << path;
    }
}

// STO-30: nothing is made elsewhere.
TEST_F(PlainMounterTest, ASubPathIsMadeInItsVolume) {
    ASSERT_TRUE(mounter->make_beneath("/v", "in/new/deep"));
    EXPECT_EQ(files.status("/v/in/new/deep")->mode, 0777u) << "as the volume itself";
    ASSERT_TRUE(mounter->make_beneath("/v", "inner\\other"));
    EXPECT_TRUE(files.exists("/v/in/other"));
    for (const char* path : {"link/new", "link/new/deep", "../out/new", "..\\out\\new", "in:new"}) {
        EXPECT_EQ(mounter->make_beneath("/v", path).error().reason, Reason::Forbidden) << path;
        EXPECT_FALSE(files.exists("/out/new")) << path;
    }
}

}  // namespace
}  // namespace porthole::kubelet
