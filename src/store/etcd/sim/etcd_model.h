#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/http/http_connection.h"
#include "runtime/scope.h"
#include "store/etcd/client.h"
#include "store/etcd/sim/etcd_keyspace.h"
#include "store/etcd/sim/etcd_leases.h"

namespace porthole::store::etcd {

/// An etcd cluster of several members in one process, over our own gRPC server and connections in memory, for tests in simulated time. All
/// members share one state, since raft is not the subject, but a client meets the faults of a real cluster. Close it before its loop ends.
class EtcdModel {
public:
    EtcdModel(EventLoop& loop, std::size_t members, std::int64_t first_revision);
    ~EtcdModel();
    std::vector<Member> members();
    Task<> close();

    // Changes by other writers and operators.
    void put(const std::string& key, std::string value) { keys_.put_all({{key, std::move(value)}}); }
    void remove(const std::string& key) { keys_.remove(key); }
    /// All of them at one revision.
    void put_all(const std::map<std::string, std::string>& values) { keys_.put_all(values); }
    void compact(std::int64_t revision) { keys_.compact(revision); }
    /// As if restored from a backup of the state at `revision`, as another cluster unless `same_cluster`.
    void restore(std::int64_t revision, bool same_cluster = false);
    void send_progress();

    std::int64_t revision() const { return keys_.revision(); }
    std::int64_t compacted() const { return keys_.compacted(); }
    /// "" if absent.
    std::string value(const std::string& key) const;
    /// Revisions of the keys that begin with `prefix`, by key.
    std::map<std::string, std::int64_t> revisions(const std::string& prefix) const { return keys_.revisions(prefix); }
    std::size_t key_count() const { return keys_.size(); }
    std::size_t lease_count() const { return leases_.size(); }
    /// With a new lease of that many seconds.
    void put_leased(const std::string& key, std::string value, std::int64_t ttl);
    /// Ends all existing leases and deletes their keys.
    void end_leases() { met += leases_.size(), leases_.end_all(); }
    /// The time granted to the key's lease; 0 if it has none.
    std::int64_t granted_ttl(const std::string& key) const;
    /// Called for each change, in order.
    void observe(std::function<void(const WatchEvent&)> observed) { keys_.observed = std::move(observed); }

    // Faults.
    /// Like kill -9: connections break, and no new ones can be made.
    void stop(std::size_t member);
    void start(std::size_t member);
    /// Connections break; new ones can be made.
    void cut();
    /// The member has lost its leader.
    void lose_leader(std::size_t member, bool lost = true);
    void exceed_space(bool exceeded) { space_exceeded_ = exceeded; }
    /// Where the connection breaks at the next Txn: before it is executed, or after. Late: the test decides when it is executed.
    enum class Break { None, Before, After, Late };
    void carry_out_late();
    /// `then` is called before any client is told.
    void break_next_txn(Break when, std::function<void()> then = {}) { break_ = when, after_break_ = std::move(then); }
    /// While held, nothing is sent to watches.
    void hold_watches(bool held);
    /// Messages of watches have at most that many events.
    void fragment_at(std::size_t events) { most_events_ = events; }
    /// Existing watches send nothing from now on.
    void silence_watches() { silent_ = watches; }
    /// Connections are neither made nor refused.
    void stall_dials(bool stalled);
    /// Called for each incoming call; its error becomes the answer. If empty, nothing is called. The first one is for every call except
    /// watches.
    std::function<Task<>(std::size_t member)> before_call;
    std::function<Task<>(const RangeRequest&)> before_range;
    std::function<Task<>()> before_txn;
    /// Answers of a Range with more keys are larger than a client accepts.
    void limit_pages(std::int64_t keys) { most_keys_ = keys; }

    /// What the cluster knows of its members. Changes of it are refused while `members_change` is false, as if too few of them ran.
    std::vector<ClusterMember> roster;
    bool members_change = true;

    /// How often a client met one of these faults.
    std::size_t met = 0;
    // Numbers of calls.
    std::size_t ranges = 0, txns = 0, watches = 0, compactions = 0;
    std::size_t open_watches() const { return open_watches_; }

private:
    struct Server;
    Task<std::unique_ptr<net::ByteStream>> dial(std::size_t member);
    void add_methods(Server& server, std::size_t member);
    Task<std::string> admit(std::size_t member, Task<std::string> call);
    Task<std::string> range(const Server& server, std::string request);
    Task<std::string> txn(const Server& server, std::string request);
    Task<std::string> compact_call(std::string request);
    Task<std::string> status();
    Task<std::string> add_member(std::string request);
    Task<std::string> remove_member(std::string request);
    Task<std::string> grant_lease(std::string request);
    Task<std::string> revoke_lease(std::string request);
    Task<std::string> time_to_live(std::string request);
    Task<> keep_alive(std::string request, net::GrpcWriter& writer);
    Task<> watch(std::string request, net::GrpcWriter& writer);
    Task<> send(const std::vector<WatchEvent>& events, net::GrpcWriter& writer);

    ResponseHeader header() const { return {.cluster_id = cluster_id_, .member_id = 1, .revision = keys_.revision()}; }
    std::size_t cut_all();
    Error refuse(Error error);
    Result<void> check_txn(const TxnRequest& request);
    Result<std::string> carry_out(const std::string& bytes);

    EventLoop& loop_;
    std::uint64_t cluster_id_ = 77, last_member_ = 1000;
    EtcdKeyspace keys_;
    EtcdLeases leases_;
    std::size_t progress_ = 0, most_events_ = 1000;
    std::int64_t most_keys_ = 0;
    bool held_ = false, space_exceeded_ = false, stalled_ = false;
    std::size_t silent_ = 0, open_watches_ = 0;
    Break break_ = Break::None;
    std::function<void()> after_break_;
    std::string late_;
    WaitList<void> changed_;
    net::HttpLimits limits_;
    std::vector<std::unique_ptr<Server>> servers_;
    Scope scope_;
};

}  // namespace porthole::store::etcd
