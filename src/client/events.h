#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "base/log.h"
#include "base/lru_map.h"
#include "client/client.h"
#include "objects/owners.h"
#include "runtime/sync.h"

namespace porthole::client {

/// Reports what happens to objects as core/v1 Events, in the background; the caller never sees a failure. Lives on `loop`; it and `client`
/// must outlive run().
///
/// A repeated event increases the count of the first one. As upstream, an object gets at most 25 events in a burst from one component and
/// then one in five minutes. From the tenth message for one reason in ten minutes on, they are combined into one event. Events that cannot
/// be written in 12 attempts within two minutes, or that arrive while a thousand others wait, are dropped.
class EventRecorder {
public:
    /// `host` is the component's node; "" for those of the control plane.
    EventRecorder(EventLoop& loop, Client& client, Logger log, std::string component, std::string host = "");

    void normal(const api::core::v1::ObjectReference& object, std::string reason, std::string message) {
        record(object, "Normal", std::move(reason), std::move(message));
    }
    void warning(const api::core::v1::ObjectReference& object, std::string reason, std::string message) {
        record(object, "Warning", std::move(reason), std::move(message));
    }
    template <class T>
        requires requires { T::kind(); }
    void normal(const T& object, std::string reason, std::string message) {
        normal(objects::object_reference(object), std::move(reason), std::move(message));
    }
    template <class T>
        requires requires { T::kind(); }
    void warning(const T& object, std::string reason, std::string message) {
        warning(objects::object_reference(object), std::move(reason), std::move(message));
    }
    /// `annotations` go into a new event's metadata.
    void record(const api::core::v1::ObjectReference& object, std::string type, std::string reason, std::string message,
                std::map<std::string, std::string> annotations = {});

    /// From now on, at most `per_second` events are written, after a burst; 0 means no limit, which is the default.
    void limit_rate(double per_second, double burst) { rate_ = per_second, burst_ = tokens_ = burst; }
    /// Writes recorded events until cancelled.
    Task<> run();

private:
    struct Budget {
        double tokens = 25;
        MonotonicTime refilled{};
        bool known = false;
    };
    struct Similar {
        std::vector<std::size_t> messages;  ///< hashes: two messages that count as one do no harm
        MonotonicTime last{};
    };
    struct Written {
        NamespacedName event;
        std::int32_t count = 0;
    };

    bool within_budget(const std::string& key);
    bool combine(const std::string& key, const std::string& message);
    /// Waits until the next may be written.
    Task<> pace();
    Task<> write(api::core::v1::Event event);
    Task<> create_or_count(const api::core::v1::Event& event, const std::string& key);

    EventLoop& loop_;
    Client& client_;
    Logger log_;
    std::string component_, host_;
    Channel<api::core::v1::Event> pending_;
    // What is known of the latest events, by text.
    LruMap<Budget> budgets_;
    LruMap<Similar> similar_;
    LruMap<Written> written_;
    double rate_ = 0, burst_ = 0, tokens_ = 0;
    MonotonicTime refilled_{};
    std::int64_t last_stamp_ = 0;  ///< makes names unique if the clock does not advance
};

}  // namespace porthole::client
