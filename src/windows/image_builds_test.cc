#include "windows/image_builds.h"

#include <gtest/gtest.h>

namespace porthole::windows {
namespace {

// IMG-05
TEST(ImageBuilds, TagsSayTheBuild) {
    struct {
        const char* image;
        bool windows;
        std::uint32_t build;
    } const rows[] = {
        {"mcr.microsoft.com/windows/nanoserver:ltsc2022", true, 20348},
        {"mcr.microsoft.com/windows/servercore:1809-amd64", true, 17763},
        {"mcr.microsoft.com/windows/nanoserver:10.0.17763.5936-amd64", true, 17763},
        {"mcr.microsoft.com/windows/nanoserver", true, 0},
        {"mcr.microsoft.com/dotnet/framework/aspnet:4.8-windowsservercore-ltsc2019", true, 17763},
        {"registry:5000/team/app:1.2-nanoserver-20H2", true, 19042},
        {"docker.io/microsoft/windowsservercore:1709", true, 16299},
        {"microsoft/iis", true, 0},
        {"app:ltsc2019-ltsc2022", true, 0},
        {"mcr.microsoft.com/windows/servercore@sha256:00", true, 0},
        {"nginx:1809", false, 0},
        {"registry:1803/windows-exporter", false, 0},
        {"golang:1.22-windowsservercore-1.1803.2", true, 0},
        {"", false, 0},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.image);
        EXPECT_EQ(is_windows_image(row.image), row.windows);
        EXPECT_EQ(build_of_image(row.image), row.build);
    }
}

}  // namespace
}  // namespace porthole::windows
