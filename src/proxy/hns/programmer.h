#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "hns/client.h"
#include "proxy/hns/host_view.h"
#include "proxy/hns/load_balancer.h"
#include "proxy/hns/own_endpoints.h"

namespace porthole::proxy::hns {

/// Brings a host's load balancers, and the remote endpoints that they need, to the wanted state.
///
/// sync() processes the frontends whose wanted state has changed, and creates what they lack, many in one call; check() reads the host's
/// actual state and marks differences. One caller at a time, on the proxy's loop; references outlive it. It creates, changes and removes
/// only its own objects, and reports conflicts with others.
class Programmer {
public:
    /// Called once for a failure of a frontend whose cause the user has to remove.
    using Tell = std::function<void(const FrontendKey&, const Advice&)>;
    Programmer(porthole::hns::Client& client, HostView& view, Logger log, Tell tell);

    /// Features of the service and facts of the host; if they have changed, all load balancers are processed again.
    void set_host(HostFacts host, bool can_modify);
    /// Sets the desired load balancer of `frontend`; nullopt: none.
    void want(const FrontendKey& frontend, std::optional<LoadBalancer> balancer);

    /// Forgets all load balancers that were created, because the network was replaced.
    void start_over();

    /// Returns the first error after trying everything, or immediately if the service cannot be reached.
    Task<> sync();
    /// Reads the host, including the documents of up to `documents` known objects of each kind, and marks objects that differ from what was
    /// written.
    Task<> check(std::size_t documents);
    /// Removes everything that is its own.
    Task<> remove_all();

    bool pending() const { return !dirty_.empty(); }
    /// Whether some backend on this node has no endpoint yet, because the CNI plugin has not finished.
    bool waits_for_endpoints() const { return !waiting_.empty(); }
    /// The maximum number of destinations, learned from a load balancer that the host refused.
    std::optional<std::size_t> learned_limit() const { return learned_limit_; }
    const ProgrammerCounts& counts() const { return counts_; }

private:
    struct Made {
        hcn::HostComputeLoadBalancer document;
        std::vector<std::string> endpoints;  // everything it needs, by id
    };
    using Refused = OwnEndpoints::Refused;
    /// A load balancer that has not been created yet.
    struct Creation {
        FrontendKey frontend;
        hcn::HostComputeLoadBalancer document;
    };
    Task<> program_some(std::span<const FrontendKey> frontends);
    Task<std::optional<Creation>> program(FrontendKey frontend, const Refused& refused);
    Task<> make(std::vector<Creation> creations);
    Result<void> settle(const FrontendKey& frontend, const Result<void>& done);
    std::map<IpAddress, RemoteAddress> remote_addresses(std::span<const FrontendKey> frontends) const;
    Result<std::vector<std::string>> backends(const LoadBalancer& balancer, const Refused& refused) const;
    Result<std::string> endpoint_of(const IpAddress& address, const Refused& refused) const;
    hcn::HostComputeLoadBalancer document(const LoadBalancer& balancer, const std::vector<std::string>& endpoints) const;
    Task<std::optional<Creation>> put(FrontendKey frontend, hcn::HostComputeLoadBalancer document);
    Task<> take(Creation creation, Result<std::string> made);
    Task<> replace(FrontendKey frontend, hcn::HostComputeLoadBalancer document);
    Task<> resolve_conflict(FrontendKey frontend, hcn::HostComputeLoadBalancer document, Error error);
    Task<> remove_load_balancer(std::string id);
    Task<> remove_unused();
    bool backends_gone(const Made& made) const;
    bool intact(const FrontendKey& frontend, const Made& made) const;
    void hold(const FrontendKey& frontend, Made made);
    void release(const FrontendKey& frontend);
    void tell_once(const FrontendKey& frontend, Advice advice);

    porthole::hns::Client& client_;
    HostView& view_;
    Logger log_;
    Tell tell_;
    HostFacts host_;
    bool can_modify_ = false;
    std::map<FrontendKey, LoadBalancer> wanted_;
    std::set<FrontendKey> dirty_;
    std::set<FrontendKey> waiting_;
    std::map<FrontendKey, Made> made_;
    std::map<std::string, std::size_t> uses_;      // of endpoints, by id
    std::map<std::string, std::string> accepted_;  // load balancers that the service shows otherwise than they were written
    std::map<FrontendKey, Advice> told_;
    std::optional<std::size_t> learned_limit_;
    std::optional<Error> first_failure_;  // of this sync()
    ProgrammerCounts counts_;
    OwnEndpoints endpoints_;
};

/// Whether the host has what was written.
bool same_load_balancer(const hcn::HostComputeLoadBalancer& written, const hcn::HostComputeLoadBalancer& shown);

}  // namespace porthole::proxy::hns
