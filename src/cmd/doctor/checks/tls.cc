#include "cmd/doctor/checks/cipher_suites.h"
#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {

void check_tls(const Evidence& evidence, Findings& findings) {
    constexpr Item Ciphers{"1.2.29", "the API server accepts strong ciphers only"}, Version{"", "the API server accepts TLS 1.2 and later"};
    with_flag(evidence, findings, Ciphers, "tls-cipher-suites", [&](const std::string& suites) {
        if (suites.empty()) return findings.pass(Ciphers, "Porthole's own choice: forward secrecy and authenticated encryption");
        std::vector<std::string> weak;
        for (const std::string& suite : split_list(suites))
            if (!is_strong_cipher(suite)) weak.push_back(suite);
        findings.none(Ciphers, Verdict::Fail, std::move(weak), "weak ciphers are accepted", "leave them out of --tls-cipher-suites");
    });
    require_flag(
        evidence, findings, Version, "tls-min-version",
        [](const std::string& version) { return version == "VersionTLS12" || version == "VersionTLS13"; },
        "--tls-min-version=VersionTLS12");
}

}  // namespace porthole::cmd::doctor
