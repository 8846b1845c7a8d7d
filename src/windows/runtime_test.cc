#include "windows/runtime.h"

#include <gtest/gtest.h>

namespace porthole::windows {
namespace {

TEST(WindowsRuntime, IsReadAsNodesReportIt) {
    const struct {
        const char *text, *name;
        std::uint32_t major, minor;
    } rows[] = {
        {"containerd://1.6.20~ds1", "containerd", 1, 6},
        {"docker://20.10.9", "docker", 20, 10},
        {"porthole-wine://0.1.0+wine-10.0", "porthole-wine", 0, 1},
        {"docker", "docker", 0, 0},
        {"containerd://unknown", "containerd", 0, 0},
        {"containerd://2", "containerd", 0, 0},
        {"containerd://99999999999.1", "containerd", 0, 0},
        {"", "", 0, 0},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.text);
        const Runtime found = runtime_of(row.text);
        EXPECT_EQ(found.name, row.name);
        EXPECT_EQ(found.major, row.major);
        EXPECT_EQ(found.minor, row.minor);
    }
}

// EMU-12
TEST(WindowsRuntime, OfAnEmulatedHostTellsItsWine) {
    EXPECT_EQ(wine_version_of("porthole-wine://0.1.0+wine-10.0"), "10.0");
    for (const char* other : {"", "porthole-wine", "porthole-wine://0.1.0", "containerd://1.6.20", "containerd://1.7.0+wine-10.0"})
        EXPECT_EQ(wine_version_of(other), "") << other;
}

// SEC-11, LIM-24, POD-18
TEST(WindowsRuntime, CanDoWhatItsVersionCan) {
    const struct {
        const char* text;
        bool host_processes, files, grace_periods;
    } rows[] = {
        {"containerd://1.5.18", false, true, true}, {"containerd://1.6.0", true, true, true}, {"containerd://2.0.1", true, true, true},
        {"containerd", true, true, true},           {"docker://24.0.1", false, false, false}, {"", true, true, true},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.text);
        const Runtime runtime = runtime_of(row.text);
        EXPECT_EQ(runs_host_processes(runtime), row.host_processes);
        EXPECT_EQ(mounts_files(runtime), row.files);
        EXPECT_EQ(keeps_grace_periods(runtime), row.grace_periods);
    }
}

}  // namespace
}  // namespace porthole::windows
