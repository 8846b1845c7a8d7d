#include "kubelet/pleg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "kubelet/sim/fake_runtime.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct PlegTest : testing::Test {
    void add_sandbox(const std::string& uid) {
        cri::RunPodSandboxRequest request;
        request.config.emplace().metadata.emplace() = {.name = uid, .uid = uid, .namespace_ = "ns"};
        request.config->labels[PodUidLabel] = uid;
        sandbox = porthole::sim::run(loop, runtime.run_pod_sandbox(std::move(request)))->pod_sandbox_id;
    }
    /// What one list tells.
    std::vector<std::string> relist() {
        told.clear();
        EXPECT_TRUE(porthole::sim::run(loop, pleg.relist()));
        return told;
    }

    porthole::sim::SimLoop loop;
    porthole::sim::MemoryFileSystem files{loop};
    sim::FakeRuntime runtime{loop};
    StateReader reader{runtime, files, Platform{}};
    std::string sandbox;
    std::vector<std::string> told;
    Pleg pleg{
        loop, reader, {.changed = [this](const std::string& uid) { told.push_back(uid); }, .listed = [this] { told.push_back("."); }}};
};

TEST_F(PlegTest, TellsOfPodsThatAppearEndAndGo) {
    EXPECT_THAT(relist(), ElementsAre("."));
    add_sandbox("u");
    EXPECT_THAT(relist(), ElementsAre("u", "."));
    EXPECT_TRUE(pleg.is_running("u"));
    EXPECT_THAT(relist(), ElementsAre(".")) << "nothing has changed";
    EXPECT_TRUE(porthole::sim::run(loop, runtime.stop_pod_sandbox({.pod_sandbox_id = sandbox})));
    EXPECT_THAT(relist(), ElementsAre("u", "."));
    EXPECT_FALSE(pleg.is_running("u"));
    EXPECT_TRUE(porthole::sim::run(loop, runtime.remove_pod_sandbox({.pod_sandbox_id = sandbox})));
    EXPECT_THAT(relist(), ElementsAre("u", "."));
    EXPECT_TRUE(pleg.pods().empty());
}

TEST_F(PlegTest, ARuntimeThatDoesNotAnswerForThreeMinutesIsAProblem) {
    runtime.fault = [](const std::string&) { return Error(Reason::Unavailable, "gone"); };
    EXPECT_THAT(relist(), ElementsAre());
    EXPECT_FALSE(pleg.has_listed());
    EXPECT_EQ(pleg.problem(), "");
    loop.advance(3min);
    EXPECT_EQ(pleg.problem(), "PLEG is not healthy: pleg was last seen active 3m0s ago; threshold is 3m0s");
    runtime.fault = nullptr;
    relist();
    EXPECT_TRUE(pleg.has_listed());
    EXPECT_EQ(pleg.problem(), "");
}

}  // namespace
}  // namespace porthole::kubelet
