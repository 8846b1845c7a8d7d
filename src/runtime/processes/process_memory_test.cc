#include "runtime/processes/process_memory.h"

#include <gtest/gtest.h>

#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole {
namespace {

using namespace std::chrono_literals;

/// A process that works for a share of its time.
class FakeProcess final : public ProcessMemory {
public:
    explicit FakeProcess(const Clock& clock) : clock_(clock), since_(clock.now()) {}

    void work(double share) {
        used_ = used_time();
        since_ = clock_.now();
        share_ = share;
    }
    Duration used_time() const override {
        return used_ + std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::nano>(clock_.now() - since_) * share_);
    }
    void give_back() override { ++given_back; }

    int given_back = 0;

private:
    const Clock& clock_;
    MonotonicTime since_;
    Duration used_{};
    double share_ = 0;
};

struct ProcessMemoryTest : testing::Test {
    ~ProcessMemoryTest() override { (void)sim::run(loop, scope.close()); }

    sim::SimLoop loop;
    FakeProcess process{loop};
    Scope scope{loop};
};

TEST_F(ProcessMemoryTest, IsGivenBackOnceWhenTheStartIsOver) {
    process.work(0.8);
    scope.spawn(give_back_memory_at_rest(loop, process));
    loop.advance(1min);
    EXPECT_EQ(process.given_back, 0);
    process.work(0.01);
    loop.advance(10s);
    EXPECT_EQ(process.given_back, 1);
    loop.advance(1h);
    EXPECT_EQ(process.given_back, 1);
}

TEST_F(ProcessMemoryTest, IsGivenBackAfterEachLoad) {
    scope.spawn(give_back_memory_at_rest(loop, process));
    for (int load = 1; load <= 3; ++load) {
        process.work(1.5);
        loop.advance(1min);
        process.work(0);
        loop.advance(1min);
        EXPECT_EQ(process.given_back, load);
    }
}

TEST(OwnProcessMemory, CodeGoesOnAfterItsPagesHaveBeenGivenBack) {
    const auto memory = make_process_memory();
    const Duration before = memory->used_time();
    std::string text(1 << 20, 'x');
    for (int i = 0; i < 3; ++i) {
        memory->give_back();
        EXPECT_EQ(text.find_first_not_of('x'), text.npos);
    }
    EXPECT_GE(memory->used_time(), before);
}

}  // namespace
}  // namespace porthole
