#include "local_cluster/processes/failing_start.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace porthole::local_cluster {
namespace {

using namespace std::chrono_literals;

struct FailingStartTest : testing::Test {
    static std::filesystem::path made_folder() {
        char name[] = "/tmp/porthole-start-XXXXXX";
        return ::mkdtemp(name);
    }
    ~FailingStartTest() override { std::filesystem::remove_all(folder); }
    void write(const char* line) const { std::ofstream(log, std::ios::app) << line << "\n"; }

    const std::filesystem::path folder = made_folder();
    const std::filesystem::path log = folder / "log";
    const MonotonicTime start{};
};

TEST_F(FailingStartTest, OfAProgramThatSaysTheSameForLong) {
    FailingStart failing(log, start);
    EXPECT_FALSE(failing.is_hopeless(start + 1s)) << "there is no log yet";
    write("2026-01-02T03:04:05.678Z I store: reading");
    write("porthole: the store is of a newer version");
    EXPECT_FALSE(failing.is_hopeless(start + 2s));
    EXPECT_EQ(failing.last_words(), "the store is of a newer version");
    EXPECT_FALSE(failing.is_hopeless(start + 7s));
    EXPECT_TRUE(failing.is_hopeless(start + 7s + 1ms));
}

TEST_F(FailingStartTest, MayHaveSeveralReasons) {
    FailingStart failing(log, start);
    write("porthole: file f: a: unknown field\nb: Required value");
    EXPECT_FALSE(failing.is_hopeless(start + 1s));
    EXPECT_EQ(failing.last_words(), "file f: a: unknown field; b: Required value");
    write("porthole: file f: b: Required value");
    EXPECT_FALSE(failing.is_hopeless(start + 7s)) << "it is another reason";
    EXPECT_EQ(failing.last_words(), "file f: b: Required value");
}

TEST_F(FailingStartTest, IsNoneWhereTheProgramHasBegunAgain) {
    FailingStart failing(log, start);
    write("porthole: the port is taken");
    EXPECT_FALSE(failing.is_hopeless(start + 1s));
    write("2026-01-02T03:04:05.678Z I store: reading");
    EXPECT_FALSE(failing.is_hopeless(start + 20s));
    EXPECT_EQ(failing.last_words(), "");
    write("porthole: the port is taken");
    EXPECT_FALSE(failing.is_hopeless(start + 21s)) << "it may get further next time";
    EXPECT_TRUE(failing.is_hopeless(start + 27s));
}

TEST_F(FailingStartTest, IsNotWhatAnEarlierProgramHasWritten) {
    write("porthole: the port is taken");
    FailingStart failing(log, start);
    EXPECT_FALSE(failing.is_hopeless(start + 1s));
    EXPECT_FALSE(failing.is_hopeless(start + 30s));
    EXPECT_EQ(failing.last_words(), "");
}

}  // namespace
}  // namespace porthole::local_cluster
