#pragma once
#include <memory>
#include <vector>

#include "runtime/random.h"
#include "store/etcd/client.h"

namespace porthole::simulation {

/// The network between one server and the members of etcd: what TCP does on a bad one. Lives on the server's loop, which with `random`
/// outlives it.
class EtcdLink {
public:
    struct Faults {
        bool refuses_dials = false;   ///< nothing listens
        bool stalls_dials = false;    ///< a connection is neither made nor refused
        bool loses_requests = false;  ///< what is sent does not arrive until it is sent again, when this is over
        bool loses_answers = false;
        Duration delay = std::chrono::microseconds(200);  ///< of each message, at least
        Duration jitter = std::chrono::microseconds(300);
        std::size_t segment = 64 << 10;                ///< bytes that arrive at a time
        std::optional<std::size_t> breaks_after = {};  ///< bytes that a connection carries to etcd before it breaks, within a message
    };

    EtcdLink(EventLoop& loop, Random& random);
    ~EtcdLink();
    /// The members as the server reaches them.
    std::vector<store::etcd::Member> through(std::vector<store::etcd::Member> members);

    Faults& faults();
    /// After a change of faults().
    void changed();
    void heal();
    /// Connections break.
    void cut();
    /// How often a message or a connection met a fault.
    std::size_t met() const;

private:
    struct State;
    class Stream;
    std::shared_ptr<State> state_;
};

}  // namespace porthole::simulation
