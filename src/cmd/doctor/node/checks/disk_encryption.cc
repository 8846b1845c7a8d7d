#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {

/// A recommendation: a node works without it.
void check_node_disk_encryption(const NodeEvidence& evidence, Findings& findings) {
    const Item item{"", "the volume with the kubelet's files is encrypted"};
    if (!evidence.volume_encrypted) return findings.not_applicable(item, "unknown: " + evidence.encryption_unknown);
    if (*evidence.volume_encrypted) return findings.pass(item, evidence.volume);
    if (evidence.windows)
        return findings.warn(item, evidence.volume + " is not encrypted, and contains pods' Secrets in plain text",
                             "manage-bde.exe -on " + evidence.volume + ", after Install-WindowsFeature BitLocker");
    findings.warn(item, evidence.volume + " is not encrypted, and contains pods' data in plain text",
                  "move it to a LUKS volume (cryptsetup luksFormat)");
}

}  // namespace porthole::cmd::doctor
