#include "cmd/server/candidate.h"

#include <utility>

#include "base/result.h"

namespace porthole::cmd {
namespace {

/// How long resign() waits for an attempt to lead that is in progress. The store may not answer, and a server has to end.
constexpr Duration AttemptLimit = std::chrono::seconds(1);

}  // namespace

Candidate::Candidate(Seams seams, Component component, std::string identity, client::LeaderElector::Timing timing)
    : seams_(std::move(seams)),
      component_(std::move(component)),
      retry_(timing.retry),
      elector_(seams_.loop, seams_.client, seams_.random, seams_.log, {"kube-system", component_.name}, std::move(identity), timing),
      running_(seams_.loop),
      stopping_(seams_.loop) {}

Task<> Candidate::run() {
    while (!resigned_.is_set()) {
        const auto ended = co_await elector_.run([this] { return lead(); });
        CO_TRY_VOID(co_await stop());
        if (ended || resigned_.is_set()) continue;
        if (is_cancelled(ended)) co_return ended.error();
        seams_.log.warn("does not lead any more", {{"component", component_.name}, {"error", ended.error().message}});
        CO_TRY_VOID(co_await seams_.loop.sleep(retry_));
    }
    co_return {};
}

Task<> Candidate::lead() {
    if (resigned_.is_set()) co_return {};
    started_ = true;
    CO_TRY_VOID(co_await component_.start());
    CO_TRY_VOID(co_await resigned_.wait());
    co_return co_await stop();  // before the lease is released
}

/// Not cancelled with its caller: a component that has begun to stop must not stay half-stopped when the Lease is lost, or resign() is
/// called, at that time.
Task<> Candidate::stop() {
    if (!std::exchange(started_, false)) co_return {};
    stopping_.start(component_.stop());
    CO_TRY_VOID(co_await stopping_.join());
    co_return stopping_.result();
}

Task<> Candidate::resign() {
    resigned_.set();
    // A request for the Lease that has been sent may succeed, and the next leader would wait until that Lease expires.
    elector_.withdraw();
    net::Deadline patience(seams_.loop, [this] { running_.cancel(); });
    if (!elector_.leading()) patience.set(AttemptLimit);
    co_return co_await running_.join();
}

}  // namespace porthole::cmd
