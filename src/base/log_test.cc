#include "base/log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace porthole {
namespace {

namespace fs = std::filesystem;

class FileLog : public ::testing::Test {
protected:
    void SetUp() override {
        folder = fs::temp_directory_path() / ("porthole-log-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
        fs::remove_all(folder);
        fs::create_directories(folder);
    }
    void TearDown() override { fs::remove_all(folder); }

    std::string read(const std::string& name) const {
        std::ifstream file(folder / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    Logger open(std::size_t limit) const {
        return Logger(make_file_sink((folder / "kubelet.log").string(), LogLevel::Info, limit), "kubelet");
    }

    fs::path folder;
};

// KBL-26
TEST_F(FileLog, CanBeReadWhileItIsWritten) {
    const Logger log = open(1 << 20);
    log.info("pod bound", {{"pod", "a/b"}, {"node", "two words"}});
    EXPECT_NE(read("kubelet.log").find(" I kubelet: pod bound pod=a/b node=\"two words\""), std::string::npos);
    log.debug("not wanted");
    log.warn("second");
    EXPECT_NE(read("kubelet.log").find(" W kubelet: second"), std::string::npos);
    EXPECT_EQ(read("kubelet.log").find("not wanted"), std::string::npos);
}

// KBL-26
TEST_F(FileLog, KeepsThreeOldFilesAndLosesNoLineBetweenThem) {
    const Logger log = open(400);
    for (int i = 0; i < 100; ++i) log.info("line", {{"number", i}});
    std::string all;
    for (const char* name : {"kubelet.3.log", "kubelet.2.log", "kubelet.1.log", "kubelet.log"}) {
        EXPECT_LE(fs::file_size(folder / name), 400u) << name;
        all += read(name);
    }
    EXPECT_FALSE(fs::exists(folder / "kubelet.4.log"));
    for (int i = 80; i < 100; ++i) EXPECT_NE(all.find("number=" + std::to_string(i)), std::string::npos) << i;
}

TEST_F(FileLog, AValueSaysNothingToATerminal) {
    const struct {
        const char *value, *written;
    } rows[] = {
        {"plain-1.2/ä", "v=plain-1.2/ä\n"},
        {"", "v=\"\"\n"},
        {"two\nlines", "v=\"two\\nlines\"\n"},
        {"over\rwritten", "v=\"over\\x0dwritten\"\n"},
        {"\x1b[2J", "v=\"\\x1b[2J\"\n"},
        {"\xc2\x9b"
         "2J",
         "v=\"\\x9b2J\"\n"},
        {"\x7f", "v=\"\\x7f\"\n"},
        {"a\\\"b", "v=\"a\\\\\\\"b\"\n"},
    };
    for (const auto& row : rows) open(1 << 20).info("told", {{"v", row.value}});
    std::string rest = read("kubelet.log");
    std::erase(rest, '\r');  // lines of Windows
    for (const auto& row : rows) {
        const std::size_t start = rest.find(" told ") + 6, end = rest.find('\n', start) + 1;
        EXPECT_EQ(rest.substr(start, end - start), row.written);
        rest.erase(0, end);
    }
}

// KBL-26
TEST_F(FileLog, GoesOnWhereTheLastRunEnded) {
    open(1 << 20).info("first run");
    open(1 << 20).info("second run");
    EXPECT_LT(read("kubelet.log").find("first run"), read("kubelet.log").find("second run"));
}

}  // namespace
}  // namespace porthole
