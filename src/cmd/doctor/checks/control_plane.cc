#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {

void check_control_plane(const Evidence& evidence, Findings& findings) {
    constexpr const char* OneProcess = "it is the server's own process and listens nowhere";
    const auto require = [&](Item item, const char* flag, auto good) {
        require_flag(evidence, findings, item, flag, good, remedy_elsewhere(flag));
    };
    const auto is_set = [](const std::string& value) { return !value.empty(); };
    findings.pass({"1.3.1", "terminated pods are removed beyond a number"}, "12,500, as in Kubernetes by default");
    findings.not_applicable({"1.3.2", "the controllers offer no profiles"}, OneProcess);
    require({"1.3.3", "each controller has an account of its own"}, "use-service-account-credentials",
            [](const std::string& value) { return value == "true"; });
    require({"1.3.4", "tokens of service accounts are signed by a key of their own"}, "service-account-private-key-file", is_set);
    require({"1.3.5", "pods are told the cluster's authority"}, "root-ca-file", is_set);
    findings.pass({"1.3.6", "kubelets' serving certificates are renewed"}, "they are of the signer kubernetes.io/kubelet-serving");
    findings.not_applicable({"1.3.7", "the controllers listen on the machine only"}, OneProcess);
    findings.not_applicable({"1.4.1", "the scheduler offers no profiles"}, OneProcess);
    findings.not_applicable({"1.4.2", "the scheduler listens on the machine only"}, OneProcess);
}

}  // namespace porthole::cmd::doctor
