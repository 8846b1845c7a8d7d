#include "store/etcd/sim/etcd_model.h"

#include <algorithm>

#include "base/result.h"
#include "net/memory_stream.h"

namespace porthole::store::etcd {
namespace {

using net::GrpcStatus;

Error no_leader() { return net::error_of_grpc(GrpcStatus::Unavailable, "etcdserver: no leader"); }

/// A connection that others can break.
class SharedStream final : public net::ByteStream {
public:
    explicit SharedStream(std::shared_ptr<net::ByteStream> stream) : stream_(std::move(stream)) {}
    ~SharedStream() override { stream_->close(); }
    Task<std::size_t> read(std::span<char> buffer) override { return stream_->read(buffer); }
    Task<> write(std::string_view bytes) override { return stream_->write(bytes); }
    Task<> end_writing() override { return stream_->end_writing(); }
    void close() override { stream_->close(); }

private:
    std::shared_ptr<net::ByteStream> stream_;
};

/// Counts a watch while it is open.
class OpenWatch {
public:
    explicit OpenWatch(std::size_t& count) : count_(++count) {}
    ~OpenWatch() { --count_; }

private:
    std::size_t& count_;
};

}  // namespace

struct EtcdModel::Server {
    bool running = true, has_leader = true;
    net::GrpcHandler handler;
    std::vector<std::weak_ptr<net::ByteStream>> connections;

    /// How many connections there were.
    std::size_t cut() {
        std::size_t open = 0;
        for (const auto& connection : std::exchange(connections, {}))
            if (const auto stream = connection.lock()) ++open, stream->close();
        return open;
    }
};

EtcdModel::EtcdModel(EventLoop& loop, std::size_t members, std::int64_t first_revision)
    : loop_(loop), keys_(first_revision), leases_(loop, [this](std::int64_t id) { keys_.remove_leased(id); }), scope_(loop) {
    keys_.finished = [this] { changed_.wake_all({}); };
    for (std::size_t i = 0; i < members; ++i) {
        servers_.push_back(std::make_unique<Server>());
        add_methods(*servers_.back(), i);
    }
}

EtcdModel::~EtcdModel() = default;

Task<> EtcdModel::close() {
    cut_all();
    leases_.close();
    return scope_.close();
}

void EtcdModel::add_methods(Server& server, std::size_t member) {
    net::GrpcHandler& handler = server.handler;
    const auto add = [&](const char* method, std::function<Task<std::string>(std::string)> call) {
        handler.add(method, [this, member, call](std::string request) { return admit(member, call(std::move(request))); });
    };
    add("/etcdserverpb.KV/Range", [this, &server](std::string request) { return range(server, std::move(request)); });
    add("/etcdserverpb.KV/Txn", [this, &server](std::string request) { return txn(server, std::move(request)); });
    add("/etcdserverpb.KV/Compact", [this](std::string request) { return compact_call(std::move(request)); });
    add("/etcdserverpb.Maintenance/Status", [this](std::string) { return status(); });
    add("/etcdserverpb.Cluster/MemberList", [this](std::string) -> Task<std::string> { co_return encode(MemberListResponse{roster}); });
    add("/etcdserverpb.Cluster/MemberAdd", [this](std::string request) { return add_member(std::move(request)); });
    add("/etcdserverpb.Cluster/MemberRemove", [this](std::string request) { return remove_member(std::move(request)); });
    add("/etcdserverpb.Lease/LeaseGrant", [this](std::string request) { return grant_lease(std::move(request)); });
    add("/etcdserverpb.Lease/LeaseRevoke", [this](std::string request) { return revoke_lease(std::move(request)); });
    add("/etcdserverpb.Lease/LeaseTimeToLive", [this](std::string request) { return time_to_live(std::move(request)); });
    handler.add_streaming("/etcdserverpb.Lease/LeaseKeepAlive",
                          [this](std::string request, net::GrpcWriter& writer) { return keep_alive(std::move(request), writer); });
    handler.add_streaming("/etcdserverpb.Watch/Watch",
                          [this](std::string request, net::GrpcWriter& writer) { return watch(std::move(request), writer); });
}

Task<std::string> EtcdModel::admit(std::size_t member, Task<std::string> call) {
    if (before_call) CO_TRY_VOID(co_await before_call(member));
    co_return co_await std::move(call);
}

std::vector<Member> EtcdModel::members() {
    std::vector<Member> members;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        const std::string name = "m" + std::to_string(i + 1);
        members.push_back({.name = name, .dial = [this, i] { return dial(i); }, .scheme = "http", .authority = name});
    }
    return members;
}

Task<std::unique_ptr<net::ByteStream>> EtcdModel::dial(std::size_t member) {
    Server& server = *servers_[member];
    while (stalled_) CO_TRY_VOID(co_await changed_.wait());
    if (!server.running) {
        ++met;
        co_return Error(Reason::Unavailable, "connection refused");
    }
    auto [ours, theirs] = net::make_memory_stream_pair();
    const std::shared_ptr<net::ByteStream> shared(std::move(ours));
    server.connections.push_back(shared);
    scope_.spawn(net::serve_connection(loop_, std::make_unique<SharedStream>(shared), {}, nullptr, server.handler, limits_));
    co_return std::move(theirs);
}

// State

std::string EtcdModel::value(const std::string& key) const {
    const KeyValue* found = keys_.find(key);
    return found ? found->value : "";
}

void EtcdModel::put_leased(const std::string& key, std::string value, std::int64_t ttl) {
    keys_.put_all({{key, std::move(value)}}, leases_.grant(std::chrono::seconds(ttl)));
}

std::int64_t EtcdModel::granted_ttl(const std::string& key) const {
    const KeyValue* found = keys_.find(key);
    return found ? leases_.granted(found->lease).count() : 0;
}

void EtcdModel::restore(std::int64_t revision, bool same_cluster) {
    cut();
    keys_.restore(revision);
    if (!same_cluster) ++cluster_id_;
}

// Faults

void EtcdModel::stop(std::size_t member) {
    servers_[member]->running = false;
    met += servers_[member]->cut();
}

void EtcdModel::start(std::size_t member) { servers_[member]->running = true; }
void EtcdModel::lose_leader(std::size_t member, bool lost) { servers_[member]->has_leader = !lost; }

void EtcdModel::cut() { met += cut_all(); }

std::size_t EtcdModel::cut_all() {
    std::size_t open = 0;
    for (const auto& server : servers_) open += server->cut();
    return open;
}

Error EtcdModel::refuse(Error error) {
    ++met;
    return error;
}

void EtcdModel::stall_dials(bool stalled) {
    stalled_ = stalled;
    changed_.wake_all({});
}

void EtcdModel::hold_watches(bool held) {
    held_ = held;
    changed_.wake_all({});
}

void EtcdModel::send_progress() {
    met += open_watches_;
    ++progress_;
    changed_.wake_all({});
}

// Calls

Task<std::string> EtcdModel::range(const Server& server, std::string request) {
    ++ranges;
    if (!server.has_leader) co_return refuse(no_leader());
    CO_TRY(const auto asked, decode<RangeRequest>(request));
    if (before_range) CO_TRY_VOID(co_await before_range(asked));
    CO_TRY(auto response, keys_.read(asked));
    response.header = header();
    // What a client says that has been sent more than it takes.
    if (most_keys_ > 0 && static_cast<std::int64_t>(response.kvs.size()) > most_keys_)
        co_return refuse(net::error_of_grpc(GrpcStatus::ResourceExhausted, "gRPC: message of 100000000 bytes is too large"));
    co_return encode(response);
}

Result<void> EtcdModel::check_txn(const TxnRequest& request) {
    for (const RequestOp& op : request.success) {
        if (!op.request_put) continue;
        if (space_exceeded_) return refuse(net::error_of_grpc(GrpcStatus::ResourceExhausted, "etcdserver: mvcc: database space exceeded"));
        if (op.request_put->lease != 0 && !leases_.contains(op.request_put->lease))
            return net::error_of_grpc(GrpcStatus::NotFound, "etcdserver: requested lease not found");
    }
    return {};
}

Result<std::string> EtcdModel::carry_out(const std::string& bytes) {
    TRY(const auto request, decode<TxnRequest>(bytes));
    TRY_VOID(check_txn(request));
    TRY(auto response, keys_.carry_out(request));
    response.header = header();
    return encode(response);
}

void EtcdModel::carry_out_late() {
    // Once; etcd may refuse it by now, and what it requires may not hold any more.
    const std::int64_t before = revision();
    if (const std::string late = std::exchange(late_, {}); !late.empty()) (void)carry_out(late);
    met += revision() != before;
}

Task<std::string> EtcdModel::txn(const Server& server, std::string bytes) {
    ++txns;
    if (!server.has_leader) co_return refuse(no_leader());
    if (before_txn) CO_TRY_VOID(co_await before_txn());
    const Break breaks = std::exchange(break_, Break::None);
    if (breaks == Break::Late) late_ = bytes;
    if (breaks == Break::None || breaks == Break::After) {
        auto answer = carry_out(bytes);
        if (breaks == Break::After) cut();
        if (breaks == Break::After && after_break_) std::exchange(after_break_, {})();
        co_return answer;
    }
    const std::size_t open = cut_all();
    if (breaks == Break::Before) met += open;  // one that is late is met when it is carried out
    co_return no_leader();                     // which nobody gets
}

Task<std::string> EtcdModel::compact_call(std::string bytes) {
    ++compactions;
    CO_TRY(const auto request, decode<CompactionRequest>(bytes));
    compact(request.revision);
    co_return encode(CompactionResponse{.header = header()});
}

Task<std::string> EtcdModel::status() {
    StatusResponse response{.header = header(), .version = "3.4.0", .db_size = 4096, .leader = 1};
    if (space_exceeded_) response.errors.push_back("memberID:1 alarm:NOSPACE ");
    co_return encode(response);
}

// Members

Task<std::string> EtcdModel::add_member(std::string bytes) {
    CO_TRY(const auto request, decode<MemberAddRequest>(bytes));
    if (!members_change) co_return refuse(net::error_of_grpc(GrpcStatus::Unavailable, "etcdserver: unhealthy cluster"));
    const auto known = [&](const ClusterMember& member) { return member.peer_urls == request.peer_urls; };
    if (std::ranges::any_of(roster, known))
        co_return net::error_of_grpc(GrpcStatus::FailedPrecondition, "etcdserver: Peer URLs already exists");
    roster.push_back({.id = ++last_member_, .name = "", .peer_urls = request.peer_urls, .is_learner = request.is_learner});
    co_return encode(MemberAddResponse{roster});
}

Task<std::string> EtcdModel::remove_member(std::string bytes) {
    CO_TRY(const auto request, decode<MemberRemoveRequest>(bytes));
    if (!members_change) co_return refuse(net::error_of_grpc(GrpcStatus::Unavailable, "etcdserver: unhealthy cluster"));
    if (std::erase_if(roster, [&](const ClusterMember& member) { return member.id == request.id; }) == 0)
        co_return net::error_of_grpc(GrpcStatus::NotFound, "etcdserver: member not found");
    co_return encode(MemberRemoveResponse{roster});
}

// Leases

Task<std::string> EtcdModel::time_to_live(std::string bytes) {
    CO_TRY(const auto request, decode<LeaseTimeToLiveRequest>(bytes));
    LeaseTimeToLiveResponse response{.id = request.id, .ttl = -1};
    if (leases_.contains(request.id)) {
        response.granted_ttl = leases_.granted(request.id).count();
        response.ttl = leases_.left(request.id).count();
    }
    co_return encode(response);
}

Task<std::string> EtcdModel::grant_lease(std::string bytes) {
    CO_TRY(const auto request, decode<LeaseGrantRequest>(bytes));
    co_return encode(LeaseGrantResponse{.id = leases_.grant(std::chrono::seconds(request.ttl)), .ttl = request.ttl});
}

Task<std::string> EtcdModel::revoke_lease(std::string bytes) {
    CO_TRY(const auto request, decode<LeaseRevokeRequest>(bytes));
    if (!leases_.contains(request.id)) co_return net::error_of_grpc(GrpcStatus::NotFound, "etcdserver: requested lease not found");
    leases_.end(request.id);
    co_return encode(LeaseRevokeResponse{.header = header()});
}

Task<> EtcdModel::keep_alive(std::string bytes, net::GrpcWriter& writer) {
    CO_TRY(const auto request, decode<LeaseKeepAliveRequest>(bytes));
    LeaseKeepAliveResponse response{.id = request.id};
    if (leases_.keep_alive(request.id)) response.ttl = leases_.granted(request.id).count();
    co_return co_await writer.write(encode(response));
}

// Watches

Task<> EtcdModel::send(const std::vector<WatchEvent>& events, net::GrpcWriter& writer) {
    for (std::size_t sent = 0; sent < events.size(); sent += most_events_) {
        const std::size_t end = std::min(events.size(), sent + most_events_);
        WatchResponse response{.header = header(), .fragment = end < events.size()};
        response.events.assign(events.begin() + static_cast<std::ptrdiff_t>(sent), events.begin() + static_cast<std::ptrdiff_t>(end));
        CO_TRY_VOID(co_await writer.write(encode(response)));
    }
    co_return {};
}

Task<> EtcdModel::watch(std::string bytes, net::GrpcWriter& writer) {
    const std::size_t number = ++watches;
    const OpenWatch open(open_watches_);
    CO_TRY(const auto request, decode<WatchRequest>(bytes));
    const WatchCreateRequest wanted = request.create_request.value_or(WatchCreateRequest());
    CO_TRY_VOID(co_await writer.write(encode(WatchResponse{.header = header(), .created = true})));
    std::int64_t next = wanted.start_revision;
    if (next <= compacted()) {
        ++met;
        const std::string reason = "etcdserver: mvcc: required revision has been compacted";
        co_return co_await writer.write(
            encode(WatchResponse{.header = header(), .canceled = true, .compact_revision = compacted(), .cancel_reason = reason}));
    }
    for (std::size_t progress = progress_;;) {
        std::vector<WatchEvent> events;
        const bool held = held_ || number <= silent_;
        if (!held) events = keys_.changes(next, wanted.key, wanted.range_end);
        if (events.size() > most_events_ || (held && keys_.revision() >= next)) ++met;
        if (!events.empty()) {
            next = events.back().kv.mod_revision + 1;
            CO_TRY_VOID(co_await send(events, writer));
        } else if (!held && std::exchange(progress, progress_) != progress_) {
            CO_TRY_VOID(co_await writer.write(encode(WatchResponse{.header = header()})));
        } else {
            CO_TRY_VOID(co_await changed_.wait());
        }
    }
}

}  // namespace porthole::store::etcd
