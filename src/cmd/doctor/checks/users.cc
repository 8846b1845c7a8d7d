#include <algorithm>

#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {

void check_users(const Evidence& evidence, Findings& findings) {
    constexpr Item Certificates{"3.1.1", "users do not authenticate with client certificates"},
        Accounts{"3.1.2", "users do not authenticate with service account tokens"},
        Bootstrap{"3.1.3", "users do not authenticate with bootstrap tokens"}, Masters{"5.1.7", "system:masters is not used"};
    const bool oidc = !evidence.flag("oidc-issuer-url").value_or("").empty();
    if (!evidence.admin_by_certificate) {
        findings.pass(Certificates);
    } else {
        findings.warn(Certificates,
                      std::string("the kubeconfig in use has one; it cannot be revoked before it expires") +
                          (oidc ? ", although OIDC is set up" : ""),
                      "give users tokens that expire (OIDC, or `kubectl create token`), and keep the certificate for emergencies");
    }
    findings.none(
        Accounts, Verdict::Warn,
        [&] {
            std::vector<std::string> lasting;
            for (const TokenSecret& token : evidence.account_tokens) lasting.push_back(token.namespace_ + "/" + token.name);
            return lasting;
        }(),
        "these tokens do not expire, and a user may have one", "delete them, and let programs request tokens that expire");
    findings.none(
        Bootstrap, Verdict::Warn,
        [&] {
            std::vector<std::string> bound;
            for (const auto& binding : evidence.cluster_role_bindings)
                for (const auto& subject : binding.subjects)
                    if (subject.name.starts_with("system:bootstrap") && binding.role_ref.name != "system:node-bootstrapper" &&
                        !is_bootstrap(binding) && !binding.role_ref.name.starts_with("system:"))
                        bound.push_back(binding.metadata.name);
            return bound;
        }(),
        "bindings give bootstrap tokens more rights than joining needs", "delete these bindings");
    std::vector<std::string> users;
    for (const auto& binding : evidence.cluster_role_bindings)
        if (!is_bootstrap(binding) && std::ranges::any_of(binding.subjects, [](const auto& one) { return one.name == "system:masters"; }))
            users.push_back("ClusterRoleBinding " + binding.metadata.name);
    if (!users.empty())
        return findings.fail(Masters, "bindings name it, although its rights do not need any", "delete these bindings", users);
    if (std::ranges::find(evidence.admin_groups, "system:masters") == evidence.admin_groups.end()) return findings.pass(Masters);
    findings.warn(Masters, "the kubeconfig in use is of this group, whose rights no role limits and which cannot be revoked",
                  "give users a ClusterRoleBinding with the rights that they need, and keep this kubeconfig for emergencies");
}

}  // namespace porthole::cmd::doctor
