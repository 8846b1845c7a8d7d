#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {

void check_pod_security_levels(const Evidence& evidence, Findings& findings) {
    constexpr Item Levels{"", "every namespace has a Pod Security level"}, Privileged{"", "no namespace allows privileged pods"};
    const std::string fallback = evidence.flag("pod-security-default").value_or("");
    const bool has_default = fallback == "baseline" || fallback == "restricted";
    std::vector<std::string> without, privileged;
    for (const core::Namespace& space : evidence.namespaces) {
        if (is_system_namespace(space.metadata.name)) continue;
        const auto level = space.metadata.labels.find("pod-security.kubernetes.io/enforce");
        const bool labelled = level != space.metadata.labels.end();
        if (!labelled && !has_default) without.push_back(space.metadata.name);
        if (labelled && level->second == "privileged") privileged.push_back(space.metadata.name);
    }
    if (without.empty() && has_default) {
        findings.pass(Levels, "without a label, the level is " + fallback);
    } else {
        findings.none(Levels, Verdict::Warn, std::move(without), "their pods may use every privilege on their node",
                      "kubectl label namespace NAME pod-security.kubernetes.io/enforce=baseline");
    }
    findings.none(Privileged, Verdict::Warn, std::move(privileged), "labeled privileged", "move pods that need it to a separate namespace");
}

}  // namespace porthole::cmd::doctor
