#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "proxy/nftables/chains.h"
#include "proxy/nftables/elements.h"
#include "proxy/service_table.h"

namespace porthole::proxy::nftables {

struct RuleOptions {
    std::vector<IpPrefix> pod_prefixes;  ///< of the whole cluster
    std::vector<IpPrefix> service_prefixes;
    std::vector<IpAddress> served_here;  ///< service addresses that processes of the node itself answer (cluster DNS)
    /// The bridge hides replies between pods of this node from connection tracking (no br_netfilter): then a pod that reaches a
    /// neighbour through a service is masqueraded, so that the answer comes back through the node.
    bool masquerade_neighbours = false;
    std::uint32_t masquerade_mark = 0x4000;
};

/// Writes nftables text and remembers what it wrote.
///
/// One named map from frontend to a chain, one from frontend and slot to backend. The chains are shared by all frontends with as
/// many backends: "cluster-ip-3" picks a random slot of three. So the cost of a change does not depend on how many services
/// there are. Adding a third backend to 10.96.0.10:80 is:
///
///     delete element ip porthole-proxy frontends { 10.96.0.10 . tcp . 80 }
///     add element ip porthole-proxy frontends { 10.96.0.10 . tcp . 80 : goto cluster-ip-3 }
///     add element ip porthole-proxy endpoints-tcp { 10.96.0.10 . 80 . 2 : 10.244.0.9 . 8080 }
///
/// A backend that goes leaves its slot to the last one. Texts must be executed in the order in which they were made; if one
/// fails, the next must be full().
class RuleSet {
public:
    explicit RuleSet(RuleOptions options) : options_(std::move(options)) {}

    /// The whole table. `from_scratch` also drops remembered clients, for a table whose layout may differ.
    std::string full(const ServiceTable& table, bool from_scratch);
    /// What turns the programmed state into `table`'s for the frontends in `changed`; "" for nothing.
    std::string change(const ServiceTable& table, const std::set<FrontendKey>& changed);

    /// Backends that a frontend had and lost by the last text, and whether it had none before.
    struct Loss {
        FrontendKey frontend;
        std::vector<Backend> lost;
        bool first_backends = false;
        bool sticky = false;
    };
    std::vector<Loss> take_losses() { return std::move(losses_); }

    /// What the kernel must have: elements by map or set ("key : data", or "key") of those that services fill, and the number of rules
    /// by chain.
    std::map<std::string, std::set<std::string>> expected_elements() const;
    const std::map<std::string, std::size_t>& expected_rules() const { return rule_counts_; }

private:
    struct Programmed {
        Frontend frontend;
        std::vector<Backend> slots, inside_slots;
    };
    class Batch;

    std::vector<Element> elements(const FrontendKey& key, const Programmed& programmed) const;
    void require_chain(const ChainSpec& chain, Batch& batch);
    void program(const FrontendKey& key, const Frontend* frontend, Batch& batch);
    void program_addresses(const ServiceTable& table, Batch& batch);
    void note_loss(const FrontendKey& key, const Programmed* before, const Frontend* after);

    RuleOptions options_;
    std::map<FrontendKey, Programmed> programmed_;
    std::map<std::string, std::size_t> rule_counts_;  // by chain
    std::map<IpAddress, int> cluster_ips_;            // with number of frontends
    std::set<IpAddress> hairpins_;
    std::set<IpPrefix> neighbours_;
    std::vector<Loss> losses_;
};

/// The command that deletes one element.
std::string delete_element(const Element& element);
/// The transaction's text that removes the table, whether it is there or not.
std::string remove_table();

}  // namespace porthole::proxy::nftables
