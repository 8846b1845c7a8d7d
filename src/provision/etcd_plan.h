#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

/// Which step brings the etcd of a control plane nearer to its description: a function of what a run has seen, and of nothing that an
/// earlier run has noted down. So a run that was cut off anywhere goes on.
namespace porthole::provision {

/// A host of the description, on which a member is to run. Members are known by their hosts' addresses.
struct EtcdHostSeen {
    std::string name, address;
    bool is_prepared = false;     ///< its files are as described
    bool has_log = false;         ///< the data of a member; without it, a member has lost its vote and what it acknowledged
    bool is_running = false;      ///< its service
    bool serves_objects = false;  ///< its server has opened an etcd: there is a cluster
    std::string bootstrap;        ///< what its member begins with: see first_bootstrap() and Sealed
};

/// A member that etcd knows.
struct EtcdMemberSeen {
    std::uint64_t id = 0;
    std::string address;
    bool is_learner = false;
    bool is_healthy = false;  ///< it answers, and knows a leader
    bool leads = false;
};

/// What a run has seen. A value.
struct EtcdSeen {
    std::vector<EtcdHostSeen> hosts;      ///< in the description's order
    std::vector<EtcdMemberSeen> members;  ///< none if no majority answers
    bool answers() const { return !members.empty(); }
};

/// One step, on one host or with one member. A value.
struct EtcdStep {
    enum class Kind {
        Prepare,  ///< stop the host's member, if it runs, and give it its files
        Begin,    ///< start the host's member as one of a new etcd
        Start,
        Seal,  ///< a member that has begun must not do so again without its data
        Remove,
        Admit,  ///< start the host's member, without data, as a learner
        Promote,
        Wait,
    };
    Kind kind = Kind::Wait;
    std::string address, name;  ///< of the host
    std::uint64_t member = 0;   ///< of Remove and Promote
    std::string why;            ///< of Remove; for Wait, what has not happened yet
};

/// "etcd member cp-1 started", and "start etcd member cp-1"; "" for Wait.
std::string done_text(const EtcdStep& step);
std::string planned_text(const EtcdStep& step);

/// What a member reads at its start: with a first etcd of all hosts; to join `members`; and, once it has data, nothing to begin with, so
/// that etcd does not start without them.
std::string first_bootstrap(const std::vector<EtcdHostSeen>& hosts);
std::string joining_bootstrap(const std::vector<std::string>& addresses);
extern const char* const SealedBootstrap;

/// The next step until each described host has a member that votes; nullopt when it is so. Members of other hosts are only removed if they
/// do not answer, as the servers of their hosts are still needed. No step takes from etcd its majority. Error: Conflict with the remedy,
/// where only a person can decide.
Result<std::optional<EtcdStep>> next_step(const EtcdSeen& seen);
/// The same for the members of hosts that are no longer described.
Result<std::optional<EtcdStep>> next_removal(const EtcdSeen& seen);

/// What would be seen after a step that succeeds.
EtcdSeen after(EtcdSeen seen, const EtcdStep& step);

}  // namespace porthole::provision
