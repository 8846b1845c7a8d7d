#pragma once
#include <functional>
#include <string>

#include "api/coordination_v1.h"
#include "base/log.h"
#include "client/client.h"
#include "runtime/random.h"
#include "runtime/sync.h"

namespace porthole::client {

/// Lets one of several processes do the work: the holder of the Lease `key` leads until it stops renewing it.
///
/// Times are measured with the local clock from when a change of the lease was observed, so clocks may differ between machines. `identity`
/// is this process's own and unique among the candidates. References must outlive run().
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

    /// Waits for leadership, then runs `lead()` and renews the lease at the same time. Ends when `lead` does, with its result; if
    /// leadership is lost, cancels `lead` and ends with Conflict. When `lead` ends, the lease is released, so that another process can lead
    /// immediately; when the caller is cancelled, the lease expires. Ends without having led after withdraw().
    Task<> run(std::function<Task<>()> lead);
    /// As run(), but does not wait for a holder that renews the lease: ends with AlreadyExists, with the holder's identity as message. If
    /// the holder has died, waits until its lease expires. Also ends with the API's errors.
    Task<> run_alone(std::function<Task<>()> lead);
    /// Ends a run() that does not lead: at once, or when an attempt to acquire the lease that is in progress has ended. If that attempt
    /// acquires it, `lead` runs, and has to end for the lease to be released.
    void withdraw() { withdrawn_.set(); }
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
    porthole::Event withdrawn_;
};

}  // namespace porthole::client
