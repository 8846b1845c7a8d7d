#include "client/leader_election.h"

#include <algorithm>

#include "base/result.h"
#include "runtime/first_of.h"

namespace porthole::client {
namespace {

using api::coordination::v1::Lease;
using api::coordination::v1::LeaseSpec;

constexpr int ReleaseAttempts = 3;

}  // namespace

LeaderElector::LeaderElector(EventLoop& loop, Client& client, Random& random, Logger log, NamespacedName key, std::string identity,
                             Timing timing)
    : loop_(loop),
      client_(client),
      random_(random),
      log_(std::move(log)),
      key_(std::move(key)),
      identity_(std::move(identity)),
      timing_(timing) {}

bool LeaderElector::expired(const Lease& lease) {
    if (lease.spec != observed_) {
        observed_ = lease.spec;
        observed_at_ = loop_.now();
    }
    if (lease.spec.holder_identity.value_or("").empty()) return true;
    return loop_.now() >= observed_at_ + std::chrono::seconds(lease.spec.lease_duration_seconds.value_or(15));
}

Task<bool> LeaderElector::try_acquire() {
    const MicroTimestamp now(loop_.wall_now());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timing_.lease).count();
    Result<Lease> found = co_await client_.get<Lease>(key_);
    if (!found) {
        if (!is_not_found(found)) co_return std::move(found).error();
        Lease fresh;
        fresh.metadata.namespace_ = key_.namespace_;
        fresh.metadata.name = key_.name;
        fresh.spec.holder_identity = identity_;
        fresh.spec.lease_duration_seconds = static_cast<std::int32_t>(seconds);
        fresh.spec.acquire_time = fresh.spec.renew_time = now;
        fresh.spec.lease_transitions = 0;
        CO_TRY_VOID(co_await client_.create(std::move(fresh)));
        co_return true;
    }
    Lease lease = std::move(*found);
    const bool ours = lease.spec.holder_identity == identity_;
    if (!expired(lease) && !ours) co_return false;
    if (!ours) {
        lease.spec.acquire_time = now;
        lease.spec.lease_transitions = lease.spec.lease_transitions.value_or(0) + 1;
    }
    lease.spec.holder_identity = identity_;
    lease.spec.lease_duration_seconds = static_cast<std::int32_t>(seconds);
    lease.spec.renew_time = now;
    CO_TRY_VOID(co_await client_.update(std::move(lease)));
    co_return true;
}

Task<> LeaderElector::renew() {
    MonotonicTime renewed = loop_.now();
    for (;;) {
        CO_TRY_VOID(co_await loop_.sleep(timing_.retry));
        // A call that hangs must not make the leader stay longer.
        const Duration left = std::max<Duration>(renewed + timing_.renew - loop_.now(), std::chrono::milliseconds(1));
        const Result<bool> held = co_await with_timeout(try_acquire(), left, "renewing a lease");
        if (held && *held) {
            renewed = loop_.now();
            continue;
        }
        if (is_cancelled(held)) co_return cancelled_error();
        if (held || loop_.now() - renewed >= timing_.renew) co_return Error(Reason::Conflict, "leadership of " + key_.text() + " is lost");
    }
}

Task<> LeaderElector::release() {
    for (int attempt = 1;; ++attempt) {
        CO_TRY(Lease lease, co_await client_.get<Lease>(key_));
        if (lease.spec.holder_identity != identity_) co_return {};
        lease.spec.holder_identity = "";
        lease.spec.lease_duration_seconds = 1;
        const auto released = co_await client_.update(std::move(lease));
        if (released) co_return {};
        // A renewal of ours may have been on its way.
        if (released.error().reason != Reason::Conflict || attempt == ReleaseAttempts) co_return released.error();
    }
}

Task<> LeaderElector::run(std::function<Task<>()> lead) {
    while (!withdrawn_.is_set()) {
        const Result<bool> acquired = co_await try_acquire();
        if (acquired && *acquired) co_return co_await lead_and_renew(std::move(lead));
        if (is_cancelled(acquired)) co_return cancelled_error();
        const double stretch = 1 + 1.2 * random_.fraction();
        CO_TRY_VOID(co_await first_of(loop_.sleep(std::chrono::duration_cast<Duration>(timing_.retry * stretch)), withdrawn_.wait()));
    }
    co_return {};
}

Task<> LeaderElector::run_alone(std::function<Task<>()> lead) {
    for (;;) {
        const Result<bool> acquired = co_await try_acquire();
        if (acquired && *acquired) break;
        const Reason why = acquired ? Reason::Conflict : acquired.error().reason;
        if (why != Reason::Conflict && why != Reason::AlreadyExists) co_return acquired.error();
        // A holder that has died does not renew, and its lease expires; one that does renew is at work.
        const LeaseSpec seen = observed_;
        CO_TRY_VOID(co_await loop_.sleep(timing_.retry));
        CO_TRY(const Lease now, co_await client_.get<Lease>(key_));
        const std::string holder = now.spec.holder_identity.value_or("");
        if (!holder.empty() && now.spec.renew_time != seen.renew_time) co_return Error(Reason::AlreadyExists, holder);
    }
    co_return co_await lead_and_renew(std::move(lead));
}

Task<> LeaderElector::lead_and_renew(std::function<Task<>()> lead) {
    log_.info("became leader", {{"lease", key_.text()}, {"identity", identity_}});
    leading_ = true;
    Result<void> ended = co_await first_of(lead(), renew());
    leading_ = false;
    const bool lost = !ended && ended.error().reason == Reason::Conflict;
    const bool cancelled = is_cancelled(ended);
    // Whoever ends does not wait for a server that does not answer: the lease ends by itself.
    if (!lost && !cancelled) (void)co_await with_timeout(release(), timing_.renew / 2, "releasing a lease");
    co_return ended;
}

}  // namespace porthole::client
