#pragma once
#include <set>

#include "base/log.h"
#include "client/client.h"
#include "kubelet/pod/status.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// Writes the statuses that pod workers report to the API, and deletes ended pods there.
///
/// A report replaces the previous one; only differences from the API's copy are sent, as a strategic merge patch with the pod's uid as
/// precondition. Conditions of other owners are never changed. Lives on the kubelet's loop.
class StatusManager {
public:
    StatusManager(EventLoop& loop, client::Client& client, Logger log) : loop_(loop), client_(client), log_(std::move(log)) {}

    /// The last report, or nullptr.
    const core::PodStatus* find(const std::string& uid) const;
    void set(const core::Pod& pod, core::PodStatus status);
    /// Nothing of the pod remains to run or to clean up: once the API has its last status and it is marked for deletion, it is deleted
    /// there.
    void mark_finished(const std::string& uid);
    /// The API's copy of the pod that `uid` is shown as: itself, or a static pod's mirror.
    void observe(const std::string& uid, const core::Pod& api_pod);
    /// The API's copy was removed.
    void unobserve(const std::string& uid);
    void forget(const std::string& uid);
    /// Forgets what was reported: a pod of that uid begins.
    void begin_anew(const std::string& uid);

    /// Writes until cancelled.
    Task<> run();

private:
    struct Entry {
        std::optional<core::PodStatus> status;
        std::optional<core::Pod> api;         ///< the newest copy that we have seen
        std::optional<core::PodStatus> sent;  ///< the last report that went out
        MonotonicTime sent_at{};
        bool finished = false;
        Duration retry{};
        bool retry_pending = false;
    };
    void touch(const std::string& uid);
    Task<> write(std::string uid);
    Task<> patch(std::string uid, std::string body, client::NamespacedName key);
    Task<> remove(std::string uid);
    void try_again(const std::string& uid, std::string_view what, const client::NamespacedName& key, const Error& error);

    EventLoop& loop_;
    client::Client& client_;
    Logger log_;
    std::map<std::string, Entry> entries_;
    std::set<std::string> dirty_;
    Event wake_;
};

/// The patch body that changes `before` to `now`, or "" if they are equal.
std::string status_patch(const std::string& uid, const core::PodStatus& before, const core::PodStatus& now);

}  // namespace porthole::kubelet
