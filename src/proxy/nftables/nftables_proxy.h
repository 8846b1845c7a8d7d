#pragma once
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "client/informers/informer.h"
#include "netlink/conntrack.h"
#include "netlink/nft.h"
#include "proxy/health_server.h"
#include "proxy/nftables/rules.h"
#include "proxy/service_feed.h"

namespace porthole::proxy::nftables {

struct Listing;

/// The collaborators of the proxy. All outlive it and live on `loop`; `health` may be null.
struct NftablesContext {
    EventLoop& loop;
    client::Informers& informers;  ///< of all Services, EndpointSlices and Nodes
    net::NftExecutor& nft;
    net::Conntrack& conntrack;
    HealthListener* health = nullptr;
    Logger log;
};

/// Options of the nftables proxy.
struct NftablesOptions {
    std::string node_name;
    RuleOptions rules;
    Duration check_interval = std::chrono::seconds(30);  ///< between checks of the kernel's actual state
};

/// Counted since the proxy was made; never falls.
struct SyncCounts {
    std::uint64_t full_syncs = 0, partial_syncs = 0, failures = 0, repairs = 0;
};

/// The service proxy of a node as a component.
///
/// Writes the whole table once, then only differences, with all pending changes in one transaction. After a failure, or when another
/// program has changed the table, the whole table is written again. The rules remain when it ends, so that traffic continues while the
/// agent restarts; remove_rules() is for when the node is removed. The informers must have stopped before it is destroyed.
class NftablesProxy final : public ProxyStatus {
public:
    NftablesProxy(NftablesContext context, NftablesOptions options);
    NftablesProxy(const NftablesProxy&) = delete;

    /// Waits for the first lists, then works until cancelled.
    Task<> run();

    const SyncCounts& counts() const { return counts_; }
    /// Whether everything known has been programmed.
    bool in_step() const { return synced_ && !wake_.is_set() && !table_.changed(); }
    /// When the kernel last had the state that the API wants, and since when a change has been pending: for health checks.
    MonotonicTime last_synced() const override { return last_synced_; }
    std::optional<MonotonicTime> pending_since() const override { return pending_since_; }

private:
    void changed();
    void set_timeouts();
    Task<> sync();
    Task<> apply(Changes changes);
    Task<> apply(std::string text);
    Task<> noting_generation(Task<> work);
    Task<> forget_lost_connections(std::vector<RuleSet::Loss> losses);
    Task<> forget_lost_clients(const std::vector<RuleSet::Loss>& losses);
    Task<> check();
    bool is_as_written(const Listing& listing) const;

    NftablesContext context_;
    NftablesOptions options_;
    ServiceTable table_;
    std::set<std::string> cut_;  // services that are served in part, logged once
    ServiceFeed feed_;
    RuleSet rules_;
    Event wake_;
    bool synced_ = false;                      // the kernel has the state of rules_
    bool timeouts_set_ = false;                // of tracked connections
    bool from_scratch_ = false;                // the table's layout is not ours
    std::optional<std::uint32_t> generation_;  // of the kernel's rules after our last transaction
    MonotonicTime last_synced_{};
    std::optional<MonotonicTime> pending_since_;
    SyncCounts counts_;
};

/// Removes everything that a NftablesProxy has programmed, if anything. Error: Io with nftables' message.
Task<> remove_rules(net::NftExecutor& nft);

}  // namespace porthole::proxy::nftables
