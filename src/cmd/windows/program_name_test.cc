#include <gtest/gtest.h>

#include "cmd/windows/roles.h"

namespace porthole::cmd {
namespace {

TEST(ProgramName, IsTheLastPartOfAPathWithoutItsSuffix) {
    struct {
        const char *path, *name;
    } const rows[] = {
        {"kubelet", "kubelet"},
        {"kubelet.exe", "kubelet"},
        {R"(C:\k\Kube-Proxy.EXE)", "kube-proxy"},
        {R"(C:win-bridge.exe)", "win-bridge"},
        {"C:/k/host-local.exe", "host-local"},
        {R"(C:\Program Files\Porthole\porthole.exe)", "porthole"},
        {"", ""},
    };
    for (const auto& row : rows) EXPECT_EQ(program_name(row.path), row.name);
}

}  // namespace
}  // namespace porthole::cmd
