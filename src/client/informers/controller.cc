#include "client/informers/controller.h"

#include <algorithm>

#include "base/result.h"
#include "runtime/scope.h"

namespace porthole::client {

namespace {
/// What waits for a moment of the wall clock looks again: the clock may have been wrong when it began to wait.
constexpr Duration LongestWait = std::chrono::minutes(10);
}  // namespace

Controller::Controller(EventLoop& loop, Logger log, Settings settings, WorkQueue::RateLimit limit)
    : loop_(loop), log_(log.named(settings.name)), settings_(std::move(settings)), queue_(loop, limit) {}

Task<> Controller::run() {
    for (InformerCore* source : sources_) {
        CO_TRY_VOID(co_await source->wait_for_sync());
    }
    log_.debug("caches are filled, working");
    std::vector<Task<>> tasks;
    tasks.push_back(background());
    for (std::size_t i = 0; i < settings_.workers; ++i) tasks.push_back(work());
    CO_TRY_VOID(co_await when_all(std::move(tasks)));
    co_return {};
}

Task<> Controller::background() { co_return {}; }

Task<> Controller::work() {
    for (;;) {
        CO_TRY(const NamespacedName key, co_await queue_.next());
        Result<Requeue> result = co_await reconcile(key);
        const bool cancelled = is_cancelled(result);
        if (!cancelled) settle(key, std::move(result));
        queue_.done(key);
        if (cancelled) co_return cancelled_error();
    }
}

void Controller::settle(const NamespacedName& key, Result<Requeue> result) {
    if (result) {
        queue_.forget(key);
        if (result->delay()) queue_.add_after(key, std::min(*result->delay(), LongestWait));
        return;
    }
    const Error& error = result.error();
    const bool race = error.reason == Reason::Conflict || error.reason == Reason::NotFound || error.reason == Reason::AlreadyExists;
    if (settings_.max_retries >= 0 && queue_.retries(key) >= settings_.max_retries) {
        log_.error("giving up until the next change", {{"key", key.text()}, {"error", error.message}});
        queue_.forget(key);
        return;
    }
    if (race)
        log_.debug("will try again", {{"key", key.text()}, {"error", error.message}});
    else
        log_.warn("reconcile failed, will try again", {{"key", key.text()}, {"error", error.message}});
    queue_.add_rate_limited(key);
}

}  // namespace porthole::client
