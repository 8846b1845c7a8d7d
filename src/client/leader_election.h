#pragma once
#include <functional>
#include <string>

#include "api/coordination_v1.h"
#include "base/log.h"
#include "client/client.h"
#include "runtime/random.h"

namespace porthole::client {

/// Lets one of several processes do the work: the holder of the Lease `key` leads until it stops renewing it.
///
/// Times are measured by the local clock from when a change of the lease was seen, so that clocks may differ between machines.
/// `identity` is this process's own and unique among the candidates. References must outlive run().
class LeaderElector {
public:
    struct Timing {
        Duration lease = std::chrono::seconds(15);
        Duration renew = std::chrono::seconds(10);  ///< the leader resigns when it could not renew for so long
        Duration retry = std::chrono::seconds(2);
    };

    LeaderElector(EventLoop& loop, Client& client, Random& random, Logger log, NamespacedName key, std::string identity)
        : LeaderElector(loop, client, random, std::move(log), std::move(key), std::move(identity), Timing()) {}
    LeaderElector(EventLoop& loop, Client& client, Random& random, Logger log, NamespacedName key, std::string identity, Timing timing);

    /// Waits for leadership, then runs `lead()` and renews at the same time. Ends when `lead` does, with its result; cancels it and
    /// ends with Conflict when leadership is lost. When `lead` ends the lease is released, so that another can follow at once;
    /// when the caller is cancelled it expires.
    Task<> run(std::function<Task<>()> lead);
    /// As run(), but does not wait for a holder that is seen to renew the lease: ends with AlreadyExists, whose message is its identity.
    /// One that has died is waited for until its lease expires. Also ends with the API's errors.
    Task<> run_alone(std::function<Task<>()> lead);
    bool leading() const { return leading_; }

private:
    Task<bool> try_acquire();
    Task<> lead_and_renew(std::function<Task<>()> lead);
    Task<> renew();
    Task<> release();
    bool expired(const api::coordination::v1::Lease& lease);

    EventLoop& loop_;
    Client& client_;
    Random& random_;
    Logger log_;
    NamespacedName key_;
    std::string identity_;
    Timing timing_;
    api::coordination::v1::LeaseSpec observed_;
    MonotonicTime observed_at_{};
    bool leading_ = false;
};

}  // namespace porthole::client
