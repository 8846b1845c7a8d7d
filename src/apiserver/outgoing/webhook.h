#pragma once
#include <map>
#include <memory>

#include "apiserver/outgoing/outgoing_client.h"
#include "runtime/random.h"
#include "runtime/sync.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// A server that answers reviews: objects whose status it fills in.
///
/// A call with a transient failure (the server cannot be reached, or answers 429, 500, 502, 503 or 504) is repeated, up to five attempts,
/// with growing delays as upstream; all of it takes at most `limits.time`. At most `calls` are in progress at a time, and at most a quarter
/// of them for one user, so that a server that hangs does not hold the memory of every request. Others wait, also for at most
/// `limits.time`. Lives on `loop`; loop and random outlive it.
class Webhook {
public:
    struct Settings {
        OutgoingLimits limits;
        Duration first_wait = std::chrono::milliseconds(500);
        std::size_t calls = 256;
    };
    Webhook(std::unique_ptr<OutgoingClient> client, EventLoop& loop, Random& random, Settings settings)
        : client_(std::move(client)), loop_(loop), random_(random), settings_(settings) {}

    /// The server's answer to `review`: an object of the same apiVersion and kind. `user` is the user who causes the call; "" if unknown,
    /// and then without a share of its own. Errors: those of OutgoingClient::send; InternalError for a code that is not 2xx and for an
    /// invalid answer; TooManyRequests if the wait was too long, which says nothing about the server and must not count as its failure.
    Task<schema::Value> review(schema::Value review, std::string user = "");

private:
    class Call;
    bool has_room_for(const std::string& user) const;
    Task<std::unique_ptr<Call>> wait_for_turn(std::string user);
    Task<schema::Value> attempts(std::shared_ptr<const schema::Value> review);

    std::unique_ptr<OutgoingClient> client_;
    EventLoop& loop_;
    Random& random_;
    Settings settings_;
    std::size_t in_progress_ = 0, waiting_ = 0;
    std::map<std::string, std::size_t> by_user_;  ///< in progress
    WaitList<void> turns_;
};

/// The review in an answer's body, if it matches `review`. Error: InternalError.
Result<schema::Value> parse_review_answer(std::string_view body, const schema::Value& review);

}  // namespace porthole::apiserver
