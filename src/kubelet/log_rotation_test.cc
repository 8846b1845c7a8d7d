#include "kubelet/log_rotation.h"

#include <gtest/gtest.h>

#include "kubelet/sim/fake_runtime.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

/// A running container, whose log is /logs/c/0.log.
struct LogRotationTest : testing::Test {
    LogRotationTest() {
        cri::RunPodSandboxRequest sandbox;
        sandbox.config.emplace().log_directory = "/logs";
        sandbox.config->metadata.emplace().name = "p";
        const std::string id = porthole::sim::run(loop, runtime.run_pod_sandbox(sandbox)).value().pod_sandbox_id;
        cri::CreateContainerRequest create;
        create.pod_sandbox_id = id;
        create.sandbox_config = sandbox.config;
        create.config.emplace().metadata.emplace().name = "c";
        create.config->log_path = "c/0.log";
        runtime.add_image("image");
        create.config->image.emplace().image = "image";
        cri::StartContainerRequest start;
        start.container_id = porthole::sim::run(loop, runtime.create_container(create)).value().container_id;
        EXPECT_TRUE(porthole::sim::run(loop, runtime.start_container(start)));
        EXPECT_TRUE(files.create_directories("/logs/c", 0755));
    }
    void write_and_rotate(std::size_t bytes) {
        loop.advance(1min);
        ASSERT_TRUE(files.write("/logs/c/0.log", std::string(bytes, 'x'), 0644));
        ASSERT_TRUE(porthole::sim::run(loop, rotation.rotate()));
    }
    std::size_t count() { return files.list("/logs/c").value().size(); }

    porthole::sim::SimLoop loop;
    porthole::sim::MemoryFileSystem files{loop};
    sim::FakeRuntime runtime{loop};
    LogRotation rotation{runtime, files, Logger(make_null_sink(), "test"), 1000, 3};
};

TEST_F(LogRotationTest, LeavesAFileBelowTheLimitAlone) {
    write_and_rotate(999);
    EXPECT_EQ(files.list("/logs/c").value(), std::vector<std::string>{"0.log"});
}

TEST_F(LogRotationTest, KeepsSoManyFilesAndRemovesTheOldest) {
    std::string oldest;
    for (int i = 0; i < 5; ++i) {
        write_and_rotate(1000);
        if (i == 0) oldest = files.list("/logs/c").value().front();
        EXPECT_LE(count(), 2u) << "with the file that the runtime opens again, three";
    }
    EXPECT_FALSE(files.exists("/logs/c/" + oldest));
}

}  // namespace
}  // namespace porthole::kubelet
