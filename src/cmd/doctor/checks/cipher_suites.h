#pragma once
#include <string_view>

namespace porthole::cmd::doctor {

/// Forward secrecy and authenticated encryption; all of TLS 1.3 has both. `suite` is a name of IANA's, as flags have it.
inline bool is_strong_cipher(std::string_view suite) {
    return (suite.starts_with("TLS_AES_") || suite.starts_with("TLS_CHACHA20_") || suite.starts_with("TLS_ECDHE_")) &&
           (suite.contains("GCM") || suite.contains("CHACHA20"));
}

}  // namespace porthole::cmd::doctor
