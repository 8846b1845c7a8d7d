#include "apiserver/resources/response_encoder.h"

#include <gtest/gtest.h>

#include <deque>

#include "api/core_v1.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

/// Goes on by a microsecond whenever it is looked at: between two objects of a list.
struct TickingClock final : Clock {
    MonotonicTime now() const override { return time += 1us; }
    SystemTime wall_now() const override { return {}; }
    mutable MonotonicTime time{1h};
};

struct ResponseEncoderTest : testing::Test {
    ResponseEncoderTest() {
        resource.kind = resource.stored = &api::core::v1::ConfigMap::kind();
        const store::Record record{.key = "", .value = std::make_shared<const std::string>("{}")};
        page.records.assign(1000, std::make_shared<const store::Record>(record));
    }
    /// A turn of another flow.
    Task<> take_turn() {
        Turns::Place place(turns);
        if (!place.begin(2)) CO_TRY_VOID(co_await place);
        co_return {};
    }

    sim::SimLoop loop;
    TickingClock clock;
    Turns turns{loop, clock, 500us};
    Resource resource;
    Page page;
};

TEST_F(ResponseEncoderTest, AListOfManyObjectsIsMadeInPiecesBetweenWhichOthersHaveTurns) {
    const ResponseEncoder encoder(resource, {}, IncludeObject::None, Timestamp());
    TaskContext context(loop);
    std::optional<std::size_t> pieces;
    start_task(encoder.list(page, LongWork(turns, 1)), context,
               [&](Result<std::vector<store::Bytes>> made) { pieces = made ? made->size() : 0; });
    EXPECT_FALSE(pieces) << "a thousand objects are more than a turn";
    std::deque<TaskContext> contexts;
    int taken = 0, taken_meanwhile = 0;
    for (int i = 0; i < 20; ++i) {
        start_task(take_turn(), contexts.emplace_back(loop), [&](const Result<void>&) {
            ++taken;
            if (!pieces) ++taken_meanwhile;
        });
    }
    loop.run_ready();
    EXPECT_EQ(taken, 20);
    EXPECT_GT(taken_meanwhile, 5) << "a piece is a tenth of a millisecond, here a hundred objects";
    ASSERT_TRUE(pieces);
    EXPECT_EQ(*pieces, 2 * 1000 + 1u) << "a piece for each object, what is between them, and the end";
}

}  // namespace
}  // namespace porthole::apiserver
