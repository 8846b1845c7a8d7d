#pragma once
#include <array>
#include <cstdint>
#include <list>
#include <map>

#include "apiserver/flow_control/loop_turn.h"
#include "net/http/http.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// The order in which requests that have been read are authenticated: while the thread is busy, the users take turns, so that a client of
/// many connections does not delay others by what finding out its user costs.
///
/// A request's user is not known yet; it is taken for the one whom the same credentials meant before. All other requests, also those with
/// invented credentials, count as those of one user. Decides about nothing but the order. Lives on the server's loop and outlives the
/// requests.
class Arrivals {
public:
    /// `clock` measures turns; it may be the loop.
    Arrivals(EventLoop& loop, const Clock& clock, Duration turn) : turn_(loop, clock, turn, [this] { serve_waiting(); }) {}

    class Arrival;

private:
    using Waiting = std::list<Arrival*>;
    struct Known {
        std::uint64_t credentials = 0, user = 0;
    };

    Known& place_of(std::uint64_t credentials) { return known_[credentials % known_.size()]; }
    void serve_waiting();

    LoopTurn turn_;
    std::array<Known, 4096> known_{};           ///< a place for each remainder: what is forgotten is known again after the next request
    std::map<std::uint64_t, Waiting> waiting_;  ///< by user; none is empty
    std::list<std::uint64_t> order_;            ///< the users that wait; the first is next
};

/// One request. Lives in its task.
///
///     if (!arrival.begin()) CO_TRY_VOID(co_await arrival);  // Error: Cancelled
class Arrivals::Arrival final : public Operation<void> {
public:
    Arrival(Arrivals& arrivals, const net::HttpRequest& request);
    ~Arrival() { leave(); }

    /// Whether it is the request's turn already. Otherwise await it. Call once.
    bool begin();
    /// Whom the credentials meant.
    void authenticated(std::string_view user);

private:
    friend Arrivals;
    void start() override {}
    void cancel() override;
    void leave();

    Arrivals& arrivals_;
    const std::uint64_t credentials_;  ///< 0: none
    std::uint64_t user_ = 0;           ///< 0: not known
    bool waits_ = false;
    Waiting::iterator place_{};
};

}  // namespace porthole::apiserver
