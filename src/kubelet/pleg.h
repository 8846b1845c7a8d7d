#pragma once
#include <functional>

#include "kubelet/lifecycle/state_reader.h"

namespace porthole::kubelet {

/// The pod lifecycle event generator: notices changes of the node's pods in the container runtime by listing them every second.
class Pleg {
public:
    /// Called with the uid of each pod that has changed, and after each list.
    struct Handlers {
        std::function<void(const std::string& uid)> changed;
        std::function<void()> listed;
    };
    /// `loop` and `reader` outlive it and its tasks.
    Pleg(EventLoop& loop, StateReader& reader, Handlers handlers)
        : loop_(loop), reader_(reader), handlers_(std::move(handlers)), listed_(loop.now()) {}

    /// An unreachable runtime is not an error.
    Task<> relist();
    /// Until cancelled.
    Task<> run();

    /// Of the last list, by uid.
    const std::map<std::string, PodSighting>& pods() const { return pods_; }
    bool is_running(const std::string& uid) const;
    /// Whether the runtime has told once what is there.
    bool has_listed() const { return has_listed_; }
    /// "" if relisting works.
    std::string problem() const;

private:
    EventLoop& loop_;
    StateReader& reader_;
    Handlers handlers_;
    std::map<std::string, PodSighting> pods_;
    MonotonicTime listed_;
    bool has_listed_ = false;
};

}  // namespace porthole::kubelet
