#include "client/events.h"

#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::client {
namespace {

namespace core = api::core::v1;

struct EventsTest : testing::Test {
    EventsTest() {
        pod.metadata.namespace_ = "ns";
        pod.metadata.name = "web";
        pod.metadata.uid = "u1";
        scope.spawn(recorder.run());
    }
    ~EventsTest() override { EXPECT_TRUE(sim::run(loop, scope.close())); }

    sim::SimLoop loop;
    FakeApi api{loop};
    Client client{api};
    EventRecorder recorder{loop, client, Logger(make_null_sink(), "test"), "kubelet", "n1"};
    core::Pod pod;
    Scope scope{loop};
};

TEST_F(EventsTest, SaysWhoDidWhatToWhom) {
    recorder.warning(pod, "Unhealthy", "probe failed");
    loop.advance(1s);
    const auto events = api.list<core::Event>();
    ASSERT_EQ(events.size(), 1u);
    const core::Event& event = events[0];
    EXPECT_EQ(event.metadata.namespace_, "ns");
    EXPECT_TRUE(event.metadata.name.starts_with("web."));
    EXPECT_EQ(event.involved_object.kind, "Pod");
    EXPECT_EQ(event.involved_object.api_version, "v1");
    EXPECT_EQ(event.involved_object.uid, "u1");
    EXPECT_EQ(event.type, "Warning");
    EXPECT_EQ(event.reason, "Unhealthy");
    EXPECT_EQ(event.message, "probe failed");
    EXPECT_EQ(event.source.component, "kubelet");
    EXPECT_EQ(event.source.host, "n1");
    EXPECT_EQ(event.count, 1);
}

TEST_F(EventsTest, NoMoreAreWrittenThanTheRateAllows) {
    recorder.limit_rate(1, 3);
    for (int i = 0; i < 10; ++i) {
        pod.metadata.name = "web-" + std::to_string(i);
        recorder.normal(pod, "Pulled", "it is there");
    }
    loop.advance(500ms);
    EXPECT_EQ(api.list<core::Event>().size(), 3u);
    loop.advance(2s);
    EXPECT_EQ(api.list<core::Event>().size(), 5u);
    loop.advance(1min);
    EXPECT_EQ(api.list<core::Event>().size(), 10u);
}

TEST_F(EventsTest, ARepetitionRaisesTheCount) {
    for (int i = 0; i < 3; ++i) {
        recorder.warning(pod, "Unhealthy", "probe failed");
        loop.advance(10s);
    }
    const auto events = api.list<core::Event>();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].count, 3);
    EXPECT_EQ(events[0].last_timestamp - events[0].first_timestamp, 20s);
}

TEST_F(EventsTest, ManySimilarMessagesBecomeOne) {
    for (int i = 0; i < 15; ++i) recorder.normal(pod, "Pulled", "image " + std::to_string(i));
    loop.advance(1s);
    const auto events = api.list<core::Event>();
    EXPECT_EQ(events.size(), 10u);
    int combined = 0;
    for (const core::Event& event : events)
        if (event.message.starts_with("(combined from similar events): ")) combined = event.count;
    EXPECT_EQ(combined, 6);
}

TEST_F(EventsTest, ANoisyObjectIsHeldBack) {
    for (int i = 0; i < 100; ++i) recorder.warning(pod, "BackOff", "again");
    loop.advance(1s);
    EXPECT_EQ(api.list<core::Event>()[0].count, 25);
    loop.advance(5min);
    recorder.warning(pod, "BackOff", "again");
    loop.advance(1s);
    EXPECT_EQ(api.list<core::Event>()[0].count, 26);
}

TEST_F(EventsTest, NoMoreThanAThousandWait) {
    for (int i = 0; i < 1100; ++i) {
        pod.metadata.name = "web-" + std::to_string(i);
        recorder.normal(pod, "Pulled", "it is there");
    }
    loop.advance(1min);
    EXPECT_EQ(api.list<core::Event>().size(), 1000u);
}

TEST_F(EventsTest, AnEventThatHasExpiredIsMadeAnew) {
    recorder.normal(pod, "Started", "up");
    loop.advance(1s);
    api.erase<core::Event>(key_of(api.list<core::Event>()[0]));
    recorder.normal(pod, "Started", "up");
    loop.advance(1s);
    ASSERT_EQ(api.list<core::Event>().size(), 1u);
    EXPECT_EQ(api.list<core::Event>()[0].count, 1);
}

TEST_F(EventsTest, WaitsForAServerThatIsAway) {
    api.set_fault([](const ApiRequest&) { return Error(Reason::Unavailable, "connection refused"); });
    recorder.normal(pod, "Started", "up");
    loop.advance(30s);
    api.set_fault({});
    loop.advance(30s);
    EXPECT_EQ(api.list<core::Event>().size(), 1u);
}

}  // namespace
}  // namespace porthole::client
