#include "store/etcd/etcd_model_fixture.h"

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

bool in_range(const std::string& key, const std::string& from, const std::string& end) {
    return end.empty() ? key == from : key >= from && key < end;
}

}  // namespace

struct EtcdModel::Server {
    bool running = true, has_leader = true;
    net::GrpcHandler handler;
    std::vector<std::weak_ptr<net::ByteStream>> connections;

    void cut() {
        for (const auto& connection : connections)
            if (const auto stream = connection.lock()) stream->close();
        connections.clear();
    }
};

EtcdModel::EtcdModel(EventLoop& loop, std::size_t members, std::int64_t first_revision)
    : loop_(loop), revision_(first_revision), scope_(loop) {
    for (std::size_t i = 0; i < members; ++i) {
        servers_.push_back(std::make_unique<Server>());
        add_methods(*servers_.back(), i);
    }
}

EtcdModel::~EtcdModel() = default;

Task<> EtcdModel::close() {
    for (const auto& server : servers_) server->cut();
    for (const auto& [id, timer] : lease_timers_) loop_.cancel_timer(timer);
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
    if (!server.running) co_return Error(Reason::Unavailable, "connection refused");
    auto [ours, theirs] = net::make_memory_stream_pair();
    const std::shared_ptr<net::ByteStream> shared(std::move(ours));
    server.connections.push_back(shared);
    scope_.spawn(net::serve_connection(loop_, std::make_unique<SharedStream>(shared), {}, nullptr, server.handler, limits_));
    co_return std::move(theirs);
}

// State

void EtcdModel::change(const std::string& key, const std::string* value, std::int64_t lease, std::int64_t revision) {
    const auto found = keys_.find(key);
    KeyValue next{.key = key, .mod_revision = revision};
    if (value) {
        next.value = *value;
        next.lease = lease;
        next.create_revision = found == keys_.end() ? revision : found->second->create_revision;
        next.version = found == keys_.end() ? 1 : found->second->version + 1;
        keys_[key] = std::make_shared<const KeyValue>(next);
    } else {
        keys_.erase(key);
    }
    versions_[key][revision] = value ? keys_.at(key) : nullptr;
    log_.push_back({.type = value ? WatchEvent::Type::Put : WatchEvent::Type::Delete, .kv = std::move(next)});
    if (observed) observed(log_.back());
}

std::int64_t EtcdModel::remove_range(const DeleteRangeRequest& request, std::int64_t revision) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : keys_)
        if (in_range(key, request.key, request.range_end)) keys.push_back(key);
    for (const std::string& key : keys) change(key, nullptr, 0, revision);
    return static_cast<std::int64_t>(keys.size());
}

EtcdModel::Keys EtcdModel::state_at(std::int64_t revision) const {
    Keys keys;
    for (const auto& [key, versions] : versions_) {
        const auto later = versions.upper_bound(revision);
        if (later != versions.begin() && std::prev(later)->second) keys.emplace_hint(keys.end(), key, std::prev(later)->second);
    }
    return keys;
}

void EtcdModel::finish_revision() {
    ++revision_;
    changed_.wake_all({});
}

void EtcdModel::put(const std::string& key, std::string value) { put_all({{key, std::move(value)}}); }

void EtcdModel::put_all(const std::map<std::string, std::string>& values) {
    for (const auto& [key, value] : values) change(key, &value, 0, revision_ + 1);
    finish_revision();
}

void EtcdModel::remove(const std::string& key) {
    change(key, nullptr, 0, revision_ + 1);
    finish_revision();
}

std::string EtcdModel::value(const std::string& key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? "" : found->second->value;
}

std::map<std::string, std::int64_t> EtcdModel::revisions(const std::string& prefix) const {
    std::map<std::string, std::int64_t> found;
    for (auto at = keys_.lower_bound(prefix); at != keys_.end() && at->first.starts_with(prefix); ++at)
        found[at->first] = at->second->mod_revision;
    return found;
}

void EtcdModel::compact(std::int64_t revision) {
    compacted_ = revision;
    for (auto key = versions_.begin(); key != versions_.end();) {
        // What it was at `revision` stays, unless it was not there.
        Versions& versions = key->second;
        auto kept = versions.upper_bound(revision);
        if (kept != versions.begin() && std::prev(kept)->second) --kept;
        versions.erase(versions.begin(), kept);
        key = versions.empty() ? versions_.erase(key) : std::next(key);
    }
    while (!log_.empty() && log_.front().kv.mod_revision <= revision) log_.pop_front();
}

void EtcdModel::restore(std::int64_t revision, bool same_cluster) {
    for (const auto& server : servers_) server->cut();
    keys_ = state_at(revision);
    for (auto& [key, versions] : versions_) versions.erase(versions.upper_bound(revision), versions.end());
    std::erase_if(log_, [&](const WatchEvent& event) { return event.kv.mod_revision > revision; });
    revision_ = revision;
    if (!same_cluster) ++cluster_id_;
}

// Faults

void EtcdModel::stop(std::size_t member) {
    servers_[member]->running = false;
    servers_[member]->cut();
}

void EtcdModel::start(std::size_t member) { servers_[member]->running = true; }
void EtcdModel::lose_leader(std::size_t member, bool lost) { servers_[member]->has_leader = !lost; }

void EtcdModel::cut() {
    for (const auto& server : servers_) server->cut();
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
    ++progress_;
    changed_.wake_all({});
}

// Calls

Result<RangeResponse> EtcdModel::read(const RangeRequest& request) const {
    const std::int64_t revision = request.revision == 0 ? revision_ : request.revision;
    if (revision < compacted_) return net::error_of_grpc(GrpcStatus::OutOfRange, "etcdserver: mvcc: required revision has been compacted");
    Keys past;
    if (request.revision != 0) past = state_at(revision);
    const Keys& keys = request.revision == 0 ? keys_ : past;
    RangeResponse response{.header = header()};
    for (auto at = keys.lower_bound(request.key); at != keys.end() && in_range(at->first, request.key, request.range_end); ++at) {
        const KeyValuePtr& stored = at->second;
        ++response.count;
        if (request.limit > 0 && static_cast<std::int64_t>(response.kvs.size()) == request.limit) {
            response.more = true;
            continue;
        }
        response.kvs.push_back(*stored);
        if (request.keys_only) response.kvs.back().value.clear();
    }
    return response;
}

Task<std::string> EtcdModel::range(const Server& server, std::string request) {
    ++ranges;
    if (!server.has_leader) co_return no_leader();
    CO_TRY(const auto asked, decode<RangeRequest>(request));
    if (before_range) CO_TRY_VOID(co_await before_range(asked));
    CO_TRY(const auto response, read(asked));
    // What a client says that has been sent more than it takes.
    if (most_keys_ > 0 && static_cast<std::int64_t>(response.kvs.size()) > most_keys_)
        co_return net::error_of_grpc(GrpcStatus::ResourceExhausted, "gRPC: message of 100000000 bytes is too large");
    co_return encode(response);
}

bool EtcdModel::holds(const Compare& compare) const {
    const auto found = keys_.find(compare.key);
    std::int64_t is = 0, wanted = 0;
    if (compare.target == Compare::Target::Mod) {
        wanted = compare.mod_revision.value_or(0);
        if (found != keys_.end()) is = found->second->mod_revision;
    } else {
        CHECK(compare.target == Compare::Target::Version);
        wanted = compare.version.value_or(0);
        if (found != keys_.end()) is = found->second->version;
    }
    switch (compare.result) {
        case Compare::Result::Equal:
            return is == wanted;
        case Compare::Result::Greater:
            return is > wanted;
        case Compare::Result::Less:
            return is < wanted;
        case Compare::Result::NotEqual:
            return is != wanted;
    }
    return false;
}

Result<void> EtcdModel::check_txn(const TxnRequest& request) const {
    for (const RequestOp& op : request.success) {
        if (!op.request_put) continue;
        if (space_exceeded_) return net::error_of_grpc(GrpcStatus::ResourceExhausted, "etcdserver: mvcc: database space exceeded");
        if (op.request_put->lease != 0 && !leases_.contains(op.request_put->lease))
            return net::error_of_grpc(GrpcStatus::NotFound, "etcdserver: requested lease not found");
    }
    return {};
}

Result<std::string> EtcdModel::carry_out(const std::string& bytes) {
    TRY(const auto request, decode<TxnRequest>(bytes));
    TRY_VOID(check_txn(request));
    TxnResponse response;
    response.succeeded = std::ranges::all_of(request.compare, [&](const Compare& compare) { return holds(compare); });
    const std::size_t before = log_.size();
    for (const RequestOp& op : response.succeeded ? request.success : request.failure) {
        ResponseOp& done = response.responses.emplace_back();
        if (op.request_range) {
            TRY(done.response_range, read(*op.request_range));
        } else if (op.request_put) {
            change(op.request_put->key, &op.request_put->value, op.request_put->lease, revision_ + 1);
        } else {
            done.response_delete_range = DeleteRangeResponse{.deleted = remove_range(*op.request_delete_range, revision_ + 1)};
        }
    }
    if (log_.size() > before) finish_revision();
    response.header = header();
    return encode(response);
}

void EtcdModel::carry_out_late() {
    // Once; etcd may refuse it by now.
    if (const std::string late = std::exchange(late_, {}); !late.empty()) (void)carry_out(late);
}

Task<std::string> EtcdModel::txn(const Server& server, std::string bytes) {
    ++txns;
    if (!server.has_leader) co_return no_leader();
    if (before_txn) CO_TRY_VOID(co_await before_txn());
    const Break breaks = std::exchange(break_, Break::None);
    if (breaks == Break::Late) late_ = bytes;
    if (breaks == Break::None || breaks == Break::After) {
        auto answer = carry_out(bytes);
        if (breaks == Break::After) cut();
        if (breaks == Break::After && after_break_) std::exchange(after_break_, {})();
        co_return answer;
    }
    cut();
    co_return no_leader();  // which nobody gets
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

// Leases

void EtcdModel::end_lease(std::int64_t id) {
    leases_.erase(id);
    if (const auto timer = lease_timers_.extract(id)) loop_.cancel_timer(timer.mapped());
    const Keys keys = keys_;
    bool any = false;
    for (const auto& [key, stored] : keys) {
        if (stored->lease != id) continue;
        change(key, nullptr, 0, revision_ + 1);
        any = true;
    }
    if (any) finish_revision();
}

void EtcdModel::end_leases() {
    const auto leases = leases_;
    for (const auto& [id, ttl] : leases) end_lease(id);
}

void EtcdModel::start_lease(std::int64_t id) {
    const std::chrono::seconds ttl(leases_.at(id));
    lease_timers_[id] = loop_.call_after(ttl, [this, id] { end_lease(id); });
    lease_ends_[id] = loop_.now() + ttl;
}

std::int64_t EtcdModel::add_lease(std::int64_t ttl) {
    leases_[++last_lease_] = ttl;
    start_lease(last_lease_);
    return last_lease_;
}

void EtcdModel::put_leased(const std::string& key, std::string value, std::int64_t ttl) {
    change(key, &value, add_lease(ttl), revision_ + 1);
    finish_revision();
}

std::int64_t EtcdModel::granted_ttl(const std::string& key) const {
    const auto lease = leases_.find(keys_.at(key)->lease);
    return lease == leases_.end() ? 0 : lease->second;
}

Task<std::string> EtcdModel::time_to_live(std::string bytes) {
    CO_TRY(const auto request, decode<LeaseTimeToLiveRequest>(bytes));
    const auto found = leases_.find(request.id);
    LeaseTimeToLiveResponse response{.id = request.id, .ttl = -1};
    if (found != leases_.end()) response.granted_ttl = found->second;
    if (found != leases_.end())
        response.ttl = std::chrono::duration_cast<std::chrono::seconds>(lease_ends_.at(request.id) - loop_.now()).count();
    co_return encode(response);
}

Task<std::string> EtcdModel::grant_lease(std::string bytes) {
    CO_TRY(const auto request, decode<LeaseGrantRequest>(bytes));
    co_return encode(LeaseGrantResponse{.id = add_lease(request.ttl), .ttl = request.ttl});
}

Task<std::string> EtcdModel::revoke_lease(std::string bytes) {
    CO_TRY(const auto request, decode<LeaseRevokeRequest>(bytes));
    if (!leases_.contains(request.id)) co_return net::error_of_grpc(GrpcStatus::NotFound, "etcdserver: requested lease not found");
    end_lease(request.id);
    co_return encode(LeaseRevokeResponse{.header = header()});
}

Task<> EtcdModel::keep_alive(std::string bytes, net::GrpcWriter& writer) {
    CO_TRY(const auto request, decode<LeaseKeepAliveRequest>(bytes));
    const auto found = leases_.find(request.id);
    if (found == leases_.end()) co_return co_await writer.write(encode(LeaseKeepAliveResponse{.id = request.id}));
    loop_.cancel_timer(lease_timers_[request.id]);
    start_lease(request.id);
    co_return co_await writer.write(encode(LeaseKeepAliveResponse{.id = request.id, .ttl = found->second}));
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
    if (next <= compacted_) {
        const std::string reason = "etcdserver: mvcc: required revision has been compacted";
        co_return co_await writer.write(
            encode(WatchResponse{.header = header(), .canceled = true, .compact_revision = compacted_, .cancel_reason = reason}));
    }
    for (std::size_t progress = progress_;;) {
        std::vector<WatchEvent> events;
        const bool held = held_ || number <= silent_;
        const auto first = std::ranges::lower_bound(log_, next, {}, [](const WatchEvent& event) { return event.kv.mod_revision; });
        for (auto event = first; !held && event != log_.end(); ++event)
            if (in_range(event->kv.key, wanted.key, wanted.range_end)) events.push_back(*event);
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
