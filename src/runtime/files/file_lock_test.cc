#include "runtime/files/file_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

namespace porthole {
namespace {

struct FileLockTest : testing::Test {
    ~FileLockTest() override { std::filesystem::remove(path); }
    const std::string path = testing::TempDir() + "file_lock_test." + std::to_string(::getpid());
};

TEST_F(FileLockTest, IsHeldByOneUntilItEnds) {
    std::optional<FileLock> held = FileLock::try_take(path).value();
    ASSERT_TRUE(held);
    EXPECT_FALSE(FileLock::try_take(path).value());
    const FileLock moved = *std::move(held);
    held.reset();
    EXPECT_FALSE(FileLock::try_take(path).value()) << "the lock has moved, not ended";
}

TEST_F(FileLockTest, IsFreeAgainAfterwards) {
    static_cast<void>(FileLock::try_take(path).value());
    EXPECT_TRUE(FileLock::take(path));
}

TEST_F(FileLockTest, TellsWhoHasIt) {
    EXPECT_EQ(FileLock::read_holder(path), "another process");
    const FileLock held = FileLock::take(path).value();
    ASSERT_TRUE(held.write_holder());
    EXPECT_EQ(FileLock::read_holder(path), "process " + std::to_string(::getpid()));
}

TEST_F(FileLockTest, NeedsADirectoryThatIsThere) { EXPECT_EQ(FileLock::try_take(path + "/no/lock").error().reason, Reason::Io); }

}  // namespace
}  // namespace porthole
