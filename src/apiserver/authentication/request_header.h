#pragma once
#include <string>
#include <vector>

#include "apiserver/authentication/authenticator.h"

namespace porthole::apiserver {

/// A proxy that has authenticated the user and names it in headers: --requestheader-client-ca-file and its like.
struct RequestHeaderOptions {
    std::string ca_pem;                      ///< verifies the certificates of such proxies; "" for no proxy
    std::vector<std::string> allowed_names;  ///< common names of their certificates; empty for all of the authority
    std::vector<std::string> username_headers{"X-Remote-User"}, uid_headers, group_headers{"X-Remote-Group"},
        extra_prefixes{"X-Remote-Extra-"};
};

/// Accepts the headers of a peer with a certificate of the proxies' authority; headers of any other peer are ignored.
class RequestHeaderAuthenticator final : public Authenticator {
public:
    explicit RequestHeaderAuthenticator(RequestHeaderOptions options);
    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;

private:
    RequestHeaderOptions options_;  ///< header names in lower case
};

}  // namespace porthole::apiserver
