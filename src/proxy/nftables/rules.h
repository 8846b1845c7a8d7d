#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "proxy/nftables/elements.h"
#include "proxy/service_table.h"

namespace porthole::proxy::nftables {

/// The number that the random choice among a service's endpoints for pods and processes of the node starts with.
inline constexpr std::size_t FirstInternalSlot = 65536;

/// A chain shared by services with the same properties; created for the first of them.
struct ChainSpec {
    enum class Purpose : std::uint8_t {
        ClusterIp,       ///< to an endpoint; masquerades traffic from outside the cluster
        External,        ///< to an endpoint; masquerades everything
        Local,           ///< to an endpoint; keeps the client's address
        Internal,        ///< to an endpoint of FirstInternalSlot and following, as ClusterIp
        UpdateAffinity,  ///< notes which endpoint a client has got
    };
    Purpose purpose;
    std::size_t endpoints = 0;              ///< to choose from
    bool has_affinity = false;              ///< prefers the endpoint recorded for the client, if any
    std::chrono::seconds affinity_time{0};  ///< UpdateAffinity: how long the note lasts

    /// "cluster-ip-3", "local-2-sticky", "affinity-600"
    std::string name() const;
    /// Its rules, one a line. `masquerade_mark` as for base_rules().
    std::vector<std::string> rules(std::uint32_t masquerade_mark) const;
};
/// To the endpoints of a frontend for everyone.
ChainSpec service_chain(const Frontend& frontend, std::size_t endpoints);
/// To its endpoints for pods and processes of the node.
ChainSpec internal_chain(const Frontend& frontend, std::size_t endpoints);
/// Requires: frontend.affinity.
ChainSpec update_affinity_chain(const Frontend& frontend);

/// Inputs of the rules other than services; fixed while the proxy runs.
struct RuleOptions {
    std::vector<IpPrefix> pod_prefixes;  ///< of the whole cluster
    std::vector<IpPrefix> service_prefixes;
    std::vector<IpAddress> served_here;  ///< service addresses that processes of the node itself answer (cluster DNS)
    /// The bridge hides replies between pods of this node from connection tracking (no br_netfilter): then a pod that reaches a neighbor
    /// through a service is masqueraded, so that the reply passes through the node.
    bool masquerade_neighbors = false;
    std::uint32_t masquerade_mark = 0x4000;
};

/// One transaction: chains first, then removals, then additions.
struct Changes {
    std::string chains;  ///< nftables text that creates chains; most changes need none
    std::vector<Element> removed, added;

    bool empty() const { return chains.empty() && removed.empty() && added.empty(); }
    /// The transaction as nftables text, one command per set; "" if empty.
    std::string text() const;
    /// Adds a chain to create.
    void chain(const std::string& name, const std::vector<std::string>& rules);
};

/// Computes the content of the kernel's table, and remembers it.
///
/// One named map leads from frontend to chain, one from frontend and slot to backend. All frontends with the same number of backends share
/// a chain: "cluster-ip-3" picks a random slot of three. So the cost of a change does not depend on the number of services. Adding a third
/// backend to 10.96.0.10:80 is:
///
///     delete element ip porthole-proxy frontends { 10.96.0.10 . tcp . 80 }
///     add element ip porthole-proxy frontends { 10.96.0.10 . tcp . 80 : goto cluster-ip-3 }
///     add element ip porthole-proxy endpoints-tcp { 10.96.0.10 . 80 . 2 : 10.244.0.9 . 8080 }
///
/// When a backend is removed, the last one takes its slot. Changes must be executed in the order in which they were returned; if one fails,
/// the next must be full(). Runs nothing itself; not thread-safe.
class RuleSet {
public:
    explicit RuleSet(RuleOptions options) : options_(std::move(options)) {}

    /// The whole table. `from_scratch` also drops recorded clients, for a table whose layout may differ.
    std::string full(const ServiceTable& table, bool from_scratch);
    /// The changes from the programmed state to `table`'s, for the frontends in `changed`.
    Changes change(const ServiceTable& table, const std::set<FrontendKey>& changed);

    /// Backends that a frontend lost with the last changes, and whether it had none before.
    struct Loss {
        FrontendKey frontend;
        std::vector<Backend> lost;
        bool first_backends = false;
        bool sticky = false;
    };
    std::vector<Loss> take_losses() { return std::move(losses_); }

    /// The state that the kernel must have: elements by map or set ("key : data", or "key") of those that services fill, and the number of
    /// rules by chain.
    std::map<std::string, std::set<std::string>> expected_elements() const;
    const std::map<std::string, std::size_t>& expected_rules() const { return rule_counts_; }

private:
    struct Programmed {
        Frontend frontend;
        std::vector<Backend> slots, inside_slots;
    };

    std::vector<Element> elements(const FrontendKey& key, const Programmed& programmed) const;
    void require_chain(const ChainSpec& chain, Changes& batch);
    void program(const FrontendKey& key, const Frontend* frontend, Changes& batch);
    void program_addresses(const ServiceTable& table, Changes& batch);
    void note_loss(const FrontendKey& key, const Programmed* before, const Frontend* after);

    RuleOptions options_;
    std::map<FrontendKey, Programmed> programmed_;
    std::map<std::string, std::size_t> rule_counts_;  // by chain
    std::map<IpAddress, int> cluster_ips_;            // with number of frontends
    std::set<IpAddress> hairpins_;
    std::set<IpPrefix> neighbors_;
    std::vector<Loss> losses_;
};

/// The command that deletes one element.
std::string delete_element(const Element& element);
/// The transaction's text that removes the table, whether it is there or not.
std::string remove_table();

}  // namespace porthole::proxy::nftables
