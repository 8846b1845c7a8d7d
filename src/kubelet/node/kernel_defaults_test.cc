#include "kubelet/node/kernel_defaults.h"

#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

TEST(KernelDefaults, NameTheFirstSettingThatDiffers) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    const auto set = [&](const std::string& name, const char* value) {
        ASSERT_TRUE(files.create_directories(parent_path("/proc/sys/" + name), 0755));
        ASSERT_TRUE(files.write("/proc/sys/" + name, std::string(value) + "\n", 0644));
    };
    set("vm/overcommit_memory", "1");
    set("vm/panic_on_oom", "0");
    set("kernel/panic", "0");
    set("kernel/panic_on_oops", "1");
    set("kernel/keys/root_maxkeys", "1000000");
    set("kernel/keys/root_maxbytes", "25000000");
    const auto refused = check_kernel_defaults(files);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.starts_with("invalid kernel flag: kernel/panic, expected value: 10, actual value: 0"))
        << refused.error().message;
    set("kernel/panic", "10");
    EXPECT_TRUE(check_kernel_defaults(files));
}

}  // namespace
}  // namespace porthole::kubelet
