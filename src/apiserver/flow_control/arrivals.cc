#include "apiserver/flow_control/arrivals.h"

#include <algorithm>

#include "base/hash.h"
#include "net/flow.h"

namespace porthole::apiserver {
namespace {

/// Of tokens, the end: that is the signature, and differs from token to token.
constexpr std::size_t HashedBytes = 48;

std::uint64_t hash_of_credentials(const net::HttpRequest& request) {
    std::string_view token = request.headers.get("authorization");
    const auto& certificate = request.peer.certificate;
    if (token.empty() && !certificate) return 0;
    token.remove_prefix(token.size() - std::min(token.size(), HashedBytes));
    const std::uint64_t hash = fnv1a_64(token);
    return certificate ? fnv1a_64(certificate->fingerprint, hash) : hash;
}

}  // namespace

Arrivals::Arrival::Arrival(Arrivals& arrivals, const net::HttpRequest& request)
    : arrivals_(arrivals), credentials_(hash_of_credentials(request)), turn_(arrivals.turns_) {
    if (credentials_ == 0) return;
    const Known& known = arrivals_.place_of(credentials_);
    if (known.credentials == credentials_) user_ = known.user;
}

void Arrivals::Arrival::authenticated(const net::HttpRequest& request, std::string_view user) {
    const std::uint64_t flow = fnv1a_64(user);
    if (request.peer.flow) request.peer.flow->set_user(flow, credentials_ != 0);
    if (credentials_ != 0) arrivals_.place_of(credentials_) = {credentials_, flow};
}

}  // namespace porthole::apiserver
