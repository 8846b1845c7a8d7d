#include "cmd/windows/roles.h"

namespace porthole::cmd {
namespace {

constexpr SubCommand Roles[] = {
    {"join", "make this machine a node of a cluster", run_join},
    {"leave", "undo join", run_reset},
    {"reset", nullptr, run_reset},
    {"install", "install the programs into their directory", run_install},
    {"register", "register services for an existing kubeconfig", run_register},
    {"start", "start the node's programs without services", run_start},
    {"kubeadm", "join and reset as kubeadm spells them", run_kubeadm},
    {"kubelet", "run this node's pods", run_kubelet},
    {"kube-proxy", "make services reachable from this node", run_kube_proxy},
    {"flanneld", "maintain this node's pod network and the routes to other nodes' pods", run_flanneld},
    {"hns", "list the objects of this host's network service", run_hns},
    {"win-bridge", "CNI plugin: pods on an L2 bridge", run_win_bridge},
    {"win-overlay", "CNI plugin: pods on a VXLAN overlay", run_win_overlay},
    {"wincni", "CNI plugin: wincni, as early SDN scripts use it", run_wincni},
    {"flannel", "CNI meta plugin: calls another one with the range from flanneld", run_flannel},
    {"host-local", "CNI plugin: addresses of pods", run_host_local},
};

}  // namespace

std::span<const SubCommand> windows_roles() { return Roles; }

}  // namespace porthole::cmd
