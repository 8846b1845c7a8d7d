#include "client/informers/controller.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "client/fake/fake_api.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::client {
namespace {

using api::core::v1::ConfigMap;

class Probe final : public Controller {
public:
    Probe(EventLoop& loop, Informers& informers, int max_retries)
        : Controller(loop, Logger(make_null_sink(), "test"), {.name = "probe", .workers = 2, .max_retries = max_retries}) {
        reconcile_each(informers.get<ConfigMap>());
    }
    std::vector<std::string> seen;
    int failures_left = 0;
    Duration work{};
    std::optional<Duration> again;
    int running = 0, most_running = 0;

protected:
    Task<Requeue> reconcile(NamespacedName key) override {
        most_running = std::max(most_running, ++running);
        if (work > work.zero()) {
            CO_TRY_VOID(co_await loop().sleep(work));
        }
        --running;
        seen.push_back(key.name);
        if (failures_left > 0) {
            --failures_left;
            co_return Error(Reason::InternalError, "not yet");
        }
        co_return again ? Requeue::in(*again) : Requeue::never();
    }
};

struct ControllerTest : testing::Test {
    ~ControllerTest() override {
        EXPECT_TRUE(sim::run(loop, scope.close()));
        EXPECT_TRUE(sim::run(loop, informers.close()));
    }
    void put(const std::string& name, const std::string& value = "") {
        ConfigMap object;
        object.metadata.namespace_ = "ns";
        object.metadata.name = name;
        object.data["key"] = value;
        api.put(object);
    }
    Probe& make(int max_retries) { return probe_.emplace(loop, informers, max_retries); }
    void start(Probe& probe) {
        informers.start();
        scope.spawn(probe.run());
        loop.advance(1s);
    }

    sim::SimLoop loop;
    FakeApi api{loop};
    Client client{api};
    SeededRandom random{7};
    Informers informers{{loop, client, random, Logger(make_null_sink(), "test")}};
    std::optional<Probe> probe_;
    Scope scope{loop};
};

TEST_F(ControllerTest, ReconcilesWhatIsThereAndWhatChanges) {
    put("a");
    Probe& probe = make(-1);
    start(probe);
    put("b");
    put("a", "changed");
    loop.advance(1s);
    EXPECT_EQ(probe.seen, (std::vector<std::string>{"a", "b", "a"}));
}

TEST_F(ControllerTest, TriesAgainAfterFailuresUntilItSucceeds) {
    Probe& probe = make(-1);
    probe.failures_left = 30;
    put("a");
    start(probe);
    loop.advance(10h);
    EXPECT_EQ(probe.seen.size(), 31u);
}

TEST_F(ControllerTest, GivesUpAfterTheAllowedRetriesUntilTheNextChange) {
    Probe& probe = make(3);
    probe.failures_left = 1000;
    put("a");
    start(probe);
    loop.advance(10h);
    EXPECT_EQ(probe.seen.size(), 4u);
    put("a", "changed");
    loop.advance(10h);
    EXPECT_EQ(probe.seen.size(), 8u);
}

TEST_F(ControllerTest, ComesBackWhenAskedTo) {
    Probe& probe = make(-1);
    probe.again = 1min;
    put("a");
    start(probe);
    loop.advance(5min);
    EXPECT_EQ(probe.seen.size(), 6u);
}

TEST_F(ControllerTest, LooksEveryTenMinutesAtWhatWaitsForADistantTime) {
    Probe& probe = make(-1);
    probe.again = 24h * 365 * 50;
    put("a");
    start(probe);
    loop.advance(1h);
    EXPECT_EQ(probe.seen.size(), 7u);
}

TEST_F(ControllerTest, WorksOnSeveralKeysButNeverTwiceOnOne) {
    Probe& probe = make(-1);
    probe.work = 10s;
    for (const char* name : {"a", "b", "c"}) put(name);
    start(probe);
    put("a", "1");
    put("a", "2");
    loop.advance(1min);
    EXPECT_EQ(probe.most_running, 2);
    EXPECT_EQ(std::ranges::count(probe.seen, "a"), 2);
}

}  // namespace
}  // namespace porthole::client
