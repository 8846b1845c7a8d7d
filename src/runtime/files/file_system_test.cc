#include "runtime/files/file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole {
namespace {

/// The fake must behave as the real one does: both run the same tests.
class FileSystemTest : public testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        if (GetParam()) {
            char name[] = "/tmp/porthole-files-XXXXXX";
            root = ::mkdtemp(name);
            files = make_file_system();
        } else {
            root = "/data";
            files = std::make_unique<sim::MemoryFileSystem>(loop);
            ASSERT_TRUE(files->create_directories(root, 0755));
        }
    }
    void TearDown() override { ASSERT_TRUE(files->remove_all(root)); }
    std::string at(const std::string& name) { return root + "/" + name; }

    sim::SimLoop loop;
    std::string root;
    std::unique_ptr<FileSystem> files;
};

TEST_P(FileSystemTest, WritesReadsAndKeepsModes) {
    ASSERT_TRUE(files->create_directories(at("a/b"), 0750));
    ASSERT_TRUE(files->write(at("a/b/f"), "one", 0640));
    ASSERT_TRUE(files->write(at("a/b/f"), "second", 0600));
    EXPECT_EQ(files->read(at("a/b/f")).value(), "second");
    EXPECT_EQ(files->read_at(at("a/b/f"), 2, 3).value(), "con");
    EXPECT_EQ(files->read_at(at("a/b/f"), 9, 3).value(), "");
    EXPECT_EQ(files->status(at("a/b/f"))->mode, 0600u);
    EXPECT_EQ(files->status(at("a/b"))->mode, 0750u);
    EXPECT_EQ(files->status(at("a/b/f"))->size, 6u);
}

TEST_P(FileSystemTest, ReadsFilesOfEverySizeToTheirEndOrTheLimit) {
    for (const std::size_t size : {0u, 1u, 8191u, 8192u, 8193u, 300'000u}) {
        SCOPED_TRACE(size);
        std::string contents(size, '.');
        for (std::size_t at = 0; at < size; ++at) contents[at] = static_cast<char>('a' + at % 26);
        ASSERT_TRUE(files->write(at("f"), contents, 0600));
        EXPECT_TRUE(files->read(at("f")).value() == contents);
        EXPECT_TRUE(files->read_at(at("f"), 0, 9000).value() == contents.substr(0, 9000));
        if (size > 100) EXPECT_TRUE(files->read_at(at("f"), 100, size).value() == contents.substr(100));
    }
}

TEST_P(FileSystemTest, ReplacesContentsAndMode) {
    ASSERT_TRUE(files->create_directories(at("a"), 0700));
    ASSERT_TRUE(files->write(at("a/f"), "old and longer", 0644));
    ASSERT_TRUE(files->replace(at("a/f"), "new", 0600));
    EXPECT_EQ(files->read(at("a/f")).value(), "new");
    EXPECT_EQ(files->status(at("a/f"))->mode, 0600u);
    EXPECT_EQ(files->list(at("a")).value(), std::vector<std::string>{"f"});
}

TEST_P(FileSystemTest, FailuresAreNamedByReason) {
    ASSERT_TRUE(files->write(at("f"), "x", 0644));
    EXPECT_EQ(files->read(at("none")).error().reason, Reason::NotFound);
    EXPECT_EQ(files->write(at("none/f"), "x", 0644).error().reason, Reason::NotFound);
    EXPECT_EQ(files->list(at("f")).error().reason, Reason::NotFound);
    EXPECT_EQ(files->create_directories(at("f"), 0755).error().reason, Reason::NotFound);
    EXPECT_EQ(files->create_symlink("x", at("f")).error().reason, Reason::AlreadyExists);
    EXPECT_EQ(files->read(at("f"), 0).error().reason, Reason::RequestEntityTooLarge);
    EXPECT_FALSE(files->remove(root));
}

TEST_P(FileSystemTest, LinksAreFollowedOrNot) {
    ASSERT_TRUE(files->create_directories(at("v1"), 0755));
    ASSERT_TRUE(files->write(at("v1/key"), "one", 0644));
    ASSERT_TRUE(files->create_symlink("v1", at("current")));
    EXPECT_EQ(files->read(at("current/key")).value(), "one");
    EXPECT_EQ(files->link_status(at("current"))->type, FileType::Symlink);
    EXPECT_TRUE(files->status(at("current"))->is_directory());
    EXPECT_EQ(files->read_link(at("current")).value(), "v1");
    EXPECT_EQ(files->real_path(at("current/key")).value(), at("v1/key"));

    ASSERT_TRUE(files->create_directories(at("v2"), 0755));
    ASSERT_TRUE(files->write(at("v2/key"), "two", 0644));
    ASSERT_TRUE(files->create_symlink("v2", at("next")));
    ASSERT_TRUE(files->rename(at("next"), at("current")));
    EXPECT_EQ(files->read(at("current/key")).value(), "two");
}

TEST_P(FileSystemTest, ListsInOrderAndRemovesTreesButNotThroughLinks) {
    ASSERT_TRUE(files->create_directories(at("keep"), 0755));
    ASSERT_TRUE(files->write(at("keep/f"), "x", 0644));
    ASSERT_TRUE(files->create_directories(at("d/e"), 0755));
    ASSERT_TRUE(files->write(at("d/b"), "x", 0644));
    ASSERT_TRUE(files->write(at("d/a"), "x", 0644));
    ASSERT_TRUE(files->create_symlink(at("keep"), at("d/link")));
    EXPECT_EQ(files->list(at("d")).value(), (std::vector<std::string>{"a", "b", "e", "link"}));
    ASSERT_TRUE(files->remove_all(at("d")));
    ASSERT_TRUE(files->remove_all(at("d")));
    EXPECT_FALSE(files->exists(at("d")));
    EXPECT_TRUE(files->exists(at("keep/f")));
}

TEST(LinuxFileSystem, RemovesATreeThatIsDeeperThanAnyPath) {
    char name[] = "/tmp/porthole-files-XXXXXX";
    const std::string root = ::mkdtemp(name), step(200, 'd');
    const auto files = make_file_system();
    ASSERT_TRUE(files->create_directories(root + "/t/.removed-1/x", 0755));
    int folder = ::open((root + "/t").c_str(), O_RDONLY | O_DIRECTORY);
    for (int level = 0; level < 300; ++level) {
        ASSERT_EQ(::mkdirat(folder, step.c_str(), 0755), 0);
        const int below = ::openat(folder, step.c_str(), O_RDONLY | O_DIRECTORY);
        ::close(folder);
        folder = below;
        ::close(::openat(folder, "file", O_CREAT | O_WRONLY, 0644));
    }
    ::close(folder);
    const auto removed = files->remove_all(root + "/t");
    EXPECT_TRUE(removed) << removed.error().message;
    EXPECT_FALSE(files->exists(root + "/t"));
    EXPECT_TRUE(files->remove_all(root));
}

TEST_P(FileSystemTest, SharesATreeWithAGroupButNotWhatItsLinksNameElsewhere) {
    ASSERT_TRUE(files->create_directories(at("t/below"), 0700));
    ASSERT_TRUE(files->write(at("t/below/f"), "x", 0400));
    ASSERT_TRUE(files->write(at("outside"), "x", 0600));
    ASSERT_TRUE(files->create_symlink(at("outside"), at("t/link")));
    const std::uint32_t before = files->status(at("outside"))->gid;
    ASSERT_TRUE(files->share_with_group(at("t"), 2000));
    EXPECT_EQ(files->status(at("t/below"))->mode, 02770u);
    EXPECT_EQ(files->status(at("t/below/f"))->mode, 0660u);
    EXPECT_EQ(files->status(at("t/below/f"))->gid, 2000u);
    EXPECT_EQ(files->status(at("outside"))->mode, 0600u);
    EXPECT_EQ(files->status(at("outside"))->gid, before);
    EXPECT_EQ(files->share_with_group(at("none"), 2000).error().reason, Reason::NotFound);
}

TEST_P(FileSystemTest, TellsWhatATreeTakes) {
    ASSERT_TRUE(files->create_directories(at("t/below"), 0755));
    ASSERT_TRUE(files->write(at("t/below/f"), std::string(100'000, 'x'), 0644));
    ASSERT_TRUE(files->create_symlink(root, at("t/out")));
    ASSERT_TRUE(files->write(at("outside"), std::string(1'000'000, 'x'), 0644));
    const auto used = files->tree_usage(at("t"));
    ASSERT_TRUE(used);
    EXPECT_GE(used->bytes, 100'000u);
    EXPECT_LT(used->bytes, 200'000u) << "links are not followed";
    EXPECT_EQ(used->inodes, 4u);
    EXPECT_EQ(files->tree_usage(at("none")).error().reason, Reason::NotFound);
}

TEST_P(FileSystemTest, ReadsWhatContainersWroteOnlyFromRegularFiles) {
    ASSERT_TRUE(files->write(at("secret"), "hidden", 0600));
    ASSERT_TRUE(files->write(at("message"), "all is well", 0644));
    ASSERT_TRUE(files->create_symlink(at("secret"), at("link")));
    ASSERT_TRUE(files->create_directories(at("folder"), 0755));
    EXPECT_EQ(files->read_untrusted(at("message"), 4, 100).value(), "is well");
    EXPECT_EQ(files->read_untrusted(at("message"), 0, 3).value(), "all");
    EXPECT_EQ(files->read_untrusted(at("link"), 0, 100).error().reason, Reason::Forbidden);
    EXPECT_EQ(files->read_untrusted(at("folder"), 0, 100).error().reason, Reason::Forbidden);
    EXPECT_EQ(files->read_untrusted(at("nothing"), 0, 100).error().reason, Reason::NotFound);
}

INSTANTIATE_TEST_SUITE_P(RealAndMemory, FileSystemTest, testing::Bool(), [](const auto& info) { return info.param ? "Linux" : "Memory"; });

TEST(LinuxFileSystem, DoesNotFollowATreeDownForEver) {
    char name[] = "/tmp/porthole-deep-XXXXXX";
    const std::string root = ::mkdtemp(name);
    int at = ::open(root.c_str(), O_RDONLY | O_DIRECTORY);
    for (int depth = 0; depth < 3000; ++depth) {
        ASSERT_EQ(::mkdirat(at, "d", 0700), 0);
        const int below = ::openat(at, "d", O_RDONLY | O_DIRECTORY);
        ::close(at);
        at = below;
    }
    ::close(at);
    EXPECT_FALSE(make_file_system()->share_with_group(root, 2000));
    EXPECT_TRUE(make_file_system()->exists(root));
    EXPECT_EQ(::system(("rm -r " + root).c_str()), 0);
}

TEST(LinuxFileSystem, CountsWhatIsDeeperThanAPath) {
    char name[] = "/tmp/porthole-deep-XXXXXX";
    const std::string root = ::mkdtemp(name);
    constexpr int Levels = 150, Beside = 3;
    const std::string bytes(100'000, 'x'), level(60, 'd');
    int at = ::open(root.c_str(), O_RDONLY | O_DIRECTORY);
    for (int depth = 0; depth < Levels; ++depth) {
        for (int i = 0; i < Beside; ++i) ASSERT_EQ(::mkdirat(at, ("beside-" + std::to_string(i)).c_str(), 0700), 0);
        ASSERT_EQ(::mkdirat(at, level.c_str(), 0700), 0);
        const int below = ::openat(at, level.c_str(), O_RDONLY | O_DIRECTORY);
        ::close(at);
        at = below;
    }
    const int file = ::openat(at, "f", O_WRONLY | O_CREAT, 0600);
    EXPECT_EQ(::write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(file);
    ::close(at);
    const auto files = make_file_system();
    const auto used = files->tree_usage(root);
    ASSERT_TRUE(used);
    EXPECT_GE(used->bytes, bytes.size());
    EXPECT_EQ(used->inodes, 2u + Levels * (1 + Beside)) << "each level is gone on with where it was left";
    ASSERT_TRUE(files->remove_all(root));
}

TEST(LinuxFileSystem, CountsAFileOfManyNamesOnce) {
    char name[] = "/tmp/porthole-names-XXXXXX";
    const std::string root = ::mkdtemp(name);
    const auto files = make_file_system();
    ASSERT_TRUE(files->write(root + "/f", std::string(100'000, 'x'), 0644));
    for (int i = 0; i < 999; ++i) ASSERT_EQ(::link((root + "/f").c_str(), (root + "/" + std::to_string(i)).c_str()), 0);
    const auto used = files->tree_usage(root);
    ASSERT_TRUE(used);
    EXPECT_GE(used->bytes, 100'000u);
    EXPECT_LT(used->bytes, 300'000u);
    EXPECT_EQ(used->inodes, 2u);
    ASSERT_TRUE(files->remove_all(root));
}

TEST(LinuxFileSystem, DoesNotWaitAtPipes) {
    char name[] = "/tmp/porthole-pipe-XXXXXX";
    const std::string root = ::mkdtemp(name), pipe = root + "/pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
    const auto files = make_file_system();
    EXPECT_EQ(files->read_untrusted(pipe, 0, 10).error().reason, Reason::Forbidden);
    EXPECT_FALSE(files->read_at(pipe, 0, 10));
    EXPECT_FALSE(files->write(pipe, "x", 0644));
    ASSERT_TRUE(files->remove_all(root));
}

TEST(LinuxFileSystem, GivesUpWhereNoDirectoryCanBeMade) {
    const auto files = make_file_system();
    const auto made = files->create_directories("/proc/none/below", 0755);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().reason, Reason::NotFound) << made.error().message;
}

TEST(FilePath, JoinsAndSplits) {
    EXPECT_EQ(join_path("/a", "b"), "/a/b");
    EXPECT_EQ(join_path("/a/", "/b/c"), "/a/b/c");
    EXPECT_EQ(join_path("/a", ""), "/a");
    EXPECT_EQ(parent_path("/a/b"), "/a");
    EXPECT_EQ(parent_path("/a"), "/");
    EXPECT_EQ(parent_path("/"), "/");
    EXPECT_EQ(base_name("/a/b"), "b");
}

}  // namespace
}  // namespace porthole
