#pragma once
#include <functional>
#include <string>

#include "base/log.h"
#include "client/leader_election.h"
#include "net/child_task.h"
#include "runtime/sync.h"

namespace porthole::cmd {

/// Runs a component of the control plane on one of several servers at a time: on the one that holds the Lease kube-system/COMPONENT, which
/// is upstream's. A server that loses it stops the component and becomes a candidate again; LeaderFence prevents it from writing in the
/// meantime. Lives on one loop. Call resign() before it is destroyed.
class Candidate {
public:
    struct Seams {
        EventLoop& loop;
        client::Client& client;
        Random& random;
        Logger log;
    };
    struct Component {
        std::string name;  ///< "kube-scheduler"
        std::function<Task<>()> start;
        std::function<Task<>()> stop;  ///< also where start() has failed
    };
    /// `identity` is this server's name in the Lease, unique among all.
    Candidate(Seams seams, Component component, std::string identity, client::LeaderElector::Timing timing);

    void start() { running_.start(run()); }
    const std::string& name() const { return component_.name; }
    bool leading() const { return elector_.leading(); }
    /// Stops the component, then allows another server to lead immediately. The component has stopped when this ends, even if the Lease is
    /// lost meanwhile.
    Task<> resign();

private:
    Task<> run();
    Task<> lead();
    Task<> stop();

    const Seams seams_;
    const Component component_;
    const Duration retry_;
    client::LeaderElector elector_;
    Event resigned_;
    bool started_ = false;
    net::ChildTask running_, stopping_;
};

}  // namespace porthole::cmd
