#include "cmd/verify/plan.h"

#include <algorithm>
#include <iterator>

#include "base/result.h"
#include "base/values/ip.h"
#include "windows/references.h"
#include "windows/support.h"

namespace porthole::cmd::verify {

namespace {

/// Codes of the limits of Windows that checks meet, in the table of src/windows.
constexpr const char *OwnNodePort = "WIN421", *ServiceFromHost = "WIN422", *Icmp = "WIN423", *Overlay = "WIN424", *Suffixes = "WIN425";

/// The table's words, and what to do instead: the table's remedy, or one for the case at hand.
std::string limitation(std::string_view code, const std::string& remedy = "") {
    const windows::Rule* rule = windows::find_rule(code);
    CHECK(rule);
    return std::string(rule->words) + " (by design): " + (remedy.empty() ? std::string(rule->remedy) : remedy) +
           windows::reference_to({rule});
}

/// What a person needs to know who has met a name that works from Linux pods only.
std::string suffix_limitation(const Service& service) {
    return limitation(Suffixes, "write the bare name " + service.name + " within the namespace, and the full name " + service.name + "." +
                                    service.namespace_ + ".svc." + service.cluster_domain + " across namespaces");
}

std::string url(const std::string& host, int port) { return "http://" + host + ":" + std::to_string(port) + "/"; }

std::string host_of(const std::string& url) {
    const std::size_t start = url.find("://") + 3;
    return url.substr(start, url.find_first_of(":/", start) - start);
}

constexpr int ServerPort = 80;

class Planner {
public:
    Planner(const std::vector<Node>& nodes, const Service& service, const std::string& outside)
        : nodes_(nodes), service_(service), outside_(outside) {}

    std::vector<Check> all() && {
        for (const Node& from : nodes_) {
            for (const Node& to : nodes_) pair(from, to);
            // Of an overlay on Windows the gateway is the virtual switch, which is no host.
            if (!from.windows || !from.overlay)
                checks_.push_back({.flow = Flow::PodToGateway, .from = from.name, .to = from.name, .ping = Gateway});
            to_service(from);
            to_outside(from);
        }
        std::vector<Check> sorted;
        for (int flow = 0; flow < FlowCount; ++flow) {
            std::ranges::copy_if(checks_, std::back_inserter(sorted),
                                 [&](const Check& check) { return check.flow == Flow{std::uint8_t(flow)}; });
        }
        return sorted;
    }

private:
    void ping(Flow flow, const Node& from, const Node& to, bool on_host, const std::string& target, std::string limit = "") {
        checks_.push_back(
            {.flow = flow, .from = from.name, .to = to.name, .on_host = on_host, .ping = target, .limitation = std::move(limit)});
    }
    void fetch(Flow flow, const Node& from, const std::string& to, bool on_host, std::string target, std::string limit = "") {
        checks_.push_back(
            {.flow = flow, .from = from.name, .to = to, .on_host = on_host, .url = std::move(target), .limitation = std::move(limit)});
    }

    void pair(const Node& from, const Node& to) {
        const bool other = from.name != to.name;
        if (other) ping(Flow::NodeToNode, from, to, true, to.address);
        const bool hidden = other && (from.windows || to.windows) && (from.overlay || to.overlay);
        fetch(Flow::NodeToPod, from, to.name, true, url(to.server_ip, ServerPort), hidden ? limitation(Overlay) : "");
        ping(Flow::PodToNode, from, to, false, to.address, from.windows ? limitation(Icmp) : "");
        fetch(Flow::PodToPod, from, to.name, false, url(to.server_ip, ServerPort));
        ping(Flow::PodPing, from, to, false, to.server_ip);
        const std::string name = to.server + ".servers." + service_.namespace_ + ".svc." + service_.cluster_domain;
        fetch(Flow::PodByName, from, to.name, false, url(name, ServerPort));
        if (service_.node_port != 0) {
            fetch(Flow::NodePort, from, to.name, false, url(to.address, service_.node_port));
            const bool own = from.windows && !other;
            fetch(Flow::NodePortFromNode, from, to.name, true, url(to.address, service_.node_port), own ? limitation(OwnNodePort) : "");
        }
        // From its own node a Windows host port cannot be reached.
        if (service_.host_port != 0 && other) fetch(Flow::HostPort, from, to.name, false, url(to.address, service_.host_port));
    }

    void to_service(const Node& from) {
        fetch(Flow::ServiceByAddress, from, "", false, url(service_.cluster_ip, service_.port));
        fetch(Flow::ServiceFromNode, from, "", true, url(service_.cluster_ip, service_.port),
              from.windows ? limitation(ServiceFromHost) : "");
        fetch(Flow::ServiceByName, from, "", false, url(service_.name, service_.port));
        fetch(Flow::ServiceByPartName, from, "", false, url(service_.name + "." + service_.namespace_, service_.port),
              from.windows ? suffix_limitation(service_) : "");
        fetch(Flow::ServiceByFullName, from, "", false,
              url(service_.name + "." + service_.namespace_ + ".svc." + service_.cluster_domain, service_.port));
    }

    void to_outside(const Node& from) {
        if (outside_.empty()) return;
        fetch(Flow::OutsideByTcp, from, "", false, outside_);
        checks_.push_back({.flow = Flow::OutsideByPing,
                           .from = from.name,
                           .ping = host_of(outside_),
                           .limitation = from.windows ? limitation(Icmp) : ""});
    }

    const std::vector<Node>& nodes_;
    const Service& service_;
    const std::string& outside_;
    std::vector<Check> checks_;
};

/// Whether a flow works between two nodes; nothing where it was not tried.
std::optional<bool> outcome(const Outcomes& outcomes, Flow flow, const std::string& from, const std::string& to) {
    for (const auto& [check, passed] : outcomes) {
        if (check.flow == flow && check.from == from && check.to == to) return passed;
    }
    return std::nullopt;
}

/// The range of its node's exceptions from address translation in which the target is; "" where it is in none, or has a name.
std::string covering_exception(const Check& check, const std::vector<Node>& nodes) {
    const auto node = std::ranges::find(nodes, check.from, &Node::name);
    const auto target = IpAddress::parse(host_of(check.url));
    if (node == nodes.end() || !target) return "";
    for (const std::string& text : node->nat_exceptions)
        if (const auto range = IpPrefix::parse(text); range && range->contains(*target)) return text;
    return "";
}

/// Windows has several resolvers, which differ: only one of its tools asks as programs do.
std::string dns_hop(const std::string& from, const std::vector<Node>& nodes) {
    const bool windows = std::ranges::any_of(nodes, [&](const Node& node) { return node.windows && node.name == from; });
    return "cluster DNS as pods of " + from + " see it: check their resolver" +
           (windows ? " (there with Resolve-DnsName, since nslookup does not complete names as programs do)" : "") + " and the DNS service";
}

/// Whether what sends frames with MAC addresses of its own, the pods of a Windows node, is cut off from all other nodes while the node and
/// its pods reach each other, and the node the others.
bool drops_foreign_macs(const Node& node, const Outcomes& outcomes, const std::vector<Node>& nodes) {
    if (!node.windows || node.overlay || outcome(outcomes, Flow::PodToPod, node.name, node.name) != true) return false;
    bool tried = false;
    for (const Node& other : nodes) {
        const auto there = outcome(outcomes, Flow::PodToPod, node.name, other.name),
                   back = outcome(outcomes, Flow::PodToPod, other.name, node.name);
        if (other.name == node.name || (!there && !back)) continue;
        tried = true;
        if (there == true || back == true || outcome(outcomes, Flow::NodeToNode, node.name, other.name) != true) return false;
        // Where the node itself does not reach the other's pods either, its routes or the other node are the reason.
        if (outcome(outcomes, Flow::NodeToPod, node.name, other.name) != true) return false;
    }
    return tried;
}

/// Who has the routes by which packets leave `node` for pods of other nodes.
std::string routes_of(const std::string& node, const std::vector<Node>& nodes) {
    const bool routed = std::ranges::any_of(nodes, [&](const Node& other) { return other.routed && other.name == node; });
    return routed ? "the routes of the router between them, which `porthole net routes` prints" : "the routes of " + node;
}

/// A route that is missing on the router looks the same as an adapter that drops, and is met more often.
std::string routed_before(const Node& node) {
    return node.routed
               ? "the route of the router to the pods of " + node.name + ", which `porthole net routes` prints; or, if it is there, "
               : "";
}

std::string pod_hop(const std::string& from, const std::string& to, const Outcomes& outcomes, const std::vector<Node>& nodes) {
    const auto failed = [&](Flow flow, const std::string& a, const std::string& b) { return outcome(outcomes, flow, a, b) == false; };
    for (const Node& node : nodes)
        if (from != to && (node.name == from || node.name == to) && drops_foreign_macs(node, outcomes, nodes))
            return routed_before(node) + "the network adapter of " + node.name +
                   ": it passes frames of the node, but none of its pods, which have MAC addresses of "
                   "their own; if it is a virtual machine, enable MAC address spoofing on all of its adapters (Hyper-V: "
                   "Set-VMNetworkAdapter "
                   "-MacAddressSpoofing On; VMware: accept forged transmits and promiscuous mode)";
    if (failed(Flow::NodeToPod, to, to)) return "node " + to + " to its own pods: check the pod network of " + to;
    if (from == to) return "pods of " + from + " to each other: check the pod network of " + from;
    if (failed(Flow::NodeToNode, from, to) || failed(Flow::NodeToNode, to, from))
        return "between the nodes " + from + " and " + to + ": check cables, firewalls and the nodes' addresses";
    if (failed(Flow::NodeToPod, from, to)) return "node " + from + " to the pods of " + to + ": check " + routes_of(from, nodes);
    if (failed(Flow::PodToPod, from, from)) return "pods of " + from + " to their node: check the pod network of " + from;
    return "pods of " + from + " to those of " + to + ": check forwarding on " + from + " and " + routes_of(to, nodes);
}

}  // namespace

const char* title(Flow flow) {
    switch (flow) {
        case Flow::NodeToNode:
            return "node to node (ping)";
        case Flow::PodToNode:
            return "pod to node (ping)";
        case Flow::PodToGateway:
            return "pod to its gateway (ping)";
        case Flow::NodeToPod:
            return "node to pod";
        case Flow::PodToPod:
            return "pod to pod by address";
        case Flow::PodPing:
            return "pod to pod (ping)";
        case Flow::PodByName:
            return "pod to pod by name";
        case Flow::ServiceByAddress:
            return "pod to service by address";
        case Flow::ServiceFromNode:
            return "node to service by address";
        case Flow::ServiceByName:
            return "pod to service by name";
        case Flow::ServiceByPartName:
            return "pod to service by part of its name";
        case Flow::ServiceByFullName:
            return "pod to service by full name";
        case Flow::NodePort:
            return "pod to node port";
        case Flow::NodePortFromNode:
            return "node to node port";
        case Flow::HostPort:
            return "pod to host port";
        case Flow::OutsideByTcp:
            return "pod to the outside";
        case Flow::OutsideByPing:
            return "pod to the outside (ping)";
    }
    return "";
}

std::vector<Check> plan_checks(const std::vector<Node>& nodes, const Service& service, const std::string& outside) {
    return Planner(nodes, service, outside).all();
}

std::string failing_hop(const Check& check, const Outcomes& outcomes, const std::vector<Node>& nodes) {
    const auto first_unreachable = [&]() -> std::optional<std::string> {
        for (const Node& node : nodes) {
            if (outcome(outcomes, Flow::PodToPod, check.from, node.name) == false) return pod_hop(check.from, node.name, outcomes, nodes);
        }
        return std::nullopt;
    };
    switch (check.flow) {
        case Flow::NodeToNode:
            return "between the nodes " + check.from + " and " + check.to + ": check cables, firewalls and the nodes' addresses";
        case Flow::NodeToPod:
        case Flow::PodToPod:
        case Flow::PodPing:
            return pod_hop(check.from, check.to, outcomes, nodes);
        case Flow::PodToGateway:
            return "pods of " + check.from + " to their gateway: check the pod network of " + check.from;
        case Flow::PodToNode:
            return check.from == check.to ? "pods of " + check.from + " to their node: check the pod network of " + check.from
                                          : "pods of " + check.from + " to node " + check.to + ": check routes and firewalls";
        case Flow::PodByName:
            if (outcome(outcomes, Flow::PodToPod, check.from, check.to) == false) return pod_hop(check.from, check.to, outcomes, nodes);
            return dns_hop(check.from, nodes);
        case Flow::ServiceByName:
        case Flow::ServiceByPartName:
        case Flow::ServiceByFullName:
            if (outcome(outcomes, Flow::ServiceByAddress, check.from, "") == true) return dns_hop(check.from, nodes);
            [[fallthrough]];
        case Flow::ServiceByAddress:
        case Flow::ServiceFromNode:
            if (const auto hop = first_unreachable()) return *hop;
            return "service proxy of " + check.from + ": check its log and its rules";
        case Flow::NodePortFromNode:
            if (outcome(outcomes, Flow::NodeToNode, check.from, check.to) == false)
                return "between the nodes " + check.from + " and " + check.to + ": check cables, firewalls and the nodes' addresses";
            return "service proxy of " + check.to + ": check its log and its rules";
        case Flow::NodePort:
        case Flow::HostPort:
            if (outcome(outcomes, Flow::PodToNode, check.from, check.to) == false && check.from != check.to)
                return "pods of " + check.from + " to node " + check.to + ": check routes and firewalls";
            return (check.flow == Flow::NodePort ? "service proxy of " : "port mappings of ") + check.to + ": check its log and its rules";
        case Flow::OutsideByTcp:
            if (const std::string range = covering_exception(check, nodes); !range.empty())
                return "address translation on " + check.from + ": " + range +
                       " is among its exceptions and covers the target; take it out of Exceptions of OutBoundNAT in the node's CNI "
                       "configuration";
            [[fallthrough]];
        case Flow::OutsideByPing:
            return "pods of " + check.from + " out of the cluster: check address translation on " + check.from;
    }
    return "";
}

}  // namespace porthole::cmd::verify
