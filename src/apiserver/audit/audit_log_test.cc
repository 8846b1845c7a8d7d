#include "apiserver/audit/audit_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <map>

#include "runtime/files/durable_file.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::apiserver {
namespace {

namespace fs = std::filesystem;

struct AuditLogTest : testing::Test {
    AuditLogTest() {
        fs::remove_all(folder);
        fs::create_directories(folder);
    }
    ~AuditLogTest() override { fs::remove_all(folder); }

    /// Each line is added a second after the one before.
    void write(RotatingFile::Options options, int lines) {
        options.path = path;
        auto log = AuditLog::open({loop, pool, Logger(make_null_sink(), "test")}, options);
        ASSERT_TRUE(log) << log.error().message;
        for (int i = 0; i < lines; ++i) {
            (*log)->add("line " + std::to_string(next++));
            loop.advance(1s);
        }
        EXPECT_TRUE(sim::run(loop, (*log)->close()));
    }
    /// What the files hold, by name.
    std::map<std::string, std::string> files() const {
        std::map<std::string, std::string> all;
        for (const auto& entry : fs::directory_iterator(folder)) all[entry.path().filename().string()] = *read_file(entry.path());
        return all;
    }

    const fs::path folder = fs::path(testing::TempDir()) / ("audit_log_test_" + std::to_string(::getpid()));
    const fs::path path = folder / "audit.log";
    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    int next = 1;
};

TEST_F(AuditLogTest, OnlyItsOwnerReadsIt) {
    std::ofstream(path) << "old\n";
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    write({}, 1);
    EXPECT_EQ(*read_file(path), "old\nline 1\n");
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, KeepsSoManyFullFiles) {
    write({.most_bytes = 14, .most_backups = 2}, 9);
    const auto all = files();
    ASSERT_EQ(all.size(), 3u);
    std::string text;
    for (const auto& [name, lines] : all) {
        EXPECT_LE(lines.size(), 14u) << name;
        text += lines;
    }
    EXPECT_EQ(text, "line 5\nline 6\nline 7\nline 8\nline 9\n") << "the names sort as the times do";
}

TEST_F(AuditLogTest, ForgetsOldFiles) {
    write({.most_bytes = 7, .most_backups = 0, .oldest = std::chrono::days(1)}, 3);
    loop.advance(25h);
    write({.most_bytes = 7, .most_backups = 0, .oldest = std::chrono::days(1)}, 2);
    std::string text;
    for (const auto& [name, lines] : files()) text += lines;
    EXPECT_EQ(text, "line 3\nline 4\nline 5\n") << "its age counts from when it was full";
}

/// While it lives, no file grows beyond `bytes`, as on a full disk: a write is cut short, and the next one fails.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes) : before_(::signal(SIGXFSZ, SIG_IGN)) {
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &limits_), 0);
        rlimit full = limits_;
        full.rlim_cur = bytes;
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
    }
    ~FullDisk() {
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limits_), 0);
        ::signal(SIGXFSZ, before_);
    }

private:
    rlimit limits_{};
    sighandler_t before_;
};

TEST_F(AuditLogTest, AFullDiskLeavesNoPartOfALine) {
    RotatingFile file({.path = path});
    const RotatingFile::Time now{};
    ASSERT_TRUE(file.append("line 1\n", now));
    {
        const FullDisk full(17);
        EXPECT_EQ(file.append("line 2\nline 3\n", now).error().reason, Reason::Io);
        EXPECT_EQ(file.append("line 3\n", now).error().reason, Reason::Io);
    }
    ASSERT_TRUE(file.append("line 4\n", now));
    EXPECT_EQ(*read_file(path), "line 1\nline 2\nline 4\n");
}

TEST_F(AuditLogTest, DropsWhatASlowDiskDoesNotTake) {
    auto log = AuditLog::open({loop, pool, Logger(make_null_sink(), "test")}, {.path = path});
    ASSERT_TRUE(log);
    const std::string line(1 << 20, 'x');
    for (int i = 0; i < 100; ++i) (*log)->add(line);  // without a turn of the loop in between
    EXPECT_TRUE(sim::run(loop, (*log)->close()));
    const auto size = fs::file_size(path);
    EXPECT_GT(size, 14u << 20);
    EXPECT_LT(size, 18u << 20);
}

}  // namespace
}  // namespace porthole::apiserver
