#include "local_cluster/processes/node_progress.h"

#include <gtest/gtest.h>

#include "base/time/time.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::local_cluster {
namespace {

using namespace std::chrono_literals;

const SystemTime Start = Timestamp::parse("2026-01-01T00:00:00Z")->to_system_time();

NodeProgress progress(const std::string& conditions, const std::string& range = "", SystemTime since = Start) {
    return progress_of(
        schema::parse_json(R"({"spec": {"podCIDR": ")" + range + R"("}, "status": {"conditions": [)" + conditions + "]}}").value(), since);
}
const std::string Waiting = R"({"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "cni plugin not initialized",
                                "lastHeartbeatTime": "2026-01-01T00:00:00Z"})";
const std::string Later = R"({"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "cni plugin not initialized",
                              "lastHeartbeatTime": "2026-01-01T00:05:00Z"})";
const std::string Ready = R"({"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"})";

TEST(NodeProgress, SaysWhatTheNodeWaitsFor) {
    EXPECT_EQ(progress_of(schema::parse_json("{}").value(), Start).waits_for, "its kubelet has not reported its state");
    EXPECT_EQ(progress(Waiting).waits_for, "cni plugin not initialized");
    EXPECT_FALSE(progress(Waiting).ready);
    EXPECT_TRUE(progress(Ready).ready);
    EXPECT_FALSE(progress(R"({"type": "DiskPressure", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"})").ready);
}

TEST(NodeProgress, IsNotReadyByWhatAnEarlierKubeletReported) {
    EXPECT_TRUE(progress(Ready, "", Start + 900ms).ready) << "heartbeats are in whole seconds";
    const NodeProgress earlier = progress(Ready, "", Start + 1s);
    EXPECT_FALSE(earlier.ready);
    EXPECT_EQ(earlier.waits_for, "its kubelet has not reported its state");
    EXPECT_NE(earlier.state, progress(Ready).state) << "the first report is progress";
    EXPECT_EQ(progress(Waiting, "", Start + 1s).waits_for, "its kubelet has not reported its state");
    EXPECT_FALSE(progress(R"({"type": "Ready", "status": "True"})").ready) << "without a time";
}

TEST(NodeProgress, IsWhatChangesButHeartbeats) {
    EXPECT_EQ(progress(Waiting).state, progress(Later).state);
    EXPECT_NE(progress(Waiting).state, progress(Waiting, "10.244.0.0/24").state);
    EXPECT_NE(progress(Waiting).state, progress(R"({"type": "Ready", "status": "False", "message": "other"})").state);
    EXPECT_NE(progress(Waiting).state, progress(Waiting + R"(, {"type": "DiskPressure", "status": "True"})").state);
}

TEST(ProgressLimit, WaitsAsLongAsSomethingChangesAndNeverLongerThanTheWholeTime) {
    const MonotonicTime start{};
    ProgressLimit limit(start, 1min, 3min);
    EXPECT_FALSE(limit.is_passed(start + 60s, ""));
    EXPECT_FALSE(limit.is_passed(start + 90s, "a")) << "a change at the end of the pause";
    EXPECT_FALSE(limit.is_passed(start + 150s, "a"));
    EXPECT_TRUE(limit.is_passed(start + 151s, "a")) << "nothing has changed for longer than a minute";
    EXPECT_FALSE(limit.is_passed(start + 170s, "b"));
    EXPECT_TRUE(limit.is_passed(start + 181s, "c")) << "it moves in a circle";
}

}  // namespace
}  // namespace porthole::local_cluster
