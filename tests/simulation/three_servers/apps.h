#pragma once
#include <map>
#include <string>

#include "simulation/three_servers/world.h"

namespace porthole::simulation {

/// What people run on the cluster, and how they change it: Deployments, a StatefulSet, a DaemonSet, a Service and Jobs, in the namespace
/// "default". Knows what is wanted, so that it can tell when the cluster has come to it.
class Apps {
public:
    explicit Apps(World& world) : world_(world) {}

    /// Creates them; waits for a server.
    Task<> create();
    /// Changes something every second, until cancelled. What is not answered is left.
    Task<> churn();
    /// "" when everything is as wanted, on nodes that live; else what is not.
    Task<std::string> difference();

private:
    Task<> change();
    Task<> scale(std::size_t number, std::uint64_t replicas);
    Task<> delete_some_pod();
    Task<> run_job();
    Task<std::string> difference_of_pods();
    Task<std::string> difference_of_jobs();

    World& world_;
    std::uint64_t jobs_ = 0, images_ = 1;
};

}  // namespace porthole::simulation
