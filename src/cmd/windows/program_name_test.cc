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

TEST(ProgramName, ChoosesTheRole) {
    constexpr SubCommand Roles[] = {{"kubelet", "", nullptr}, {"kube-proxy", "", nullptr}};
    EXPECT_EQ(find_role(Roles, "kube-proxy"), &Roles[1]);
    EXPECT_EQ(find_role(Roles, "kube"), nullptr);
}

}  // namespace
}  // namespace porthole::cmd
