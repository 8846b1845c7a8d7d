#include "cmd/windows/roles.h"

namespace porthole::cmd {
namespace {

constexpr SubCommand Roles[] = {
    {"kubelet", "run this node's pods", run_kubelet},
};

}  // namespace

std::span<const SubCommand> windows_roles() { return Roles; }

}  // namespace porthole::cmd
