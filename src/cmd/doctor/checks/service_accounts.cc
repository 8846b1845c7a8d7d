#include <algorithm>
#include <set>

#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"
#include "objects/pods.h"

namespace porthole::cmd::doctor {
namespace {

using Account = std::pair<std::string, std::string>;  ///< namespace, name

template <class Binding>
void add_bound(const std::vector<Binding>& bindings, std::set<Account>& bound, std::set<std::string>& namespaces) {
    for (const Binding& binding : bindings) {
        for (const rbac::Subject& subject : binding.subjects) {
            if (subject.kind == "ServiceAccount") bound.emplace(subject.namespace_, subject.name);
            constexpr std::string_view Group = "system:serviceaccounts:";
            if (subject.kind == "Group" && subject.name.starts_with(Group)) namespaces.insert(subject.name.substr(Group.size()));
        }
    }
}

bool mounts_token(const core::Pod& pod) {
    return std::ranges::any_of(pod.spec.volumes, [](const core::Volume& volume) {
        return volume.projected && std::ranges::any_of(volume.projected->sources, [](const core::VolumeProjection& source) {
                   return source.service_account_token.has_value() && source.service_account_token->audience.empty();
               });
    });
}

}  // namespace

void check_service_accounts(const Evidence& evidence, Findings& findings) {
    constexpr Item Default{"5.1.5", "default service accounts have no rights and are not used"},
        Mounted{"5.1.6", "tokens are mounted only where they are needed"};
    std::set<Account> bound;
    std::set<std::string> namespaces;
    add_bound(evidence.cluster_role_bindings, bound, namespaces);
    add_bound(evidence.role_bindings, bound, namespaces);

    std::vector<std::string> with_rights, used, useless;
    for (const core::ServiceAccount& account : evidence.service_accounts) {
        const Account key{account.metadata.namespace_, account.metadata.name};
        if (key.second == "default" && bound.contains(key)) with_rights.push_back(name_of(account));
    }
    for (const core::Pod& pod : evidence.pods) {
        if (objects::is_terminal(pod) || !mounts_token(pod)) continue;
        const Account key{pod.metadata.namespace_, pod.spec.service_account_name};
        if (key.second == "default") used.push_back(name_of(pod));
        if (!bound.contains(key) && !namespaces.contains(key.first)) useless.push_back(name_of(pod));
    }
    if (!with_rights.empty()) {
        findings.fail(Default, "every pod without an account has the rights bound to them",
                      "create a separate account, and name it in the pods", std::move(with_rights));
    } else {
        findings.none(Default, Verdict::Warn, std::move(used), "these pods have its token",
                      "give each an account, or set automountServiceAccountToken: false in the account default");
    }
    findings.none(Mounted, Verdict::Warn, std::move(useless), "no role is bound to the accounts of these pods, so their token is unused",
                  "automountServiceAccountToken: false in the pod or its account");
}

}  // namespace porthole::cmd::doctor
