#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {
namespace {

constexpr int LeastMtu = 1280;         // of IPv6, and of what a VPN leaves
constexpr int EncapsulatedMtu = 1500;  // of a pod's packet of 1450 bytes in VXLAN

std::string set_mtu(const NodeEvidence& evidence, const std::string& adapter, int mtu) {
    return evidence.windows ? "netsh interface ipv4 set subinterface \"" + adapter + "\" mtu=" + std::to_string(mtu) + " store=persistent"
                            : "ip link set " + adapter + " mtu " + std::to_string(mtu);
}

}  // namespace

void check_node_mtu(const NodeEvidence& evidence, Findings& findings) {
    const Item item{"", "packets of pods fit the MTU of the node's adapter"};
    if (!evidence.mtu) return findings.not_applicable(item, "no adapter has the node's address");
    const std::string own = evidence.adapter + " takes " + std::to_string(*evidence.mtu) + " bytes";
    if (*evidence.mtu < LeastMtu)
        return findings.fail(item, own, "use another adapter, or " + set_mtu(evidence, evidence.adapter, EncapsulatedMtu));
    if (evidence.overlay && *evidence.mtu < EncapsulatedMtu)
        return findings.fail(item, own + ", and an encapsulated packet of a pod has up to " + std::to_string(EncapsulatedMtu),
                             set_mtu(evidence, evidence.adapter, EncapsulatedMtu));
    if (evidence.pod_mtu && *evidence.pod_mtu > *evidence.mtu) {
        const std::string leg = evidence.windows ? "vEthernet (" + evidence.pod_network + "_ep)" : evidence.pod_network;
        return findings.fail(item, own + ", and packets of the pod network have up to " + std::to_string(*evidence.pod_mtu),
                             set_mtu(evidence, leg, *evidence.mtu));
    }
    findings.pass(item, own);
}

}  // namespace porthole::cmd::doctor
