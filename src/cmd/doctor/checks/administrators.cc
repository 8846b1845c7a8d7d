#include <algorithm>

#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {
namespace {

/// Everyone who can reach the server, or every pod.
bool is_everyone(const rbac::Subject& subject) {
    return subject.name == "system:unauthenticated" || subject.name == "system:anonymous" || subject.name == "system:authenticated" ||
           subject.name == "system:serviceaccounts";
}

std::string text_of(const rbac::Subject& subject) {
    return subject.kind + " " + (subject.namespace_.empty() ? "" : subject.namespace_ + "/") + subject.name;
}

template <class Binding>
void sort_bindings(const std::vector<Binding>& bindings, std::vector<std::string>& everyone, std::vector<std::string>& some) {
    for (const Binding& binding : bindings) {
        if (binding.role_ref.kind != "ClusterRole" || binding.role_ref.name != "cluster-admin" || is_bootstrap(binding)) continue;
        for (const rbac::Subject& subject : binding.subjects)
            (is_everyone(subject) ? everyone : some).push_back(text_of(subject) + " by " + name_of(binding));
    }
}

}  // namespace

void check_administrators(const Evidence& evidence, Findings& findings) {
    constexpr Item Admins{"5.1.1", "cluster-admin is bound only where it is needed"};
    std::vector<std::string> everyone, some;
    sort_bindings(evidence.cluster_role_bindings, everyone, some);
    sort_bindings(evidence.role_bindings, everyone, some);
    if (!everyone.empty())
        return findings.fail(Admins, "everyone is an administrator", "delete these bindings immediately", std::move(everyone));
    findings.none(Admins, Verdict::Warn, std::move(some), "check whether each subject still needs it", "bind a role with fewer rights");
}

}  // namespace porthole::cmd::doctor
