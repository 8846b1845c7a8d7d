#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {

void check_encryption_at_rest(const Evidence& evidence, Findings& findings) {
    constexpr Item Configured{"1.2.27", "secrets are encrypted in the store"},
        Providers{"1.2.28", "the encryption provider is strong enough"};
    require_flag(
        evidence, findings, Configured, "encryption-provider-config", [](const std::string& file) { return !file.empty(); },
        start_with(evidence, "encryption-provider-config=FILE"));
    if (evidence.flag("encryption-provider-config").value_or("").empty()) return findings.not_applicable(Providers, "nothing is encrypted");
    with_flag(evidence, findings, Providers, "encryption-providers", [&](const std::string& providers) {
        if (providers.empty())
            return findings.warn(Providers, "the server does not report its providers",
                                 "check that aescbc, aesgcm, secretbox or kms is first");
        providers.starts_with("identity") ? findings.fail(Providers, "the first provider is identity, which does not encrypt",
                                                          "put aescbc, aesgcm, secretbox or kms first")
                                          : findings.pass(Providers, providers);
    });
}

}  // namespace porthole::cmd::doctor
