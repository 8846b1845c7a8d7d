#include "runtime/component_thread.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/scope.h"

namespace porthole {
namespace {

TEST(ComponentThread, EndsEvenIfItsThreadHasNotBegunToRun) {
    for (int i = 0; i < 500; ++i) ComponentThread thread;
}

Task<> note_thread(std::thread::id& thread) {
    thread = std::this_thread::get_id();
    co_return {};
}

Task<> run_there(ComponentThread& other, std::thread::id& there, std::thread::id& back) {
    CO_TRY_VOID(co_await other.run([&there] { return note_thread(there); }));
    co_return co_await note_thread(back);
}

TEST(ComponentThread, RunsATaskOnItsThreadAndComesBack) {
    AsioLoop loop;
    ComponentThread other;
    std::thread::id there, back;
    TaskContext context(loop);
    bool done = false;
    start_task(run_there(other, there, back), context, [&](Result<void> result) {
        EXPECT_TRUE(result);
        done = true;
        loop.stop();
    });
    loop.run();
    EXPECT_TRUE(done);
    EXPECT_EQ(back, std::this_thread::get_id());
    EXPECT_NE(there, back);
}

}  // namespace
}  // namespace porthole
