#pragma once
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dns/message.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/sync.h"

namespace porthole::dns {

/// The seam to other name servers (port 53).
class Upstream {
public:
    virtual ~Upstream() = default;
    /// Sends `query` and returns one reply, whatever its content; by UDP the first with the query's id. Errors: Unavailable, Cancelled.
    virtual Task<std::string> exchange(IpAddress server, std::string query, bool tcp) = 0;
};

/// Bounds of a forwarder.
struct ForwarderOptions {
    std::size_t concurrency = 256;                              ///< queries in progress; more are refused immediately
    Duration patience = std::chrono::seconds(2);                ///< with one server
    Duration total_patience = std::chrono::milliseconds(4500);  ///< below the 5 s that resolvers wait
    std::size_t cache_entries = 10000;
    std::size_t cache_bytes = 16 << 20;    ///< of replies, each up to 64 KiB if by TCP, including overhead
    std::chrono::seconds longest_ttl{30};  ///< in the cache
    std::chrono::seconds failure_ttl{2};   ///< of the answer after no server could be reached
};

/// Forwards queries to the node's own name servers and caches their replies. Lives on `loop`; references must outlive it. close() it before
/// destroying it.
///
/// Clients with the same question share one exchange, which also ends a loop of servers that ask each other. Servers are tried in order;
/// those that failed recently come last.
class Forwarder {
public:
    Forwarder(EventLoop& loop, Upstream& upstream, Random& random, ForwarderOptions options = {});

    void set_servers(std::vector<IpAddress> servers);
    /// A reply to `query` of at most `limit` bytes, if the cache has one.
    std::optional<std::string> find_cached(const Query& query, std::size_t limit);
    /// The same, asking if need be. Errors: Unavailable or Timeout, for SERVFAIL; Cancelled.
    Task<std::string> ask(Query query, std::size_t limit);
    /// The addresses behind a name, for the end of a chain of CNAMEs. Error: as above.
    Task<std::vector<Record>> addresses(Query query);
    Task<> close() { return scope_.close(); }

    std::size_t cache_size() const { return cache_.size(); }
    std::size_t cached_bytes() const { return cached_bytes_; }

private:
    struct Entry {
        Result<std::string> message;  // or why there is none
        ReplyView view;
        MonotonicTime stored{}, expires{};
    };
    using Shared = std::shared_ptr<const Entry>;
    struct Cached {
        Shared entry;
        std::list<std::string>::iterator used;
        std::size_t bytes = 0;
    };
    using Cache = std::unordered_map<std::string, Cached>;

    Shared find(const std::string& key);
    Task<Shared> resolve(Query query);
    Task<> resolve_for_all(std::string key, Query query);
    Task<Entry> ask_servers(Query query);
    Task<Entry> ask_server(IpAddress server, Query query);
    void remember(const std::string& key, Shared entry);
    void forget(Cache::iterator cached);
    std::string present(const Entry& entry, const Query& query, std::size_t limit) const;

    EventLoop& loop_;
    Upstream& upstream_;
    Random& random_;
    ForwarderOptions options_;
    std::vector<IpAddress> servers_;
    std::map<IpAddress, MonotonicTime> failed_;
    Cache cache_;
    std::list<std::string> order_;  // least recently used first
    std::size_t cached_bytes_ = 0;
    std::unordered_map<std::string, std::shared_ptr<Promise<Shared>>> under_way_;
    Scope scope_;
};

/// The addresses after "nameserver" in a resolv.conf.
std::vector<IpAddress> read_resolv_conf(std::string_view text);

}  // namespace porthole::dns
