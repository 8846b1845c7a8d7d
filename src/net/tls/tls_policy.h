#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::net {

/// Which versions and ciphers a server accepts. A plain value; the default is TLS 1.2 and 1.3 with forward secrecy and authenticated
/// encryption only.
struct TlsPolicy {
    bool only_tls13 = false;
    std::string tls12_ciphers;  ///< OpenSSL's list; "" for the default

    /// From the values of Kubernetes' flags --tls-min-version and --tls-cipher-suites; empty values mean the default. TLS 1.3 suites are
    /// accepted without effect, as in Kubernetes. Differs from Kubernetes: TLS before 1.2, and suites without forward secrecy or
    /// authenticated encryption, are refused. Error: BadRequest with the flag and its valid values.
    static Result<TlsPolicy> parse(const std::string& min_version, const std::vector<std::string>& cipher_suites);
};

}  // namespace porthole::net
