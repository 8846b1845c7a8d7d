#include "net/tls/tls_policy.h"

#include <algorithm>

namespace porthole::net {
namespace {

struct Suite {
    const char *name, *openssl;  ///< openssl "" for TLS 1.3, whose suites are not chosen
};
constexpr Suite Suites[] = {
    {"TLS_AES_128_GCM_SHA256", ""},
    {"TLS_AES_256_GCM_SHA384", ""},
    {"TLS_CHACHA20_POLY1305_SHA256", ""},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"},
};

Error unknown_suite(const std::string& name) {
    std::string known;
    for (const Suite& suite : Suites) known += (known.empty() ? "" : ", ") + std::string(suite.name);
    return Error(Reason::BadRequest, "--tls-cipher-suites: \"" + name + "\" is not one of " + known);
}

}  // namespace

Result<TlsPolicy> TlsPolicy::parse(const std::string& min_version, const std::vector<std::string>& cipher_suites) {
    TlsPolicy policy;
    if (!min_version.empty() && min_version != "VersionTLS12" && min_version != "VersionTLS13")
        return Error(Reason::BadRequest, "--tls-min-version: \"" + min_version + "\" is neither VersionTLS12 nor VersionTLS13");
    policy.only_tls13 = min_version == "VersionTLS13";
    for (const std::string& name : cipher_suites) {
        const auto suite = std::ranges::find(Suites, name, [](const Suite& one) { return std::string(one.name); });
        if (suite == std::end(Suites)) return unknown_suite(name);
        if (*suite->openssl) policy.tls12_ciphers += (policy.tls12_ciphers.empty() ? "" : ":") + std::string(suite->openssl);
    }
    if (!cipher_suites.empty() && policy.tls12_ciphers.empty() && !policy.only_tls13)
        return Error(Reason::BadRequest,
                     "--tls-cipher-suites names no suite of TLS 1.2; add one, or allow TLS 1.3 alone with --tls-min-version=VersionTLS13");
    return policy;
}

}  // namespace porthole::net
