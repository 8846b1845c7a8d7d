#include "apiserver/authentication/authenticator.h"

#include <algorithm>
#include "base/result.h"

namespace porthole::apiserver {

Task<std::optional<User>> CertificateAuthenticator::authenticate(const net::HttpRequest& request) {
    if (!request.peer.certificate_error.empty()) co_return Error(Reason::Unauthorized, "Unauthorized");
    const auto& certificate = request.peer.certificate;
    if (!certificate || certificate->common_name.empty()) co_return std::optional<User>();
    if (!certificate->of_client || !certificates_.accepts(*certificate)) co_return Error(Reason::Unauthorized, "Unauthorized");
    certificates_.saw(*certificate, clock_.wall_now());
    User user{.name = certificate->common_name, .groups = certificate->organizations};
    user.extra["authentication.kubernetes.io/credential-id"] = {"X509SHA256=" + certificate->fingerprint};
    co_return std::optional<User>(std::move(user));
}

Task<User> AuthenticatorChain::authenticate(const net::HttpRequest& request) const {
    bool refused = false;
    std::optional<Error> busy;
    for (const auto& authenticator : authenticators_) {
        auto found = co_await authenticator->authenticate(request);
        if (!found) {
            if (is_cancelled(found)) co_return std::move(found).error();
            refused = true;
            if (found.error().reason == Reason::TooManyRequests) busy = std::move(found).error();
            continue;
        }
        if (!found->has_value()) continue;
        User user = std::move(**found);
        if (!user.in_group(GroupAuthenticated)) user.groups.emplace_back(GroupAuthenticated);
        co_return user;
    }
    // It may be a good credential: whoever could say so was asked too much.
    if (busy) co_return *std::move(busy);
    // A bearer token that nobody knows is a bad credential, not none.
    if (refused || request.headers.has("authorization")) co_return Error(Reason::Unauthorized, "Unauthorized");
    const auto& paths = anonymous_.paths;
    if (!anonymous_.enabled || (!paths.empty() && std::ranges::find(paths, net::percent_decode(request.path)) == paths.end()))
        co_return Error(Reason::Unauthorized, "Unauthorized");
    co_return User{.name = std::string(AnonymousUser), .groups = {std::string(GroupUnauthenticated)}};
}

}  // namespace porthole::apiserver
