#pragma once  // private to winhost/images
#include <map>
#include <string>
#include <string_view>

namespace porthole::winhost {

/// One WWW-Authenticate header: `Bearer realm="https://auth.example/token",service="registry"`.
struct Challenge {
    std::string scheme;                             ///< lower case
    std::map<std::string, std::string> parameters;  ///< names in lower case

    std::string parameter(const std::string& name) const {
        const auto found = parameters.find(name);
        return found == parameters.end() ? "" : found->second;
    }
};

/// Ignores what cannot be parsed (RFC 9110, section 11.6.1).
Challenge parse_challenge(std::string_view text);

}  // namespace porthole::winhost
