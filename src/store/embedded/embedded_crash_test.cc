// kill -9 in the middle of a load, over and over: what was acknowledged must be there, whole.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/asio_loop.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "store/embedded/embedded_engine.h"
#include "store/store.h"

namespace porthole::store {
namespace {

constexpr int Writers = 16;

std::string key_of(int writer) { return "/writer/" + std::to_string(writer); }

/// Writes 1, 2, 3 … to two keys of its own, at once, and tells `acknowledgements` after each answer.
Task<> write_forever(Store& store, int writer, int start, int acknowledgements) {
    for (std::int32_t i = start;; ++i) {
        Transaction transaction;
        const std::string text = std::to_string(i) + ":" + std::string(static_cast<std::size_t>(i % 3000), 'x');
        transaction.operations.push_back(Put{.key = key_of(writer), .value = text});
        transaction.operations.push_back(Put{.key = key_of(writer) + "/twin", .value = text});
        CO_TRY_VOID(co_await store.commit(std::move(transaction)));
        const std::int32_t message[2] = {writer, i};
        if (::write(acknowledgements, message, sizeof message) != sizeof message) ::_exit(3);
    }
}

[[noreturn]] void run_writer(const std::string& directory, const std::vector<int>& start, int acknowledgements) {
    AsioLoop loop;
    const auto pool = make_thread_pool(2);
    auto engine = open_embedded_engine(directory);
    if (!engine) ::_exit(1);
    Store::Options options;
    options.keep_events = 500;  // compaction and checkpoints take part
    auto store = Store::open({loop, *pool, Logger(make_null_sink(), "store")}, std::move(*engine), {}, options);
    if (!store) ::_exit(2);
    Scope scope(loop);
    for (int writer = 0; writer < Writers; ++writer) {
        scope.spawn(write_forever(**store, writer, start[static_cast<std::size_t>(writer)], acknowledgements));
    }
    loop.run();
    ::_exit(4);
}

struct EmbeddedCrash : testing::Test {
    EmbeddedCrash() {
        std::string name = testing::TempDir() + "/store-XXXXXX";
        directory_ = ::mkdtemp(name.data());
    }
    ~EmbeddedCrash() override { std::filesystem::remove_all(directory_); }

    /// What each writer was last told, after a load of at least `count` writes that ends with kill -9.
    std::vector<int> load_and_kill(std::vector<int> acknowledged, int count) {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        std::vector<int> start;
        for (const int last : acknowledged) start.push_back(last + 1);
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(ends[0]);
            run_writer(directory_, start, ends[1]);
        }
        ::close(ends[1]);
        std::int32_t message[2];
        for (int i = 0; ::read(ends[0], message, sizeof message) == sizeof message; ++i) {
            acknowledged[static_cast<std::size_t>(message[0])] = message[1];
            if (i == count) ::kill(child, SIGKILL);
        }
        ::close(ends[0]);
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
        return acknowledged;
    }

    /// What each writer has in the store, checked to be whole.
    std::vector<int> stored() {
        sim::SimLoop loop;
        sim::SimWorkerPool pool(loop);
        auto engine = open_embedded_engine(directory_);
        EXPECT_TRUE(engine) << engine.error().message;
        auto store = Store::open({loop, pool, Logger(make_null_sink(), "store")}, std::move(*engine), {}, {});
        EXPECT_TRUE(store) << store.error().message;
        std::vector<int> stored;
        for (int writer = 0; writer < Writers; ++writer) {
            const RecordPtr record = (*store)->get(key_of(writer)), twin = (*store)->get(key_of(writer) + "/twin");
            EXPECT_EQ(record == nullptr, twin == nullptr);
            stored.push_back(record ? std::stoi(*record->value.bytes()) : 0);
            if (!record || !twin) continue;
            EXPECT_EQ(*record->value.bytes(), *twin->value.bytes());
            EXPECT_EQ(record->modified, twin->modified);
        }
        EXPECT_TRUE(sim::run(loop, (*store)->close()));
        return stored;
    }

    std::string directory_;
};

TEST_F(EmbeddedCrash, EveryAcknowledgedWriteIsThereAfterKill) {
    std::vector<int> last(Writers, 0);
    for (int round = 0; round < 8; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const std::vector<int> acknowledged = load_and_kill(last, 500 + 900 * round);
        last = stored();
        for (int writer = 0; writer < Writers; ++writer) {
            const auto i = static_cast<std::size_t>(writer);
            EXPECT_GE(last[i], acknowledged[i]);
            EXPECT_LE(last[i], acknowledged[i] + 1);
        }
    }
    EXPECT_GT(last[0], 100);
}

TEST_F(EmbeddedCrash, AFullDiskIsAnErrorAndLaterWritesWork) {
    // A file size limit stands in for the disk; SQLite sees the same failing write.
    ASSERT_TRUE(open_embedded_engine(directory_).has_value());
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        sim::SimLoop loop;
        sim::SimWorkerPool pool(loop);
        auto engine = open_embedded_engine(directory_);
        auto store = Store::open({loop, pool, Logger(make_null_sink(), "store")}, std::move(*engine), {}, {});
        const auto put = [&](const char* key, std::size_t size) {
            return sim::run(loop, (*store)->commit({{}, {Put{.key = key, .value = std::string(size, 'x')}}}));
        };
        if (!put("/before", 10)) ::_exit(1);
        struct rlimit limit{1 << 20, RLIM_INFINITY};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const auto refused = put("/large", 3 << 20);
        if (refused || refused.error().reason != Reason::Io) ::_exit(2);
        if (!(*store)->get("/before") || (*store)->get("/large")) ::_exit(3);
        limit.rlim_cur = RLIM_INFINITY;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        if (!put("/large", 3 << 20)) ::_exit(4);
        if (!sim::run(loop, (*store)->close())) ::_exit(5);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace porthole::store
