#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "client/events.h"
#include "client/informers/informer.h"
#include "hns/client.h"
#include "proxy/health_server.h"
#include "proxy/hns/programmer.h"
#include "proxy/service_feed.h"

namespace porthole::proxy::hns {

/// Options of the kernelspace proxy.
struct KernelspaceOptions {
    std::string node_name;
    std::string network_name;
    std::optional<IpAddress> node_ip;     ///< absent: the node's InternalIP in the API
    std::optional<IpAddress> source_vip;  ///< used on an overlay; absent: one is reserved
    bool enable_dsr = false;
    bool overlay_gate = true;
    bool forward_health_check_vip = false;
    std::string root_endpoint_name = "cbr0";
    std::optional<std::size_t> backend_limit;            ///< absent: by the version of the host network service
    Duration check_interval = std::chrono::seconds(10);  ///< between checks of the host's actual state
};

/// The collaborators of the proxy. All outlive it and live on `loop`; `health` may be null.
struct KernelspaceContext {
    EventLoop& loop;
    client::Informers& informers;  ///< of all Services, EndpointSlices and Nodes
    porthole::hns::Hns& hns;
    client::EventRecorder& events;
    HealthListener* health = nullptr;
    /// The MAC of the host's interface that has an address; "" if unknown.
    std::function<std::string(const IpAddress&)> mac_of;
    Logger log;
    /// An address for the node out of the named network's range, the same one each time. Without it an overlay needs source_vip.
    std::function<Result<IpAddress>(const std::string& network, const IpPrefix& range)> reserve_source_vip;
};

/// Destinations of one load balancer that a host of that version supports, unless the host has refused fewer.
std::size_t usual_backend_limit(porthole::hns::HnsVersion version);

/// The service proxy of a Windows node as a component: HNS load balancers for the services of the API.
///
/// It waits for the Node of this machine and the HNS network, watches the API, programs only differences, and checks the host every
/// `check_interval` and at every notification. Load balancers remain when it ends; the next proxy recognizes and adopts them. The informers
/// must have stopped before it is destroyed.
class KernelspaceProxy final : public ProxyStatus {
public:
    KernelspaceProxy(KernelspaceContext context, KernelspaceOptions options);
    KernelspaceProxy(const KernelspaceProxy&) = delete;

    /// Works until cancelled. Errors that end it: BadRequest, MethodNotAllowed for options that this host does not support.
    Task<> run();
    /// Checks the host whenever HNS reports a change, until cancelled; runs concurrently with run().
    Task<> listen();
    /// Removes everything that the proxy created.
    Task<> clean_up();

    const ProgrammerCounts& counts() const { return programmer_.counts(); }
    bool in_step() const { return connected_ && !pending_since_ && !programmer_.pending(); }
    MonotonicTime last_synced() const override { return last_synced_; }
    std::optional<MonotonicTime> pending_since() const override { return pending_since_; }

private:
    void changed();
    Task<> probe_host();
    Task<> wait_for_node();
    bool is_of_this_machine(const IpAddress& address) const;
    Task<> follow_network();
    Task<> read_network();
    Task<> find_root_endpoint();
    Task<> work();
    Task<> sync();
    Task<> check();
    void take_changes();
    void fill_tables();
    void learn_facts();
    Result<void> reserve_source_vip();
    void plan_all();
    void plan(ServiceTable& table, const FrontendKey& frontend);
    void unwant_health_check(const FrontendKey& frontend);
    void advise(const ServiceInfo& service);
    void warn(const std::string& service, const Advice& advice);
    std::map<std::uint16_t, ServiceTable::Health> health() const;

    KernelspaceContext context_;
    KernelspaceOptions options_;
    porthole::hns::Client client_;
    porthole::hns::Features features_;
    HostView view_;
    Programmer programmer_;
    HostFacts host_;
    ServiceTable table_v4_, table_v6_;
    std::map<const ServiceTable*, std::set<std::string>> cut_;  // services that are served in part, logged once
    ServiceFeed feed_;
    std::map<FrontendKey, FrontendKey> health_checks_;  // by the ingress address's frontend
    std::map<std::string, std::set<Advice>> told_;      // to services
    Event wake_;
    bool connected_ = false;  // the network was found
    bool look_ = true;        // at the host, before anything else
    MonotonicTime last_synced_{}, last_checked_{};
    std::optional<MonotonicTime> pending_since_;
};

}  // namespace porthole::proxy::hns
