// When the log is copied into the database, and when it must not be.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "store/embedded/crash_disk_fixture.h"
#include "store/embedded/embedded_engine.h"
#include "store/store.h"

namespace porthole::store {
namespace {

struct CheckpointTest : testing::Test {
    CheckpointTest() {
        std::string name = testing::TempDir() + "/checkpoint-XXXXXX";
        directory_ = ::mkdtemp(name.data());
    }
    ~CheckpointTest() override { std::filesystem::remove_all(directory_); }

    void open(EmbeddedOptions options) {
        auto engine = open_embedded_engine(directory_, options);
        ASSERT_TRUE(engine) << engine.error().message;
        engine_ = std::move(*engine);
        ASSERT_TRUE(engine_->load([](Row) {}));
    }
    void append(std::size_t bytes) {
        Row row;
        row.revision = row.created = Revision(++revision_);
        row.key = "/a";
        row.value = std::string(bytes, 'x');
        ASSERT_TRUE(engine_->append(std::vector<Commit>{{{}, {row}}}));
    }
    std::uintmax_t length_of(const char* file) const { return std::filesystem::file_size(directory_ + file); }

    std::string directory_;
    std::unique_ptr<Engine> engine_;
    std::uint64_t revision_ = 0;
};

TEST_F(CheckpointTest, KeepsTheLogShort) {
    open({.checkpoint_length = 100'000, .restart_length = 1 << 30, .reserved_ahead = 1000});
    for (int i = 0; i < 300; ++i) {
        append(5000);
        if (engine_->checkpoint_due()) engine_->checkpoint();
    }
    EXPECT_LT(length_of("/store.db-wal"), 300'000u);
    EXPECT_GT(length_of("/store.db"), 1'000'000u);
    engine_->close();
}

TEST_F(CheckpointTest, IsNotStartedWhileAllIsCopied) {
    SeededRandom random(1);
    CrashFileSystem system(random);
    open({.checkpoint_length = 0});
    int calls = 0;
    append(5000);
    EXPECT_TRUE(engine_->checkpoint_due());
    engine_->checkpoint();
    EXPECT_FALSE(engine_->checkpoint_due());
    system.between = [&] { ++calls; };
    engine_->checkpoint();
    EXPECT_EQ(calls, 0);
    append(5000);
    EXPECT_TRUE(engine_->checkpoint_due());
    calls = 0;
    engine_->checkpoint();
    EXPECT_GT(calls, 0);
    system.between = {};
    engine_->close();
    engine_.reset();
}

/// Always wants a checkpoint, and counts them.
struct FullEngine final : Engine {
    explicit FullEngine(int& checkpoints) : checkpoints_(checkpoints) {}
    Result<Revision> load(const std::function<void(Row)>&) override { return Revision(); }
    Result<void> append(std::span<const Commit>) override { return {}; }
    Result<void> compact(Revision, std::span<const Row>) override { return {}; }
    bool checkpoint_due() const override { return true; }
    void checkpoint() override { ++checkpoints_; }
    void close() override {}
    int& checkpoints_;
};

TEST(StoreCheckpoints, AreOneAtATimeAlsoIfAGroupHasNothingToWrite) {
    int checkpoints = 0;
    sim::SimLoop loop;
    sim::SimWorkerPool pool(loop);
    auto store = Store::open({loop, pool, Logger(make_null_sink(), "store")}, std::make_unique<FullEngine>(checkpoints), {}, {});
    ASSERT_TRUE(store) << store.error().message;
    // The second group is formed while the first one is written.
    Scope scope(loop);
    const auto commit = [](Store& into, Operation operation) -> Task<> {
        CO_TRY_VOID(co_await into.commit({{}, {std::move(operation)}}));
        co_return {};
    };
    scope.spawn(commit(**store, Put{.key = "/a", .value = "x"}));
    loop.post([&] { loop.post([&] { scope.spawn(commit(**store, Delete{"/absent"})); }); });
    loop.run_ready();
    EXPECT_EQ(checkpoints, 1);
    ASSERT_TRUE(sim::run(loop, scope.close()));
    ASSERT_TRUE(sim::run(loop, (*store)->close()));
}

}  // namespace
}  // namespace porthole::store
