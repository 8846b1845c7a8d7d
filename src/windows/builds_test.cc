#include "windows/builds.h"

#include <gtest/gtest.h>

namespace porthole::windows {
namespace {

// IMG-03
TEST(WindowsBuilds, TheListedOnesAreKnownWhateverTheirUpdate) {
    for (const char* version : {"10.0.17763", "10.0.17763.6659", "10.0.19041", "10.0.19042.1", "10.0.20348", "10.0.26100.2605", ""})
        EXPECT_EQ(unknown_build(version), "") << version;
}

// IMG-03
TEST(WindowsBuilds, OthersAreNamedWithTheListedOnes) {
    EXPECT_EQ(unknown_build("10.0.19045"),
              "Windows build 10.0.19045 is not one that nodes are known to run on: 17763 (Windows Server 2019), 19041 (Windows Server, "
              "version 2004), 19042 (Windows Server, version 20H2), 20348 (Windows Server 2022), 26100 (Windows Server 2025)");
    for (const char* odd : {"10.0", "10", "windows", "10.0.x", "."}) EXPECT_NE(unknown_build(odd), "") << odd;
}

TEST(WindowsBuilds, BeforeVersion1803TheFilesOfObjectsDoNotWork) {  // STO-28
    for (const char* version : {"", "10.0", "windows", "10.0.17134", "10.0.20348.1"})
        EXPECT_EQ(object_volumes_refusal(version), "") << version;
    for (const char* version : {"10.0.14393", "10.0.17133.1"}) EXPECT_NE(object_volumes_refusal(version), "") << version;
}

}  // namespace
}  // namespace porthole::windows
