#include <fmt/core.h>

#include <algorithm>

#include "hns/emulator/data_plane/linux/addressing.h"
#include "hns/emulator/data_plane/linux/contributions.h"
#include "hns/emulator/data_plane/linux/rules.h"

namespace porthole::hns::emulator {

namespace {

struct Target {
    std::string address;
    const Endpoint* endpoint;
};

std::vector<Target> targets_of(const LoadBalancer& balancer, const View& view) {
    std::vector<Target> targets;
    for (const std::string& id : balancer.document.host_compute_endpoints) {
        const Endpoint* endpoint = find(view.model.endpoints, id);
        if (!endpoint) continue;
        std::string address = ipv4_of(*endpoint);
        if (!address.empty()) targets.push_back({std::move(address), endpoint});
    }
    return targets;
}

/// What one port of a load balancer needs.
class PortRules {
public:
    PortRules(const LoadBalancer& balancer, const hcn::LoadBalancerPortMapping& port, const std::vector<Target>& targets, const View& view)
        : port_(port), targets_(targets), view_(view), protocol_(port.protocol == Protocol::Tcp ? "tcp" : "udp") {
        const Network* network = view.network_of(balancer);
        const bool direct = (balancer.document.flags & LoadBalancerFlags::EnableDirectServerReturn) != 0;
        if (network && !direct) source_ = ipv4_or_nothing(balancer.document.source_vip);
        if (network && !direct && source_.empty()) source_ = network->management_address;
        has_local_endpoint_ = network && view.has_local_endpoint(network->document.id);
    }

    void add_frontend(const std::string& vip, Contribution& all) const {
        const bool is_external = flagged(PortMappingFlags::VipExternalIp) || flagged(PortMappingFlags::UseMux);
        // Addresses that exist only on nodes; others may have an owner outside.
        if (!is_external) all.elements.push_back({"vips", vip, ""});
        if (targets_.empty()) return;
        const std::string key = fmt::format("{} . {} . {}", vip, protocol_, port_.external_port);
        if (flagged(PortMappingFlags::PreserveDip)) return add_kept(vip, key, all);
        const Chain chain = add_chain(Balancer::Kind::Frontend, targets_.size(), all);
        all.elements.push_back({"frontends", key, "goto " + chain.name});
        const bool served_outside = is_external || !view_.options.outside_needs_flag;
        if (served_outside && !flagged(PortMappingFlags::EnableInternalLoadBalancer)) {
            all.elements.push_back({"outside-frontends", key, "goto " + chain.name});
        }
        if (!source_.empty()) all.elements.push_back({"lb-sources", key, source_});
        for (std::size_t slot = 0; slot < targets_.size(); ++slot) {
            all.elements.push_back({"backends-" + protocol_, fmt::format("{} . {} . {}", vip, port_.external_port, slot),
                                    fmt::format("{} . {}", targets_[slot].address, port_.internal_port)});
        }
    }

    void add_node_port(Contribution& all) const {
        if (targets_.empty() || !has_local_endpoint_) return;
        const Chain chain = add_chain(Balancer::Kind::NodePort, targets_.size(), all);
        const std::string key = fmt::format("{} . {}", protocol_, port_.external_port);
        all.elements.push_back({"node-ports", key, "goto " + chain.name});
        if (!source_.empty()) all.elements.push_back({"node-sources", key, source_});
        for (std::size_t slot = 0; slot < targets_.size(); ++slot) {
            all.elements.push_back({"node-backends-" + protocol_, fmt::format("{} . {}", port_.external_port, slot),
                                    fmt::format("{} . {}", targets_[slot].address, port_.internal_port)});
        }
    }

private:
    bool flagged(std::uint32_t flag) const { return (port_.flags & flag) != 0; }

    Chain add_chain(Balancer::Kind kind, std::size_t slots, Contribution& all) const {
        Chain chain = balancer_chain({.kind = kind, .slots = slots, .distribution = std::min(port_.distribution_type, 2u)});
        all.chains.push_back(chain);
        return chain;
    }

    /// Packets stay as they are and are routed to a backend of this host by a table of its own.
    void add_kept(const std::string& vip, const std::string& key, Contribution& all) const {
        std::vector<const Endpoint*> here;
        for (const Target& target : targets_) {
            if (target.endpoint->is_attached() && !is_remote(target.endpoint->document)) here.push_back(target.endpoint);
        }
        if (here.empty()) return;
        const Chain chain = add_chain(Balancer::Kind::KeptDestination, here.size(), all);
        all.elements.push_back({"preserved", key, "goto " + chain.name});
        for (std::size_t slot = 0; slot < here.size(); ++slot) {
            // A preference before that of the main table, whose default route would take everything.
            const std::uint32_t number = here[slot]->number, table = 10000 + number;
            const std::string mark = fmt::format("{:#x}", KeptDestinationMark | number);
            all.elements.push_back({"kept-backends-" + protocol_, fmt::format("{} . {} . {}", vip, port_.external_port, slot), mark});
            const std::string rule = fmt::format("pref {0} fwmark {1} lookup {0} protocol 81\n", table, mark);
            all.fixtures.push_back({.key = fmt::format("rule {}", table),
                                    .stage = Stage::Route,
                                    .program = "ip",
                                    .make = "rule add " + rule,
                                    .unmake = "rule del " + rule,
                                    .replaces = false});
            all.fixtures.push_back({.key = fmt::format("route default table {}", table),
                                    .stage = Stage::Route,
                                    .program = "ip",
                                    .make = fmt::format("route replace default table {} dev {} proto 81\n", table, port_name(*here[slot])),
                                    .unmake = fmt::format("route del default table {} proto 81\n", table),
                                    .parent = "link " + port_name(*here[slot])});
        }
    }

    const hcn::LoadBalancerPortMapping& port_;
    const std::vector<Target>& targets_;
    const View& view_;
    std::string protocol_, source_;
    bool has_local_endpoint_ = false;
};

}  // namespace

Contribution needs(const LoadBalancer& balancer, const View& view) {
    Contribution all;
    const std::vector<Target> targets = targets_of(balancer, view);
    for (const auto& port : balancer.document.port_mappings) {
        if (port.protocol != Protocol::Tcp && port.protocol != Protocol::Udp) continue;
        const PortRules rules(balancer, port, targets, view);
        if (balancer.document.frontend_vips.empty()) rules.add_node_port(all);
        for (const std::string& vip : balancer.document.frontend_vips) {
            if (!ipv4_or_nothing(vip).empty()) rules.add_frontend(vip, all);
        }
    }
    return all;
}

}  // namespace porthole::hns::emulator
