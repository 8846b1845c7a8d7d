#include <algorithm>

#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {
namespace {

/// What every cluster gives to those who have no credentials yet: health, version, and what a node verifies a cluster by.
bool is_usual(const std::string& role) {
    return role == "system:public-info-viewer" || role == "system:discovery-public" || role == "kubeadm:bootstrap-signer-clusterinfo" ||
           role == "system:controller:bootstrap-signer";
}

template <class Binding>
void look_at_bindings(const std::vector<Binding>& bindings, std::vector<std::string>& found) {
    for (const Binding& binding : bindings) {
        if (is_bootstrap(binding) || is_usual(binding.role_ref.name)) continue;
        const bool anonymous = std::ranges::any_of(binding.subjects, [](const rbac::Subject& subject) {
            return subject.name == "system:anonymous" || subject.name == "system:unauthenticated";
        });
        if (anonymous) found.push_back(binding.role_ref.kind + " " + binding.role_ref.name + " by " + name_of(binding));
    }
}

}  // namespace

void check_anonymous_rights(const Evidence& evidence, Findings& findings) {
    std::vector<std::string> found;
    look_at_bindings(evidence.cluster_role_bindings, found);
    look_at_bindings(evidence.role_bindings, found);
    findings.none({"", "no role is bound to anonymous users"}, Verdict::Fail, std::move(found),
                  "anyone who can reach the server has these rights", "delete these bindings");
}

}  // namespace porthole::cmd::doctor
