#include "winhost/template/wine_template.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "runtime/processes/process.h"
#include "runtime/run_task.h"

namespace porthole::winhost {
namespace {

// Builds the real template if this machine has none yet. Needs root and Wine.
TEST(WineTemplate, HasWhatAContainerNeedsAndNoWayToADesktop) {
    if (::geteuid() != 0 || ::access("/usr/lib/wine/wine64", X_OK) != 0) GTEST_SKIP() << "needs root and wine64";
    AsioLoop loop;
    const auto pool = make_thread_pool(4);
    const auto processes = make_process_runner(*pool);
    const auto files = make_file_system();
    const auto progress = [](const std::string& step) { std::printf("  %s\n", step.c_str()); };
    const auto made = run_task(loop, ensure_wine_template({loop, *processes, *files, *pool, progress}, default_cache_folder()));
    ASSERT_TRUE(made) << made.error().message;
    const std::string root = join_path(made->folder, "root");
    const std::string drive = join_path(root, "wine/drive_c");
    EXPECT_TRUE(files->exists(join_path(drive, "windows/system32/kernel32.dll")));
    EXPECT_TRUE(files->exists(join_path(drive, "windows/system32/wine_ws2_32.dll"))) << "ours stands in front of it";
    EXPECT_FALSE(files->exists(join_path(root, "usr/lib/x86_64-linux-gnu/wine/x86_64-windows/ws2_32.dll")))
        << "Wine would prefer it to ours";
    EXPECT_TRUE(files->exists(join_path(made->folder, "profile-2025/wine/system.reg")));
    EXPECT_TRUE(files->exists(join_path(made->contained_user(), "wine/drive_c/users/ContainerUser")));
    EXPECT_FALSE(files->exists(join_path(root, "wine/dosdevices/z:"))) << "a program would see all of Linux";
    EXPECT_FALSE(files->exists(join_path(drive, "windows/system32/explorer.exe")));
    EXPECT_FALSE(files->exists(join_path(root, "usr/lib/x86_64-linux-gnu/wine/x86_64-windows/explorer.exe")));
    EXPECT_EQ(files->status(join_path(drive, "windows/system32/kernel32.dll"))->inode,
              files->status(join_path(root, "usr/lib/x86_64-linux-gnu/wine/x86_64-windows/kernel32.dll"))->inode);
}

}  // namespace
}  // namespace porthole::winhost
