#pragma once
#include <memory>
#include <string>

#include "client/client.h"
#include "fleet/fleet.h"
#include "net/child_task.h"
#include "simulation/three_servers/api_link.h"
#include "simulation/three_servers/process_loop.h"

namespace porthole::simulation {

/// A machine with a kubelet that is played: it registers, renews its Lease, reports its status, and its pods start, become ready and end.
class SimNode {
public:
    /// `addresses` outlives it.
    SimNode(sim::SimLoop& loop, const Addresses& addresses, std::size_t number, std::uint64_t seed);
    ~SimNode();

    void start();
    /// The kubelet ends at once; nothing if it does not run. Pods that are there run on when it starts again.
    void kill();
    bool running() const { return main_.running(); }

    const std::string& name() const { return name_; }
    ProcessLoop& loop() { return process_; }
    ApiLink& link() { return link_; }
    client::Client& client() { return client_; }
    /// How often its process has been ended, or it or its connections met another fault.
    std::size_t met() const { return ends_ + process_.met() + link_.met(); }
    Task<> close() { return link_.close(); }

private:
    Task<> serve();

    sim::SimLoop& host_;
    std::string name_;
    fleet::FleetPlan plan_;
    SeededRandom random_;
    ProcessLoop process_;
    ApiLink link_;
    client::Client client_;
    std::unique_ptr<fleet::Fleet> fleet_;
    net::ChildTask main_{process_};
    std::size_t ends_ = 0;
};

}  // namespace porthole::simulation
