#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {

void check_namespaces(const Evidence& evidence, Findings& findings) {
    std::vector<std::string> in_default;
    for (const core::Pod& pod : evidence.pods)
        if (pod.metadata.namespace_ == "default") in_default.push_back(pod.metadata.name);
    findings.not_applicable({"5.6.1", "namespaces separate unrelated workloads"}, "a decision for the cluster's owner");
    findings.none({"5.6.4", "no workload runs in the namespace default"}, Verdict::Warn, std::move(in_default),
                  "roles and policies of a namespace apply to all workloads in it", "create a namespace for each workload");
}

}  // namespace porthole::cmd::doctor
