#include "windows/rules.h"

namespace porthole::windows {
namespace {

using enum Outcome;

constexpr Rule PlatformRules[] = {
    {"WIN421", "spec.ports[*].nodePort", Reproduced, "", "a Windows node does not reach a node port at its own address",
     "test from another machine or from a pod"},
    {"WIN422", "spec.clusterIP", Reproduced, "", "programs of a Windows host do not reach services, its pods do", "test from a pod"},
    {"WIN423", "status.podIP", Reproduced, "",
     "Windows does not translate ICMP: pings that leave the pods' network are dropped, TCP and UDP are not", "test by TCP"},
    {"WIN424", "status.podIP", Reproduced, "",
     "on an overlay a node reaches only its own Windows pods, and a Windows node only its own pods", "test from a pod", "1.20",
     Maturity::Beta},
    {"WIN425", "spec.dnsPolicy", Reproduced, "", "Windows completes only names without a dot, and those by the first suffix of the pod",
     "write the bare name within a namespace, and the full name across namespaces"},
    {"WIN521", "evictionSoft", Ignored, "", "soft eviction is not performed on Windows", "remove it from the kubelet's configuration"},
};

}  // namespace

std::span<const Rule> platform_rules() { return PlatformRules; }

}  // namespace porthole::windows
