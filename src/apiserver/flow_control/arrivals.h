#pragma once
#include <array>
#include <cstdint>

#include "net/http/http.h"
#include "runtime/turns.h"

namespace porthole::apiserver {

/// The order in which requests that have been read are authenticated: while the thread is busy, the users take turns, so that a client of
/// many requests does not delay others by what finding out its user costs.
///
/// A request's user is not known yet; it is taken for the one whom the same credentials meant before. All other requests, also those with
/// invented credentials, count as those of one user. Decides about nothing but the order. Lives on the server's loop and outlives the
/// requests.
class Arrivals {
public:
    /// `turns` are those of all work for requests, and outlive this.
    explicit Arrivals(Turns& turns) : turns_(turns) {}

    class Arrival;

private:
    struct Known {
        std::uint64_t credentials = 0, user = 0;
    };

    Known& place_of(std::uint64_t credentials) { return known_[credentials % known_.size()]; }

    Turns& turns_;
    std::array<Known, 4096> known_{};  ///< a place for each remainder: what is forgotten is known again after the next request
};

/// One request. Lives in its task.
///
///     if (!arrival.begin()) CO_TRY_VOID(co_await arrival.turn());  // Error: Cancelled
class Arrivals::Arrival {
public:
    Arrival(Arrivals& arrivals, const net::HttpRequest& request);

    /// Whether it is the request's turn already. Otherwise await it. Call once.
    bool begin() { return turn_.begin(user_); }
    Turns::Place& turn() { return turn_; }
    /// Whom the credentials meant: the connection is that user's from now on.
    void authenticated(const net::HttpRequest& request, std::string_view user);

private:
    Arrivals& arrivals_;
    const std::uint64_t credentials_;  ///< 0: none
    std::uint64_t user_ = 0;           ///< 0: not known
    Turns::Place turn_;
};

}  // namespace porthole::apiserver
