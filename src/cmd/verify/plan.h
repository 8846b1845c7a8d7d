#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::cmd::verify {

/// A participating node.
struct Node {
    std::string name, address;
    bool windows = false, overlay = false;
    bool routed = false;                      ///< a router has the routes to other nodes' pods
    std::string server;                       ///< its server pod's name, "server-1"
    std::string server_ip;                    ///< known once the pod runs
    std::vector<std::string> nat_exceptions;  ///< ranges that pods of a Windows node do not reach by the node's address
};

/// The service in front of all servers.
struct Service {
    std::string name, namespace_, cluster_ip, cluster_domain;
    int port = 80, node_port = 0, host_port = 0;
};

/// The flows between nodes, pods and services, in the order of a report; each depends on those before it.
enum class Flow : std::uint8_t {
    NodeToNode,         ///< ping
    PodToNode,          ///< ping
    PodToGateway,       ///< ping of the gateway in the pod's own route table
    NodeToPod,          ///< HTTP, as all that are not pings
    PodToPod,           ///< by the pod's address
    PodPing,            ///< ping
    PodByName,          ///< by the pod's name
    ServiceByAddress,   ///< from a pod, by cluster IP
    ServiceFromNode,    ///< from a node, by cluster IP
    ServiceByName,      ///< the bare name
    ServiceByPartName,  ///< "service.namespace", between the bare and the full name
    ServiceByFullName,  ///< "service.namespace.svc.<domain>"
    NodePort,           ///< from a pod, at a node's address
    NodePortFromNode,   ///< from a node, at a node's address
    HostPort,           ///< from a pod, at a node's address
    OutsideByTcp,       ///< HTTP to a URL outside the cluster
    OutsideByPing,      ///< ping of that URL's host
};
constexpr int FlowCount = 17;
/// "pod to pod by address"
const char* title(Flow flow);

/// Instead of a host to ping: the default gateway, which only the route table of the pinging side has.
inline constexpr const char* Gateway = "gateway";

/// One attempt: from a node or a pod of a node to something that another node answers for.
struct Check {
    Flow flow = Flow::PodToPod;
    std::string from;        ///< node
    std::string to;          ///< node; "" if no single node answers
    bool on_host = false;    ///< from the node itself instead of a pod on it
    std::string url;         ///< of an HTTP server; "": `ping` it is
    std::string ping;        ///< a host, or Gateway
    std::string limitation;  ///< why it may fail by design; "" if it must not

    auto operator<=>(const Check&) const = default;
};

/// Everything that can be checked between these nodes. `outside` is a URL beyond the cluster, or "".
std::vector<Check> plan_checks(const std::vector<Node>& nodes, const Service& service, const std::string& outside);

/// Results by check.
using Outcomes = std::map<Check, bool>;

/// Where a failed check's packets are lost, and what to examine there.
std::string failing_hop(const Check& check, const Outcomes& outcomes, const std::vector<Node>& nodes);

}  // namespace porthole::cmd::verify
