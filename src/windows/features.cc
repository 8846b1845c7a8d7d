#include "windows/features.h"

#include "windows/builds.h"

namespace porthole::windows {
namespace {

using enum Maturity;

constexpr std::uint32_t FirstBuildWithDualStack = 19041;

constexpr FeatureSupport Features[] = {
    {"Windows nodes and containers", Stable, "1.14", OldestBuild, "process isolation; the image has to be for the node's build"},
    {"several containers in a pod", Stable, "1.14", OldestBuild, "one network namespace, with one address"},
    {"containerd", Stable, "1.20", OldestBuild, "1.4 or later; mounts of single files and grace periods need it"},
    {"`spec.os`", Stable, "1.25", OldestBuild, "does not choose the node: the node selector does"},
    {"`windowsOptions.runAsUserName`", Stable, "1.18", OldestBuild, "for the pod or for a container"},
    {"`windowsOptions.gmsaCredentialSpec`", Stable, "1.18", OldestBuild, "handed on to the runtime"},
    {"`windowsOptions.gmsaCredentialSpecName`", Stable, "1.18", OldestBuild,
     "filled in from a GMSACredentialSpec that the service account may `use`"},
    {"`windowsOptions.hostProcess`", Stable, "1.26", OldestBuild, "with `hostNetwork`; needs containerd 1.6 or later"},
    {"named pipes of the host as volumes", Stable, "1.14", OldestBuild, "`hostPath` without a type"},
    {"sub-paths of volumes", Alpha, "1.14", OldestBuild, "the kubelet's gate `WindowsSubPath`, off by default"},
    {"l2bridge pod network", Stable, "1.14", OldestBuild, "`host-gw` between nodes"},
    {"IPv4 and IPv6 in an l2bridge pod network", Stable, "1.23", FirstBuildWithDualStack,
     "in a network that you create by other means, with a range of each family for `win-bridge`. Porthole's own networks are IPv4: two "
     "ranges in `--cluster-cidr` are refused with \"dual-stack clusters are not supported; give one range of IPv4\""},
    {"overlay pod network", Beta, "1.20", OldestBuild, "VXLAN with VNI 4096 and port 4789; IPv4 only; the proxy's gate `WinOverlay`"},
    {"session affinity of services", Stable, "1.20", FirstBuildWithAffinity, "ignored on older builds, with an event"},
};

}  // namespace

std::span<const FeatureSupport> features() { return Features; }

}  // namespace porthole::windows
