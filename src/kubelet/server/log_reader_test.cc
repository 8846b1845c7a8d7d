#include "kubelet/server/log_reader.h"

#include <gtest/gtest.h>

#include "runtime/scope.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

Task<> append(std::string& to, std::string text) {
    to += text;
    co_return {};
}
Task<bool> answer(const bool& value) { co_return bool(value); }

struct LogReaderTest : testing::Test {
    LogReaderTest() { EXPECT_TRUE(files.create_directories("/log", 0755)); }
    void write(const std::string& text) { EXPECT_TRUE(files.write("/log/0.log", text, 0644)); }
    std::string read(LogOptions options) {
        out.clear();
        LogReader reader(loop, files, "/log/0.log", std::move(options));
        EXPECT_TRUE(sim::run(
            loop, reader.run([this](std::string text) { return append(out, std::move(text)); }, [this] { return answer(alive); })));
        return out;
    }
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    std::string out;
    bool alive = false;
};

constexpr const char* Three =
    "2026-01-01T00:00:01.5Z stdout F one\n"
    "2026-01-01T00:00:02Z stderr F two\n"
    "2026-01-01T00:00:03Z stdout P thr\n"
    "2026-01-01T00:00:03Z stdout F ee\n";

TEST_F(LogReaderTest, ShowsTextAndJoinsPartialLines) {
    write(Three);
    EXPECT_EQ(read({}), "one\ntwo\nthree\n");
    EXPECT_EQ(read({.timestamps = true}), "2026-01-01T00:00:01.5Z one\n2026-01-01T00:00:02Z two\n2026-01-01T00:00:03Z three\n");
}

TEST_F(LogReaderTest, TailSinceLimitAndStream) {
    write(Three);
    EXPECT_EQ(read({.tail_lines = 3}), "two\nthree\n");
    EXPECT_EQ(read({.tail_lines = 0}), "");
    EXPECT_EQ(read({.tail_lines = 99}), "one\ntwo\nthree\n");
    EXPECT_EQ(read({.limit_bytes = 6}), "one\ntw");
    EXPECT_EQ(read({.stream = "stderr"}), "two\n");
    EXPECT_EQ(read({.since = *parse_log_time("2026-01-01T00:00:01.6Z")}), "two\nthree\n");
    EXPECT_EQ(read({.since = *parse_log_time("2026-01-01T00:00:01.4Z")}), "one\ntwo\nthree\n");
    EXPECT_EQ(read({.since = *parse_log_time("1013-01-01T00:00:01.4Z")}), "one\ntwo\nthree\n")
        << "before what 64 bits of nanoseconds reach";
}

TEST_F(LogReaderTest, SkipsWhatIsNoRecord) {
    write("nonsense\n2026-01-01T00:00:01Z stdout F ok\n\n2026-01-01T00:00:01Z stdin F x\n2026-01-01T00:00:01Z stdout F \nunfinished");
    EXPECT_EQ(read({}), "ok\n\n");
}

TEST_F(LogReaderTest, PassesOverLinesThatNoRuntimeWrites) {
    write("2026-01-01T00:00:01Z stdout F one\n2026-01-01T00:00:02Z stdout F " + std::string(5'000'000, 'x') +
          "\n2026-01-01T00:00:03Z stdout F three\n");
    EXPECT_EQ(read({}), "one\nthree\n");
    EXPECT_EQ(read({.tail_lines = 1}), "three\n");
}

TEST_F(LogReaderTest, LetsOthersHaveTheLoop) {
    write(std::string(10'000'000, '\0'));
    for (const std::optional<std::int64_t> lines : {std::optional<std::int64_t>(), std::optional<std::int64_t>(1)}) {
        bool ended = false;
        int turns = 0;  // of others, while it reads
        const std::function<void()> other = [&] {
            if (!ended && ++turns < 1000) loop.post(other);
        };
        loop.post(other);
        LogReader reader(loop, files, "/log/0.log", {.tail_lines = lines});
        EXPECT_TRUE(sim::run(
            loop, reader.run([this](std::string text) { return append(out, std::move(text)); }, [this] { return answer(alive); })));
        ended = true;
        loop.run_ready();
        EXPECT_GT(turns, 100);
    }
}

TEST_F(LogReaderTest, FollowsNoLink) {
    EXPECT_TRUE(files.write("/secret", "2026-01-01T00:00:01Z stdout F secret\n", 0600));
    EXPECT_TRUE(files.create_symlink("/secret", "/log/0.log"));
    LogReader reader(loop, files, "/log/0.log", {});
    const auto read =
        sim::run(loop, reader.run([this](std::string text) { return append(out, std::move(text)); }, [this] { return answer(alive); }));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().reason, Reason::Forbidden);
    EXPECT_EQ(out, "");
}

TEST_F(LogReaderTest, FollowsGrowthRotationAndTheEnd) {
    write("2026-01-01T00:00:01Z stdout F a\n");
    alive = true;
    LogReader reader(loop, files, "/log/0.log", {.follow = true});
    Scope scope(loop);
    scope.spawn(reader.run([this](std::string text) { return append(out, std::move(text)); }, [this] { return answer(alive); }));
    loop.advance(1s);
    EXPECT_EQ(out, "a\n");
    write("2026-01-01T00:00:01Z stdout F a\n2026-01-01T00:00:02Z stdout F b\n");
    ASSERT_TRUE(files.rename("/log/0.log", "/log/0.log.20260101-000002"));
    write("2026-01-01T00:00:03Z stdout F c\n");
    loop.advance(1s);
    EXPECT_EQ(out, "a\nb\nc\n");
    alive = false;
    write("2026-01-01T00:00:03Z stdout F c\n2026-01-01T00:00:03Z stdout F d\n");
    loop.advance(1s);
    EXPECT_EQ(out, "a\nb\nc\nd\n");
    EXPECT_TRUE(scope.empty());
}

TEST_F(LogReaderTest, AMissingLogIsNotFound) {
    LogReader reader(loop, files, "/log/none", {});
    const auto ended =
        sim::run(loop, reader.run([this](std::string text) { return append(out, std::move(text)); }, [this] { return answer(alive); }));
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().reason, Reason::NotFound);
}

}  // namespace
}  // namespace porthole::kubelet
