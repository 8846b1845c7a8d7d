#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "local_cluster/processes/child_process.h"
#include "local_cluster/state/data_dir.h"
#include "local_cluster/state/server_arguments.h"
#include "local_cluster/state/windows_node.h"
#include "node_join/cluster_network.h"

namespace porthole::local_cluster {

/// A cluster elsewhere that this machine's hosts join, and the credentials for both directions.
struct ForeignCluster {
    std::string server, token, ca_hash;
    node_join::NetworkWishes wishes;  ///< the user's settings of its network
    bool operator==(const ForeignCluster&) const = default;
};

/// The user's options; kept across restarts.
struct ClusterOptions {
    int servers = 1;  ///< API servers: 1 with the embedded store, or 3 or 5 with as many members of an etcd of the cluster's own
    int linux_nodes = 1;
    std::vector<WindowsNode> windows_nodes;  ///< emulated
    std::string cluster_cidr = "10.244.0.0/16";
    std::string service_cidr = "10.96.0.0/12";
    std::string backend = "host-gw";  ///< of the pod network between nodes; or "vxlan", "alloc"; "" for what a foreign cluster says
    std::string cluster_dns = "10.96.0.10";
    std::string cluster_domain = "cluster.local";
    std::string node_cidr = "10.89.0.0/24";  ///< the hosts' own addresses; the first is this machine's
    std::uint16_t port = 6443;               ///< of every API server; several servers have separate addresses
    bool hardened = false;                   ///< configured for the CIS Kubernetes Benchmark, see hardened.h
    std::string wine_root;  ///< of the pods on emulated Windows nodes that name none: directory of a Wine; "" for the installed one
    ServerArguments server_arguments;       ///< replace the servers' default arguments, or add to them
    std::optional<ForeignCluster> foreign;  ///< then there is no server here, and no Linux node
    std::string host_prefix;                ///< before the hosts' names, which must be unique in a foreign cluster
    std::string bridge;                     ///< an existing one that the hosts are joined to, NAME or NAME@NAMESPACE; "" for one of our own
    int first_host = 2;                     ///< number in node_cidr of the first host that is not this machine
    bool operator==(const ClusterOptions&) const = default;
};

/// How many API servers there can be. Error: BadRequest.
Result<void> check_servers(int servers);

/// Parses the value of --nodes, such as "linux=1,windows=2:2019,windows=1@/srv/wine-10", into `options`. A Windows node emulates Server
/// 2022 by default. Error: BadRequest, with what to write.
Result<void> parse_nodes(const std::string& text, ClusterOptions& options);
/// The same for what a person has written. Nodes of a kind that are named twice in a row are refused: the numbers may be meant as a total
/// or as a sum. A kind may come again after another, since Windows nodes are named in their order.
Result<void> parse_typed_nodes(const std::string& text, ClusterOptions& options);

/// The reverse of parse_nodes(), for the nodes of `options`; parse_typed_nodes() takes it, too.
std::string nodes_text(const ClusterOptions& options);

/// The host of one node.
struct NodeHost {
    std::string name;  ///< for example "linux-2" or "windows-1"
    int number = 0;    ///< in node_cidr; the machine itself is 1
    std::string address;
    std::string network_namespace;  ///< name below /run/netns; "" for the first node, which is the machine itself
    std::string windows_profile;    ///< of an emulated Windows host; "" for Linux
    std::string wine_root;          ///< of its pods: directory of a Wine; "" for the installed one

    bool is_windows() const { return !windows_profile.empty(); }
};

/// The addresses of the members of the cluster's own etcd. Chosen once, because etcd stores them with its data.
struct EtcdPlace {
    std::string network;     ///< the first three parts of their loopback addresses: "127.71.5"; the last is the member's number
    std::uint16_t port = 0;  ///< for clients; the next one is for other members. 0: not chosen yet
    bool operator==(const EtcdPlace&) const = default;
};

/// A cluster on this machine as stored in cluster.json, so that any later process can find, adopt or end it.
struct Cluster {
    ClusterOptions options;
    std::uint64_t network_namespace = 0;  ///< the number of the namespace of this machine's part; 0 if unknown
    ProcessId supervisor;
    EtcdPlace etcd;                              ///< where there are several servers
    std::map<std::string, ProcessId> processes;  ///< "server" or "server-1", …; "etcd-1", "linux-1/containerd", "linux-1/agent", …
    /// Every host that exists, by name, with its number: addresses do not change when other hosts are added or removed.
    std::map<std::string, int> host_numbers;

    /// The wanted hosts.
    std::vector<NodeHost> nodes(const DataDir& data) const;
    /// Existing hosts that are no longer wanted.
    std::vector<NodeHost> surplus_hosts(const DataDir& data) const;
    std::vector<NodeHost> all_hosts(const DataDir& data) const;
    /// Assigns numbers to wanted hosts without one.
    void number_hosts(const DataDir& data);
    /// This machine's in the hosts' network, the first: there every node reaches the server, or the first of several.
    std::string server_address() const;
    /// The addresses of all servers. Further servers have the last addresses of the hosts' network.
    std::vector<std::string> server_addresses() const;
    /// The same as URLs: how nodes reach them.
    std::vector<std::string> server_urls() const;
    bool has_several_servers() const { return options.servers > 1 && !options.foreign; }
    /// Where each Linux node's agent balances connections to several servers, on the node's loopback address.
    std::uint16_t balancer_port() const { return static_cast<std::uint16_t>(options.port + 1); }
    /// Of the emulated router that has the routes to pods with the back end "alloc"; "" if there is none.
    std::string router_address() const;
    /// How this machine reaches the API: the server, or the first node's balancer, behind which there are several.
    std::string server_url() const;
    /// What its processes reach without a proxy, for NO_PROXY: each other, pods and services.
    std::vector<std::string> proxy_exceptions() const;

    /// Error: NotFound if there is no cluster in `data`, Forbidden if it cannot be read.
    static Result<Cluster> load(const DataDir& data);
    Result<void> save(const DataDir& data) const;
};

/// Whether a running cluster of `now` may become one of `wanted`: hosts may be added or removed at the end of their system's list, nothing
/// else may change. Error: AlreadyExists, which ends with the remedy `end_it`.
Result<void> check_resize(const ClusterOptions& now, const ClusterOptions& wanted, const std::string& end_it);

/// Whether a stopped cluster of `now` can be started with `wanted`: its objects contain its networks and its domain. Error: AlreadyExists,
/// which ends with the remedy `delete_it`.
Result<void> check_restart(const ClusterOptions& now, const ClusterOptions& wanted, const std::string& delete_it);

/// The range of pods, of services or of nodes. Errors: BadRequest for anything but one of IPv4; names `flag` where it has several.
Result<IpPrefix> cluster_range(const std::string& flag, const std::string& text);

/// Whether nodes, services and pods have ranges of their own with room for all. Error: BadRequest, naming the flags.
Result<void> check_networks(const ClusterOptions& options);

/// A node's range of pods as the router may have it; the object of a node may name any. Errors: BadRequest for no range,
/// Forbidden for one that is not inside of --cluster-cidr.
Result<IpPrefix> check_pod_range(const ClusterOptions& options, const std::string& text);

/// The `index`th address of an IPv4 network ("10.89.0.0/24", 2 -> "10.89.0.2"). Error: BadRequest, naming the remedy.
Result<std::string> address_in(const std::string& cidr, unsigned index);
/// "10.89.0.0/24" -> 24. Requires a network that address_in accepts.
int prefix_length(const std::string& cidr);

}  // namespace porthole::local_cluster
