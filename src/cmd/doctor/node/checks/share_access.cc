#include <algorithm>

#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {
namespace {

/// The first update of a build with which containers of containerd reach network shares as their group-managed service account.
/// Source: the Kubernetes task "Configure GMSA for Windows Pods and containers", and microsoft/Windows-Containers issue 44.
struct Repair {
    std::uint32_t build, update;
    const char* article;
};
constexpr Repair Repairs[] = {{17763, 1817, "KB5000822"}, {19041, 662, "KB4586853"}, {19042, 662, "KB4586853"}};

}  // namespace

/// A recommendation: only pods with such an account and a share notice.
void check_node_share_access(const NodeEvidence& evidence, Findings& findings) {
    const Item item{"", "pods can use group-managed service accounts for network shares"};
    if (!evidence.windows) return findings.not_applicable(item, "it is about Windows nodes");
    const auto repair = std::ranges::find(Repairs, evidence.windows_build, &Repair::build);
    if (repair == std::end(Repairs)) return findings.pass(item);
    if (evidence.windows_update == 0) return findings.not_applicable(item, "the installed updates of this machine are not known");
    const std::string build = std::to_string(repair->build) + ".";
    if (evidence.windows_update >= repair->update) return findings.pass(item);
    findings.warn(item,
                  "this is build " + build + std::to_string(evidence.windows_update) +
                      ", with which containerd's containers do not; it needs " + build + std::to_string(repair->update),
                  std::string("install the update ") + repair->article + ", or a later cumulative one, and restart the machine");
}

}  // namespace porthole::cmd::doctor
