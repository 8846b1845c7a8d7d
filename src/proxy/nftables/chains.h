#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "proxy/service_table.h"

namespace porthole::proxy::nftables {

/// The number that the random choice among a service's endpoints for pods and processes of the node starts with.
inline constexpr std::size_t FirstInternalSlot = 65536;

/// A chain that services of one shape share: it is made when the first of them comes.
struct ChainSpec {
    enum class Purpose : std::uint8_t {
        ClusterIp,       ///< to an endpoint; masquerades what comes from outside the cluster
        External,        ///< to an endpoint; masquerades everything
        Local,           ///< to an endpoint; keeps the client's address
        Internal,        ///< to an endpoint of FirstInternalSlot and following, as ClusterIp
        UpdateAffinity,  ///< notes which endpoint a client has got
    };
    Purpose purpose;
    std::size_t endpoints = 0;              ///< to choose from
    bool has_affinity = false;              ///< goes to the endpoint that was noted, if any
    std::chrono::seconds affinity_time{0};  ///< UpdateAffinity: how long the note lasts

    /// "cluster-ip-3", "local-2-sticky", "remember-600"
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

}  // namespace porthole::proxy::nftables
