#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "client/informers/informer.h"
#include "cni/flannel/cni_config.h"
#include "cni/flannel/subnet_file.h"
#include "cni/flannel/windows_network.h"
#include "runtime/files/file_system.h"

namespace porthole::cni::flannel {

/// The collaborators of the network manager. All outlive it and live on `loop`.
struct DaemonContext {
    EventLoop& loop;
    client::Informers& informers;  ///< of all Nodes
    client::Client& client;
    porthole::hns::Hns& hns;
    HostRoutes& routes;
    FileSystem& files;
    Logger log;
    std::function<std::string()> adapters = {};  ///< of the machine, for the log
};

/// Options of the network manager.
struct DaemonOptions {
    std::string node_name;
    NetworkConfig network;
    IpAddress address;         ///< at which other nodes reach this one
    IpPrefix address_network;  ///< in which it is
    std::string adapter;       ///< "" leaves the choice to the host network service
    int mtu = 1500;            ///< of the adapter
    bool ip_masq = true;
    std::string subnet_file = "C:/run/flannel/subnet.env";
    std::string cni_config_file;  ///< "": not written by this program
    std::vector<IpPrefix> service_prefixes;
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    Duration check_interval = std::chrono::seconds(10);   ///< between checks of the host's actual state
    Duration network_patience = std::chrono::minutes(2);  ///< for attempts to create a network that did not exist
};

/// The network manager of a Windows node as a component.
///
/// It waits for the node's pod range, creates the HNS network, publishes the node's lease in annotations, writes subnet.env and last the
/// CNI configuration, and then keeps the routes to other nodes' pods up to date with the API. Everything remains when it ends. The
/// informers must have stopped before it is destroyed.
class Daemon {
public:
    Daemon(DaemonContext context, DaemonOptions options);
    Daemon(const Daemon&) = delete;

    /// Works until cancelled; failures are logged and retried. Error: Timeout, if HNS does not create the network within
    /// `network_patience`: a restart of the program may succeed.
    Task<> run();
    /// The network is there and pods may start.
    bool ready() const { return ready_; }

private:
    void node_seen(const api::core::v1::Node& node);
    Task<> reconcile();
    Task<> ensure_network();
    Duration until_next_look() const;
    Result<void> check_back_ends() const;
    Error what_is_missing(const api::core::v1::Node& self) const;
    Task<> publish(const api::core::v1::Node& self);
    std::string nat_exceptions();
    Result<void> write_files(const IpPrefix& subnet);
    Result<void> write(const std::string& path, const std::string& text);
    std::vector<Lease> others() const;

    DaemonContext context_;
    DaemonOptions options_;
    client::Informer<api::core::v1::Node>& nodes_;
    std::map<std::string, Lease> leases_;
    std::unique_ptr<WindowsNetwork> network_;
    std::optional<IpPrefix> subnet_;  // that network_ is for
    std::string trouble_;             // the last one logged
    Event wake_;
    bool ready_ = false;
    std::optional<MonotonicTime> making_since_;  ///< of a network that is not there
    bool was_making_ = false;                    ///< whether the last attempt reached the creation
};

}  // namespace porthole::cni::flannel
