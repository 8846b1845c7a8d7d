#pragma once  // for tests on Linux
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "runtime/files/mounts.h"

namespace porthole {

/// Tests with a temporary directory and their own mount namespace, which end with the test. Skipped if this user may not create one.
struct OwnMountsTest : testing::Test {
    OwnMountsTest() {
        private_ = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
        char name[] = "/tmp/porthole-mounts-XXXXXX";
        folder = std::filesystem::canonical(::mkdtemp(name)).string();
    }
    void SetUp() override {
        if (!private_) GTEST_SKIP() << "needs the right to make a mount namespace";
    }
    ~OwnMountsTest() override {
        if (private_) EXPECT_TRUE(unmount_below(folder));
        std::filesystem::remove_all(folder);
    }

    std::string place(const char* name) const { return folder + "/" + name; }

    static std::uint32_t owner(const std::string& path) {
        struct stat there{};
        EXPECT_EQ(::lstat(path.c_str(), &there), 0) << path;
        return there.st_uid;
    }

    std::string folder;

private:
    bool private_ = false;
};

}  // namespace porthole
