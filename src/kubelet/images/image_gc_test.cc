#include "kubelet/images/image_gc.h"

#include <gtest/gtest.h>

#include "kubelet/sim/fake_runtime.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

struct ImageGcTest : testing::Test {
    /// Names of the images that are left once everything unused had to go.
    std::vector<std::string> left_of(std::vector<std::string> names, ImageGc::Policy policy, std::set<std::string> mounted = {}) {
        for (const std::string& name : names) runtime.add_image(name);
        ImageGc gc(loop, runtime, runtime, files, Logger(make_null_sink(), "test"), "/", std::move(policy), [&] { return mounted; });
        EXPECT_TRUE(porthole::sim::run(loop, gc.collect()));
        loop.advance(3min);
        EXPECT_TRUE(porthole::sim::run(loop, gc.remove_unused(1 << 30)));
        std::vector<std::string> left;
        for (const cri::Image& image : porthole::sim::run(loop, runtime.list_images({}))->images) left.push_back(image.repo_tags.front());
        return left;
    }
    porthole::sim::SimLoop loop;
    porthole::sim::MemoryFileSystem files{loop};
    sim::FakeRuntime runtime{loop};
};

// PAU-02: a node that lost its sandboxes' image could start no pod any more.
TEST_F(ImageGcTest, KeptImagesStayThoughNothingUsesThem) {
    EXPECT_EQ(left_of({"app:1", "pause:1"}, {.kept = {"pause:1"}}), std::vector<std::string>{"pause:1"});
}

TEST_F(ImageGcTest, ImagesThatVolumesShowStay) {
    EXPECT_EQ(left_of({"app:1", "data:1"}, {}, {"data:1"}), std::vector<std::string>{"data:1"});
}

}  // namespace
}  // namespace porthole::kubelet
