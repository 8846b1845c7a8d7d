#include <algorithm>

#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {
namespace {

bool takes_secrets(const auto& container) {
    return std::ranges::any_of(container.env, [](const core::EnvVar& one) { return one.value_from && one.value_from->secret_key_ref; }) ||
           std::ranges::any_of(container.env_from, [](const core::EnvFromSource& one) { return one.secret_ref.has_value(); });
}

}  // namespace

void check_secrets_of_pods(const Evidence& evidence, Findings& findings) {
    std::vector<std::string> found;
    for (const core::Pod& pod : evidence.pods) {
        const auto takes = [](const auto& container) { return takes_secrets(container); };
        if (std::ranges::any_of(pod.spec.containers, takes) || std::ranges::any_of(pod.spec.init_containers, takes))
            found.push_back(name_of(pod));
    }
    findings.none({"5.4.1", "pods use secrets as files"}, Verdict::Warn, std::move(found),
                  "secrets in environment variables end up in logs and dumps, and do not change while the pod runs",
                  "mount the secret as a volume");
    findings.not_applicable({"5.4.2", "secrets are stored outside the cluster"},
                            "a decision for each cluster; no external secret store is built in");
}

}  // namespace porthole::cmd::doctor
