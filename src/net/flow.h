#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/turns.h"

namespace porthole::net {

/// For whom a connection's work is done, as a number that is equal for equal users: its server lets them take turns. Peers that are not
/// known yet share a few numbers, by their addresses. Lives on the connection's loop; the user is set and read on any thread.
class Flow {
public:
    explicit Flow(std::uint64_t user) : user_(user) {}

    std::uint64_t user() const { return user_; }
    /// Whose request the last one was. `authenticated`: its credentials have been accepted. A client gains nothing without them.
    void set_user(std::uint64_t user, bool authenticated) {
        user_ = user;
        authenticated_ = authenticated;
    }

    /// Of what is read next.
    Turns::Stage stage() const { return bodies_ > 0 && authenticated_ ? Turns::Stage::Begun : Turns::Stage::New; }

    class Body;
    class Reading;

private:
    std::atomic<std::uint64_t> user_;
    std::atomic<bool> authenticated_ = false;
    int bodies_ = 0;                   ///< that are awaited
    Turns::Place* reading_ = nullptr;  ///< of what has been read and waits for its turn
};

/// While it lives, a handler waits for the body of a request: one that has begun, so that its pieces, hundreds of a large body, do not each
/// wait behind all new requests of the same user. A piece that has waited for its turn since the user was unknown no longer does.
class Flow::Body {
public:
    explicit Body(std::shared_ptr<Flow> flow);  ///< may be null
    ~Body() {
        if (flow_) --flow_->bodies_;
    }
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;

private:
    std::shared_ptr<Flow> flow_;
};

/// While it lives, what has been read may wait at `place`, which a Body moves. One at a time.
class Flow::Reading {
public:
    Reading(Flow& flow, Turns::Place& place) : flow_(flow) { flow_.reading_ = &place; }
    ~Reading() { flow_.reading_ = nullptr; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

private:
    Flow& flow_;
};

/// The flow of a peer of which nothing but its address is known: one of a few, so that users that are known do not wait for the turns of
/// thousands of addresses. Not 0, which is the flow of requests whose user is not known.
std::shared_ptr<Flow> flow_of(const std::string& address);

}  // namespace porthole::net
