#pragma once
#include <list>
#include <map>
#include <set>
#include <string>

#include "api/core_v1.h"
#include "base/log.h"
#include "client/client.h"
#include "objects/owners.h"
#include "runtime/sync.h"

namespace porthole::client {

/// Reports what happens to objects as core/v1 Events, in the background and without ever failing its caller. Lives on `loop`; it and
/// `client` must outlive run().
///
/// A repeated event raises the count of the first one. Like upstream, an object gets at most 25 events in a burst from one
/// component and then one in five minutes, and from the tenth message for one reason in ten minutes on they are combined into
/// one event. What cannot be written in 12 attempts within two minutes, or comes while a thousand others wait, is dropped.
class EventRecorder {
public:
    /// `host` is where the component runs; "" for those of the control plane.
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

    /// From then on no more is written than `per_second`, after a burst; 0 for no limit, which is the default.
    void limit_rate(double per_second, double burst) { rate_ = per_second, burst_ = tokens_ = burst; }
    /// Writes what is recorded, until cancelled.
    Task<> run();

private:
    /// What is known of events by text key; the one not used for longest is forgotten first.
    template <class T>
    struct Recent {
        T& at(const std::string& key);
        std::map<std::string, std::pair<T, std::list<std::string>::iterator>> entries;
        std::list<std::string> order;
    };
    struct Budget {
        double tokens = 25;
        MonotonicTime refilled{};
        bool known = false;
    };
    struct Similar {
        std::set<std::string> messages;
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
    Recent<Budget> budgets_;
    Recent<Similar> similar_;
    Recent<Written> written_;
    double rate_ = 0, burst_ = 0, tokens_ = 0;
    MonotonicTime refilled_{};
    std::int64_t last_stamp_ = 0;  ///< makes names unique when the clock stands still
};

}  // namespace porthole::client
