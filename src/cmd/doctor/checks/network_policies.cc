#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {

void check_network_policies(const Evidence& evidence, Findings& findings) {
    constexpr Item Supported{"5.3.1", "network policies are enforced"}, Defined{"5.3.2", "every namespace has a network policy"};
    constexpr const char* Why = "Porthole's pod network does not enforce NetworkPolicy";
    if (evidence.network_policies.empty()) {
        findings.not_applicable(Supported, std::string(Why) + "; none is defined");
    } else {
        std::vector<std::string> defined;
        for (const auto& policy : evidence.network_policies) defined.push_back(name_of(policy));
        findings.fail(Supported, std::string(Why) + ", so these policies have no effect", "run such pods in separate clusters",
                      std::move(defined));
    }
    findings.not_applicable(Defined, Why);
}

}  // namespace porthole::cmd::doctor
