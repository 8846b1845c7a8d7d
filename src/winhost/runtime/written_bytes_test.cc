#include "winhost/runtime/written_bytes.h"

#include <gtest/gtest.h>

#include "runtime/scope.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;

/// Workers that are busy until release().
struct BusyWorkers final : WorkerPool {
    explicit BusyWorkers(sim::SimLoop& of) : loop(of) {}
    void submit(Callback work) override { held.push_back(std::move(work)); }
    void release() {
        for (Callback& work : std::exchange(held, {})) loop.post(std::move(work));
        loop.advance(1ms);
    }
    sim::SimLoop& loop;
    std::vector<Callback> held;
};

struct WrittenBytesTest : testing::Test {
    void look(std::map<std::string, std::string> folders) {
        scope.spawn(written.look(std::move(folders)));
        loop.advance(1ms);
    }
    void write(const std::string& path, std::size_t bytes) {
        ASSERT_TRUE(files.create_directories(parent_path(path), 0755));
        ASSERT_TRUE(files.write(path, std::string(bytes, 'x'), 0644));
    }
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    BusyWorkers workers{loop};
    WrittenBytes written{loop, files, workers};
    Scope scope{loop};
};

TEST_F(WrittenBytesTest, AWorkerLooksAndNotAtEveryQuestion) {
    write("/a/f", 100'000);
    look({{"a", "/a"}});
    EXPECT_EQ(written.of("a"), 0u) << "the loop does not look itself";
    ASSERT_EQ(workers.held.size(), 1u);
    look({{"a", "/a"}});
    EXPECT_EQ(workers.held.size(), 1u) << "one worker at a time";
    workers.release();
    EXPECT_GE(written.of("a"), 100'000u);
    EXPECT_TRUE(workers.held.empty()) << "the second question has its answer";
    look({{"a", "/a"}, {"b", "/b"}});
    EXPECT_EQ(workers.held.size(), 1u) << "a new container is looked at at once";
    workers.release();
    write("/a/g", 100'000);
    loop.advance(11s);
    look({{"a", "/a"}});
    workers.release();
    EXPECT_GE(written.of("a"), 200'000u);
    look({});
    EXPECT_EQ(written.of("a"), 0u) << "it is gone";
}

}  // namespace
}  // namespace porthole::winhost
