#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/informers/informer.h"
#include "client/informers/work_queue.h"

namespace porthole::client {

/// When a key is reconciled again even if nothing changes.
class Requeue {
public:
    static Requeue never() { return Requeue(std::nullopt); }
    static Requeue in(Duration delay) { return Requeue(delay); }
    const std::optional<Duration>& delay() const { return delay_; }

private:
    explicit Requeue(std::optional<Duration> delay) : delay_(delay) {}
    std::optional<Duration> delay_;
};

/// A control loop: informers deliver keys, and `reconcile` moves the object of a key one step towards the desired state.
///
/// A derived class registers its sources in its constructor (depends_on, reconcile_each, or handlers that call queue().add) and implements
/// reconcile(). An error is logged and its key is retried with back-off; after `max_retries`, only when the object changes again. Conflict
/// and similar races are expected and logged at debug level. Reconciles of one key never overlap; those of different keys do, up to
/// `workers`. Everything runs on the loop. The informers outlive the controller; its handlers stay subscribed, so the informers must have
/// stopped before the controller is destroyed.
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

    /// Waits until every informer that the controller depends on has synced, then works until cancelled. Call once.
    Task<> run();

protected:
    /// One step for one object. If it no longer exists, clean up or do nothing. Reads informers' caches, which may lag behind the API:
    /// guard deletions with the UID, and expect Conflict. Must be safe to repeat at any time.
    virtual Task<Requeue> reconcile(NamespacedName key) = 0;
    /// Work that does not come from the queue, such as a periodic check. Starts when all informers have synced, ends when cancelled.
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
