#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {

void check_control_plane(const Evidence& evidence, Findings& findings) {
    constexpr const char* OneProcess = "it runs in the server's process and does not listen";
    const auto require = [&](Item item, const char* flag, auto good) {
        require_flag(evidence, findings, item, flag, good, remedy_elsewhere(flag));
    };
    const auto is_set = [](const std::string& value) { return !value.empty(); };
    findings.pass({"1.3.1", "terminated pods are garbage collected"}, "beyond 12,500, the Kubernetes default");
    findings.not_applicable({"1.3.2", "profiling of the controllers is disabled"}, OneProcess);
    require({"1.3.3", "each controller has its own service account"}, "use-service-account-credentials",
            [](const std::string& value) { return value == "true"; });
    require({"1.3.4", "service account tokens are signed with a separate key"}, "service-account-private-key-file", is_set);
    require({"1.3.5", "pods get the cluster's CA certificate"}, "root-ca-file", is_set);
    findings.pass({"1.3.6", "kubelets' serving certificates are renewed"}, "the signer kubernetes.io/kubelet-serving issues them");
    findings.not_applicable({"1.3.7", "the controllers listen on loopback only"}, OneProcess);
    findings.not_applicable({"1.4.1", "profiling of the scheduler is disabled"}, OneProcess);
    findings.not_applicable({"1.4.2", "the scheduler listens on loopback only"}, OneProcess);
}

}  // namespace porthole::cmd::doctor
