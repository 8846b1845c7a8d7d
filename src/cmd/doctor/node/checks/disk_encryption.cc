#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {

/// A recommendation: a node works without it.
void check_node_disk_encryption(const NodeEvidence& evidence, Findings& findings) {
    const Item item{"", "the volume with the kubelet's files is encrypted"};
    if (!evidence.volume_encrypted) return findings.not_applicable(item, "it is not known: " + evidence.encryption_unknown);
    if (*evidence.volume_encrypted) return findings.pass(item, evidence.volume);
    if (evidence.windows)
        return findings.warn(item, evidence.volume + " is not, and Secrets of pods are on it in clear text",
                             "manage-bde.exe -on " + evidence.volume + ", after Install-WindowsFeature BitLocker");
    findings.warn(item, evidence.volume + " is not, and what pods write is on it in clear text",
                  "put it on a volume of LUKS, such as one that cryptsetup luksFormat makes");
}

}  // namespace porthole::cmd::doctor
