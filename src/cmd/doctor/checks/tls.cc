#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {
namespace {

/// Forward secrecy and authenticated encryption; all of TLS 1.3 has both.
bool is_strong(const std::string& suite) {
    return (suite.starts_with("TLS_AES_") || suite.starts_with("TLS_CHACHA20_") || suite.starts_with("TLS_ECDHE_")) &&
           (suite.contains("GCM") || suite.contains("CHACHA20"));
}

}  // namespace

void check_tls(const Evidence& evidence, Findings& findings) {
    constexpr Item Ciphers{"1.2.29", "the API server accepts strong ciphers only"}, Version{"", "the API server accepts TLS 1.2 and later"};
    with_flag(evidence, findings, Ciphers, "tls-cipher-suites", [&](const std::string& suites) {
        if (suites.empty()) return findings.pass(Ciphers, "Porthole's own choice: forward secrecy and authenticated encryption");
        std::vector<std::string> weak;
        std::istringstream words(suites);
        for (std::string suite; std::getline(words, suite, ',');)
            if (!is_strong(suite)) weak.push_back(suite);
        findings.none(Ciphers, Verdict::Fail, std::move(weak), "weak ciphers are accepted", "leave them out of --tls-cipher-suites");
    });
    require_flag(
        evidence, findings, Version, "tls-min-version",
        [](const std::string& version) { return version == "VersionTLS12" || version == "VersionTLS13"; },
        "--tls-min-version=VersionTLS12");
}

}  // namespace porthole::cmd::doctor
