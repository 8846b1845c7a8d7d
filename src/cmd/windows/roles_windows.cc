#include "cmd/windows/roles.h"

namespace porthole::cmd {
namespace {

constexpr SubCommand Roles[] = {
    {"join", "make this machine a node of a cluster", run_join},
    {"leave", "undo join", run_reset},
    {"reset", nullptr, run_reset},
    {"install", "put the programs into their folder", run_install},
    {"register", "register services for a kubeconfig that is there", run_register},
    {"start", "start the node's programs without services", run_start},
    {"kubeadm", "join and reset as kubeadm spells them", run_kubeadm},
    {"kubelet", "run this node's pods", run_kubelet},
    {"kube-proxy", "make services reachable from this node", run_kube_proxy},
    {"flanneld", "maintain this node's pod network and the routes to other nodes' pods", run_flanneld},
    {"hns", "list the objects of this host's network service", run_hns},
    {"win-bridge", "CNI plugin: pods on an L2 bridge", run_win_bridge},
    {"win-overlay", "CNI plugin: pods on a VXLAN overlay", run_win_overlay},
    {"wincni", "CNI plugin: the one of early SDN scripts", run_wincni},
    {"flannel", "CNI plugin: one of the others, with the range that flanneld has for this node", run_flannel},
    {"host-local", "CNI plugin: addresses of pods", run_host_local},
};

}  // namespace

std::span<const SubCommand> windows_roles() { return Roles; }

}  // namespace porthole::cmd
