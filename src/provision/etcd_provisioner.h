#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress_report.h"
#include "provision/control_plane_description.h"
#include "provision/etcd_host.h"
#include "provision/etcd_roster.h"

namespace porthole::provision {

/// Brings the etcd of a control plane to the state of its description, step by step (etcd_plan.h), looking at hosts and members before each
/// one. A part of the servers' run, which has reserved the hosts. Lives on `loop`; what the seams refer to, and `plane`, must outlive it.
class EtcdProvisioner {
public:
    struct Seams {
        EventLoop& loop;
        Transport& transport;
        ConnectEtcd connect;
        ProgressReport& report;
    };
    /// `new_token`: the servers' token, if the hosts have none. Requires: plane.own_etcd.
    EtcdProvisioner(Seams seams, const ControlPlaneDescription& plane, std::string new_token);
    ~EtcdProvisioner();

    /// Asks a host of the description. Errors: those of EtcdHost.
    Task<> ask(std::size_t host);
    /// Learns the authority and the servers' token of the hosts, or makes them for a new cluster; nothing is written yet. Requires: all
    /// hosts have been asked. Error: Conflict if hosts differ.
    Task<> meet();
    const std::string& server_token() const { return token_; }

    /// Calls `print` with what apply() would do, and with the members that stay. Errors: as apply().
    Task<> plan(std::function<void(const std::string& line)> print);
    /// Until each described host has a member that votes. Errors: Conflict where only a person can decide, otherwise the report says what
    /// failed.
    Task<> apply();
    /// Takes out the members of hosts that are not described.
    Task<> remove_surplus();

private:
    struct Member {
        MachineDescription wanted;
        EtcdHost host;
        EtcdFacts facts;
    };
    using NextStep = Result<std::optional<EtcdStep>> (*)(const EtcdSeen&);
    Member& member_at(const std::string& address);
    Task<> learn_authority();
    Task<> learn_token();
    Task<> ask_all();
    Task<EtcdSeen> look();
    Task<bool> converge(NextStep next);
    Task<> carry_out(EtcdStep step, EtcdSeen seen);
    Task<> prepare(Member& member);
    Task<> begin(Member& member, std::string bootstrap);
    Task<std::string> explained(EtcdStep step, std::string why);

    Seams seams_;
    const ControlPlaneDescription& plane_;
    std::vector<std::unique_ptr<Member>> members_;  ///< in the description's order
    std::optional<net::CertificateAuthority> authority_;
    std::unique_ptr<EtcdRoster> roster_;  ///< through the members that were last seen running; null if there were none
    std::string token_;
};

}  // namespace porthole::provision
