#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/informer.h"
#include "client/work_queue.h"

namespace porthole::client {

/// When a key wants to be looked at again although nothing has changed.
class Requeue {
public:
    static Requeue never() { return Requeue(std::nullopt); }
    static Requeue in(Duration delay) { return Requeue(delay); }
    const std::optional<Duration>& delay() const { return delay_; }

private:
    explicit Requeue(std::optional<Duration> delay) : delay_(delay) {}
    std::optional<Duration> delay_;
};

/// A control loop: keys come in from informers, `reconcile` brings each one step closer to what is wanted.
///
/// An error is logged and its key comes back with back-off (after `max_retries`, only with the next change); Conflict and
/// NotFound-like races are ordinary and logged at debug. Reconciles of one key never overlap.
class Controller {
public:
    struct Settings {
        std::string name;         ///< for logs
        std::size_t workers = 1;  ///< keys worked on at a time
        int max_retries = -1;     ///< -1: without end
    };

    Controller(EventLoop& loop, Logger log, Settings settings, WorkQueue::RateLimit limit = {});
    virtual ~Controller() = default;
    Controller(const Controller&) = delete;

    const std::string& name() const { return settings_.name; }
    WorkQueue& queue() { return queue_; }

    /// Waits for the first list of every informer the controller depends on, then works until cancelled.
    Task<> run();

protected:
    /// One step for one object. The object may be gone: that is a state like any other.
    virtual Task<Requeue> reconcile(NamespacedName key) = 0;
    /// Work beside the queue, such as a periodic sweep; begins after the first lists and ends when cancelled.
    virtual Task<> background();

    /// The controller's caches: run() waits for each.
    template <class T>
    Informer<T>& depends_on(Informer<T>& informer) {
        sources_.push_back(&informer.core());
        return informer;
    }
    /// Queues the key of every object of `informer` that changes.
    template <class T>
    void reconcile_each(Informer<T>& informer) {
        depends_on(informer).on_change([this](const T& object) { queue_.add(key_of(object)); });
    }

    EventLoop& loop() const { return loop_; }
    const Logger& log() const { return log_; }

private:
    Task<> work();
    void settle(const NamespacedName& key, Result<Requeue> result);

    EventLoop& loop_;
    Logger log_;
    Settings settings_;
    WorkQueue queue_;
    std::vector<InformerCore*> sources_;
};

}  // namespace porthole::client
