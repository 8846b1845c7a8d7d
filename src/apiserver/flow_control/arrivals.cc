#include "apiserver/flow_control/arrivals.h"

#include <algorithm>

#include "base/hash.h"

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

void Arrivals::serve_waiting() {
    while (!order_.empty() && turn_.has_time()) {
        const std::uint64_t user = order_.front();
        Arrival& next = *waiting_.find(user)->second.front();
        order_.splice(order_.end(), order_, order_.begin());
        next.leave();
        next.complete({});  // handles the request
    }
}

Arrivals::Arrival::Arrival(Arrivals& arrivals, const net::HttpRequest& request)
    : arrivals_(arrivals), credentials_(hash_of_credentials(request)) {
    if (credentials_ == 0) return;
    const Known& known = arrivals_.place_of(credentials_);
    if (known.credentials == credentials_) user_ = known.user;
}

bool Arrivals::Arrival::begin() {
    if (arrivals_.order_.empty() && arrivals_.turn_.has_time()) return true;
    Waiting& waiting = arrivals_.waiting_[user_];
    if (waiting.empty()) arrivals_.order_.push_back(user_);
    place_ = waiting.insert(waiting.end(), this);
    waits_ = true;
    return false;
}

void Arrivals::Arrival::authenticated(std::string_view user) {
    if (credentials_ != 0) arrivals_.place_of(credentials_) = {credentials_, fnv1a_64(user)};
}

void Arrivals::Arrival::cancel() {
    if (!waits_) return;
    leave();
    complete_later(cancelled_error());
}

void Arrivals::Arrival::leave() {
    if (!std::exchange(waits_, false)) return;
    const auto found = arrivals_.waiting_.find(user_);
    found->second.erase(place_);
    if (!found->second.empty()) return;
    arrivals_.waiting_.erase(found);
    arrivals_.order_.remove(user_);
}

}  // namespace porthole::apiserver
