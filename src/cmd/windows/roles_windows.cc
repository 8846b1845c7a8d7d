#include "cmd/windows/roles.h"

namespace porthole::cmd {
namespace {

constexpr SubCommand Roles[] = {
    {"kubelet", "run this node's pods", run_kubelet},
    {"kube-proxy", "make services reachable from this node", run_kube_proxy},
    {"win-bridge", "CNI plugin: pods on an L2 bridge", run_win_bridge},
    {"win-overlay", "CNI plugin: pods on a VXLAN overlay", run_win_overlay},
    {"wincni", "CNI plugin: the one of early SDN scripts", run_wincni},
    {"host-local", "CNI plugin: addresses of pods", run_host_local},
};

}  // namespace

std::span<const SubCommand> windows_roles() { return Roles; }

}  // namespace porthole::cmd
