#include "winhost/host/program_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ProgramFiles : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "program-files-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
        fs::create_directories(programs());
        fs::create_directories(root_ / "drive");
    }
    void TearDown() override { fs::remove_all(root_); }

    fs::path programs() const { return root_ / "programs"; }
    fs::path placed(const char* name) const { return root_ / "drive" / name; }
    void write(const char* name, const char* text, fs::file_time_type time) {
        std::ofstream(programs() / name) << text;
        fs::last_write_time(programs() / name, time);
    }
    std::string read(const char* name) const {
        std::ostringstream text;
        text << std::ifstream(placed(name)).rdbuf();
        return text.str();
    }
    void place() { ASSERT_TRUE(place_program_files(programs().string(), root_.string(), "drive").has_value()); }

    fs::path root_;
    const fs::file_time_type now_ = fs::file_time_type::clock::now();
};

TEST_F(ProgramFiles, PlacesEachKindInItsFolder) {
    write("kubelet.exe", "one", now_);
    write("win-bridge.exe", "two", now_);
    write("vmcompute.dll", "three", now_);
    write("README.txt", "no program", now_);
    place();
    EXPECT_EQ(read("k/kubelet.exe"), "one");
    EXPECT_EQ(read("k/cni/win-bridge.exe"), "two");
    EXPECT_EQ(read("windows/system32/vmcompute.dll"), "three");
    EXPECT_FALSE(fs::exists(placed("k/README.txt")));
}

TEST_F(ProgramFiles, LinksOfOneProgramStayOneFile) {
    write("porthole.exe", "all", now_);
    fs::create_symlink("porthole.exe", programs() / "kubelet.exe");
    place();
    EXPECT_TRUE(fs::equivalent(placed("k/kubelet.exe"), placed("k/porthole.exe")));
}

TEST_F(ProgramFiles, AnUpgradeReplacesAProgramOfTheSameSizeWhoseFileIsOlderThanTheCopy) {
    write("kubelet.exe", "version 1", now_ - 48h);
    place();
    write("kubelet.exe", "version 2", now_ - 24h);
    place();
    EXPECT_EQ(read("k/kubelet.exe"), "version 2");
}

TEST_F(ProgramFiles, WhatIsUnchangedIsLeftAlone) {
    write("kubelet.exe", "version 1", now_ - 48h);
    place();
    std::ofstream(placed("k/kubelet.exe")) << "in use..";
    std::ofstream(placed("k/kubelet.exe"), std::ios::app) << ".";
    fs::last_write_time(placed("k/kubelet.exe"), now_ - 48h);
    place();
    EXPECT_EQ(read("k/kubelet.exe"), "in use...");
}

TEST_F(ProgramFiles, GoNowhereThroughALinkOnTheDrive) {
    write("kubelet.exe", "one", now_);
    fs::create_directories(root_ / "machine");
    fs::create_directory_symlink(root_ / "machine", root_ / "drive/k");
    EXPECT_EQ(place_program_files(programs().string(), root_.string(), "drive").error().reason, Reason::Forbidden);
    EXPECT_TRUE(fs::is_empty(root_ / "machine"));
    fs::remove(root_ / "drive/k");
    fs::create_directories(root_ / "drive/k");
    fs::create_symlink(root_ / "machine/kubelet.exe", root_ / "drive/k/kubelet.exe");
    place();
    EXPECT_TRUE(fs::is_empty(root_ / "machine"));
    EXPECT_EQ(read("k/kubelet.exe"), "one");
}

}  // namespace
}  // namespace porthole::winhost
