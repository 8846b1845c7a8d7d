#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::cmd::verify {

/// A node that takes part.
struct Node {
    std::string name, address;
    bool windows = false, overlay = false;
    std::string server;     ///< its server pod's name, "server-1"
    std::string server_ip;  ///< known once the pod runs
};

struct Service {
    std::string name, namespace_, cluster_ip, cluster_domain;
    int port = 80, node_port = 0, host_port = 0;
};

/// The flows between nodes, pods and services, in the order of a report; each needs those before it.
enum class Flow : std::uint8_t {
    NodeToNode,         ///< VER-01: ping
    PodToNode,          ///< VER-02: ping
    NodeToPod,          ///< VER-06
    PodToPod,           ///< NET-24
    PodPing,            ///< VER-07: ping
    PodByName,          ///< NET-25
    ServiceByAddress,   ///< NET-26, VER-08
    ServiceFromNode,    ///< VER-08
    ServiceByName,      ///< NET-27
    ServiceByPartName,  ///< DNS-13: "service.namespace", between the bare and the full name
    ServiceByFullName,  ///< VER-09
    NodePort,           ///< SVC-12
    HostPort,           ///< VER-10
    OutsideByTcp,       ///< NET-28
    OutsideByPing,      ///< NET-31
};
constexpr int FlowCount = 15;
/// "pod to pod by address"
const char* title(Flow flow);

/// One attempt: from a node or a pod of a node to something that another node answers for.
struct Check {
    Flow flow = Flow::PodToPod;
    std::string from;      ///< node
    std::string to;        ///< node; "" for what no single node answers for
    bool on_host = false;  ///< from the node itself instead of a pod on it
    std::string url;       ///< of an HTTP server; "": `ping` it is
    std::string ping;
    std::string limitation;  ///< why it may fail by design; "" where it must not

    auto operator<=>(const Check&) const = default;
};

/// Everything that can be checked between these nodes. `outside` is a URL beyond the cluster, or "".
std::vector<Check> plan_checks(const std::vector<Node>& nodes, const Service& service, const std::string& outside);

/// What happened, by check.
using Outcomes = std::map<Check, bool>;

/// Where a failed check's packets stop, and what to look at there.
std::string failing_hop(const Check& check, const Outcomes& outcomes, const std::vector<Node>& nodes);

}  // namespace porthole::cmd::verify
