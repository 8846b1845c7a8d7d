#pragma once
#include <map>
#include <string>

#include "api/core_v1.h"
#include "base/log.h"
#include "client/informers/informer.h"
#include "netlink/nft.h"
#include "node_network/routes.h"
#include "runtime/files/file_system.h"

namespace porthole::cni {

/// The collaborators of the node network. All outlive it and live on `loop`.
struct NodeNetworkContext {
    EventLoop& loop;
    client::Informers& informers;  ///< of all Nodes
    net::NetworkStack& stack;
    net::NftExecutor& nft;
    FileSystem& files;
    client::Client& client;  ///< to publish the node's own annotations
    net::Overlay& overlay;
    Logger log;
};

/// The network of a node as a component.
///
/// After each change and once a minute, compares all Node objects with the kernel's state and corrects what differs. Everything remains
/// when it ends, so that pods keep their network while the agent restarts; remove() is for when the node is removed. The informers must
/// have stopped before it is destroyed.
class NodeNetwork {
public:
    NodeNetwork(NodeNetworkContext context, NodeNetworkOptions options);
    NodeNetwork(const NodeNetwork&) = delete;

    /// Sets settings and routes that do not depend on the API; call before run(), and before anything binds the cluster DNS address. Error:
    /// Io if the kernel refuses (missing rights, for example).
    Result<void> prepare();
    /// Whether connection tracking sees replies between pods on the bridge; known after prepare(). If not, the proxy must masquerade
    /// between neighbors.
    bool bridge_netfilter() const { return bridge_netfilter_; }

    /// Works until cancelled; failures are logged and retried. Requires: prepare().
    Task<> run();
    /// Whether the pod range is known and the CNI configuration is written.
    bool ready() const { return !configured_.empty(); }
    /// Removes the routes, devices, rules and CNI configuration that it created. Error: Io.
    Task<> remove();

private:
    void node_seen(const api::core::v1::Node& node);
    Task<> reconcile();
    Result<void> reconcile_overlay(const IpPrefix& pod_prefix);
    bool is_done(const net::OverlayPeer& peer, const Result<void>& done);
    Task<> configure(std::vector<IpPrefix> prefixes);
    Task<> publish(NodeRanges ranges);
    int pod_mtu() const;
    Result<void> reconcile_routes();
    Result<void> write_configuration(const std::vector<IpPrefix>& prefixes);
    std::string configuration_file() const;

    NodeNetworkContext context_;
    NodeNetworkOptions options_;
    client::Informer<api::core::v1::Node>& nodes_informer_;
    std::map<std::string, NodeRanges> nodes_;
    Event wake_;
    std::vector<IpPrefix> configured_;          // the pod range that CNI configuration and rules are for
    std::set<net::OverlayPeer> peers_;          // that the kernel has
    std::set<net::OverlayPeer> refused_peers_;  // that it does not take, logged once
    std::set<IpPrefix> refused_;                // routes that could not be set, logged once
    bool bridge_netfilter_ = false;
};

}  // namespace porthole::cni
