#include "node_join/pki_changes.h"

#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::node_join {
namespace {

using namespace std::chrono_literals;

struct PkiChangesTest : testing::Test {
    PkiChangesTest() {
        EXPECT_TRUE(files.create_directories("/pki", 0700));
        EXPECT_TRUE(files.write("/pki/ca.crt", "certificate", 0644));
        EXPECT_TRUE(files.write("/pki/ca.key", "key", 0600));
    }
    /// Looks every ten seconds, as a server does, and uses what it reads.
    std::size_t reads_within(Duration time) {
        std::size_t reads = 0;
        for (Duration passed{}; passed < time; passed += 10s) {
            loop.advance(10s);
            if (!changes.due()) continue;
            ++reads;
            changes.taken();
        }
        return reads;
    }
    void settle() { reads_within(1min); }

    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    PkiChanges changes{files, "/pki", loop};
};

TEST_F(PkiChangesTest, ReadsAtFirstAndThenOnceAnHour) {
    EXPECT_TRUE(changes.due());
    settle();
    EXPECT_EQ(reads_within(30min), 0u);
    EXPECT_EQ(reads_within(10h), 10u);
}

TEST_F(PkiChangesTest, ReadsAfterEachKindOfChange) {
    const struct {
        const char* name;
        Result<void> (*change)(FileSystem& files);
    } rows[] = {
        {"replaced by a text of the same size", [](FileSystem& files) { return files.replace("/pki/ca.key", "KEY", 0600); }},
        {"written in place", [](FileSystem& files) { return files.write("/pki/ca.key", "yek", 0600); }},
        {"a new file", [](FileSystem& files) { return files.write("/pki/sa-previous.key", "key", 0600); }},
        {"one file less", [](FileSystem& files) { return files.remove("/pki/sa-previous.key"); }},
        {"an old file under another name", [](FileSystem& files) { return files.rename("/pki/ca.key", "/pki/ca-next.key"); }},
        {"the folder is away", [](FileSystem& files) { return files.remove_all("/pki"); }},
    };
    settle();
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_FALSE(changes.due());
        ASSERT_TRUE(row.change(files));
        EXPECT_TRUE(changes.due());
        settle();
    }
}

TEST_F(PkiChangesTest, ReadsAgainWhatItHasReadJustAfterAChange) {
    settle();
    ASSERT_TRUE(files.write("/pki/ca.key", "abc", 0600));
    EXPECT_TRUE(changes.due());
    changes.taken();
    EXPECT_TRUE(changes.due()) << "it may have been written once more within the same tick";
    loop.advance(PkiChanges::Settling);
    EXPECT_FALSE(changes.due());
}

TEST_F(PkiChangesTest, StaysDueUntilWhatWasReadIsInUse) {
    settle();
    ASSERT_TRUE(files.write("/pki/ca.key", "abc", 0600));
    for (int i = 0; i < 5; ++i) {
        loop.advance(10s);
        EXPECT_TRUE(changes.due());
    }
    changes.taken();
    EXPECT_FALSE(changes.due());
}

TEST_F(PkiChangesTest, SeesAChangeBetweenTheLookAndTheReading) {
    settle();
    EXPECT_FALSE(changes.due());
    ASSERT_TRUE(files.write("/pki/ca.key", "abc", 0600));
    changes.taken();
    loop.advance(1min);
    EXPECT_TRUE(changes.due());
}

}  // namespace
}  // namespace porthole::node_join
