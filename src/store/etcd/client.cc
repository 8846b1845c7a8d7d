#include "store/etcd/client.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::store::etcd {
namespace {

using net::GrpcStatus;

constexpr Duration ConnectTime = std::chrono::seconds(2);
/// gRPC's clients wait for up to two minutes. A server has to serve again within seconds, and there are only a few of them.
constexpr Duration PauseTime = std::chrono::milliseconds(100), LongestPauseTime = std::chrono::seconds(2);
/// A page of objects, of which one may have 1.5 MiB, or what one revision has changed.
constexpr std::size_t LargestAnswer = 64 << 20;

/// What a failed attempt says of the call.
enum class Failure {
    Refused,    ///< etcd's answer to it, which another member would give, too
    NotBegun,   ///< nothing was done
    Uncertain,  ///< it may have been done, or be done yet
};

Failure failure_of(const Error& error) {
    if (net::grpc_was_not_begun(error)) return Failure::NotBegun;
    const std::string& message = error.message;
    // Before it has given the request to raft.
    static constexpr const char* NotBegun[] = {"etcdserver: no leader", "etcdserver: too many requests", "raft proposal dropped",
                                               "etcdserver: rpc not supported for learner", "etcdserver: unhealthy cluster"};
    if (std::ranges::find(NotBegun, message) != std::end(NotBegun)) return Failure::NotBegun;
    switch (net::grpc_status_of(error)) {
        case GrpcStatus::Unavailable:
        case GrpcStatus::DeadlineExceeded:
        case GrpcStatus::Cancelled:
        case GrpcStatus::Unknown:
        case GrpcStatus::Internal:
        case GrpcStatus::Aborted:
            return Failure::Uncertain;
        default:
            return Failure::Refused;
    }
}

/// What etcd has refused, with the reason that callers branch on.
Error refused_error(Error error) {
    struct Row {
        const char* message;
        Reason reason;
        const char* remedy = "";
    };
    static constexpr Row Rows[] = {
        {"etcdserver: mvcc: database space exceeded", Reason::Unknown,
         ": delete what is not needed, then etcdctl compact, defrag and alarm disarm"},
        // Of all members alike, from the alarm on, and when the request is applied: nothing was done, and no other member would do it.
        {"etcdserver: corrupt cluster", Reason::Unknown,
         ": its members differ, and it takes no writes: replace the members that etcdctl alarm list names, then etcdctl alarm disarm"},
        {"etcdserver: mvcc: required revision has been compacted", Reason::Expired},
        {"etcdserver: request is too large", Reason::RequestEntityTooLarge},
        {"etcdserver: too many operations in txn request", Reason::RequestEntityTooLarge},
        {"etcdserver: requested lease not found", Reason::NotFound},
    };
    if (error.message.starts_with("gRPC: message of")) return Error(Reason::RequestEntityTooLarge, error.message);
    for (const Row& row : Rows)
        if (error.message == row.message) return Error(row.reason, error.message + row.remedy);
    // Its reasons are about our right to use etcd, not about the right of who has sent a request to us.
    return Error(Reason::InternalError, "etcd: " + error.message);
}

net::GrpcChannelOptions options_of(const Member& member) {
    return {.scheme = member.scheme,
            .authority = member.authority,
            .metadata = {{"hasleader", "true"}},
            .largest = LargestAnswer,
            .connect_time = ConnectTime,
            .first_pause = PauseTime,
            .longest_pause = LongestPauseTime};
}

}  // namespace

Task<WatchResponse> WatchStream::next() {
    CO_TRY(const auto message, co_await stream_->next());
    if (!message) co_return Error(Reason::Unavailable, "etcd has ended the watch");
    co_return decode<WatchResponse>(*message);
}

Client::Client(EventLoop& loop, std::vector<Member> members) : loop_(loop) {
    CHECK(!members.empty());
    for (Member& member : members) {
        auto channel = channel_to(member);
        connections_.push_back({.member = std::move(member), .channel = std::move(channel), .problem = ""});
    }
}

std::unique_ptr<net::GrpcChannel> Client::channel_to(const Member& member) const {
    return std::make_unique<net::GrpcChannel>(loop_, member.dial, options_of(member));
}

void Client::move_on() { current_ = (current_ + 1) % connections_.size(); }

void Client::drop_silent(const std::string& kept) {
    for (Connection& connection : connections_) {
        if (connection.member.name == kept || !std::exchange(connection.silent, false)) continue;
        connection.channel = channel_to(connection.member);
    }
}

Error Client::no_member(bool uncertain) const {
    std::string problems;
    for (const Connection& connection : connections_) {
        if (connection.problem.empty()) continue;
        problems += (problems.empty() ? "" : "; ") + connection.member.name + ": " + connection.problem;
    }
    if (uncertain)
        return Error(Reason::Timeout, "etcd has not answered, and whether the request was carried out is unknown (" + problems + ")");
    return Error(Reason::ServiceUnavailable, "etcd is not available (" + problems + ")");
}

Task<std::string> Client::call(std::string method, std::string request, Effect effect, Duration limit) {
    const MonotonicTime until = loop_.now() + PatienceTime;
    bool uncertain = false;
    for (std::size_t attempt = 1;; ++attempt) {
        const std::size_t asked = current_;
        auto answer = co_await connections_[asked].channel->call(method, request, limit);
        if (answer) {
            connections_[asked].problem.clear();
            connections_[asked].silent = false;
            co_return std::move(answer);
        }
        if (is_cancelled(answer)) co_return answer.error();
        const Failure failure = failure_of(answer.error());
        if (failure == Failure::Refused) co_return refused_error(std::move(answer).error());
        connections_[asked].problem = answer.error().message;
        if (current_ == asked) move_on();
        const bool late = failure == Failure::Uncertain && net::grpc_status_of(answer.error()) == GrpcStatus::DeadlineExceeded;
        connections_[asked].silent = connections_[asked].silent || late;
        uncertain = uncertain || failure == Failure::Uncertain;
        if (effect == Effect::None && late && loop_.now() >= until) co_return Error(Reason::Timeout, no_member(false).message);
        if ((uncertain && effect == Effect::Once) || loop_.now() >= until) co_return no_member(uncertain && effect != Effect::None);
        if (attempt % connections_.size() == 0) CO_TRY_VOID(co_await loop_.sleep(PauseTime));
    }
}

template <class Response, class Request>
Task<Response> Client::call_for(std::string method, Request request, Effect effect, Duration limit) {
    CO_TRY(const std::string answer, co_await call(std::move(method), encode(request), effect, limit));
    co_return decode<Response>(answer);
}

Task<RangeResponse> Client::range(RangeRequest request, Duration limit) {
    return call_for<RangeResponse>("/etcdserverpb.KV/Range", std::move(request), Effect::None, limit);
}

Task<TxnResponse> Client::txn(TxnRequest request) {
    return call_for<TxnResponse>("/etcdserverpb.KV/Txn", std::move(request), Effect::Repeatable);
}

Task<TxnResponse> Client::txn_once(TxnRequest request, Duration limit) {
    return call_for<TxnResponse>("/etcdserverpb.KV/Txn", std::move(request), Effect::Once, limit);
}

Task<CompactionResponse> Client::compact(CompactionRequest request) {
    return call_for<CompactionResponse>("/etcdserverpb.KV/Compact", request, Effect::Repeatable);
}

Task<LeaseGrantResponse> Client::grant_lease(LeaseGrantRequest request) {
    return call_for<LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", request, Effect::Repeatable);
}

Task<LeaseRevokeResponse> Client::revoke_lease(LeaseRevokeRequest request) {
    return call_for<LeaseRevokeResponse>("/etcdserverpb.Lease/LeaseRevoke", request, Effect::Repeatable);
}

Task<LeaseKeepAliveResponse> Client::keep_lease_alive(LeaseKeepAliveRequest request) {
    return call_for<LeaseKeepAliveResponse>("/etcdserverpb.Lease/LeaseKeepAlive", request, Effect::Repeatable);
}

Task<LeaseTimeToLiveResponse> Client::lease_time_to_live(LeaseTimeToLiveRequest request) {
    return call_for<LeaseTimeToLiveResponse>("/etcdserverpb.Lease/LeaseTimeToLive", request, Effect::None);
}

Task<StatusResponse> Client::status() {
    return call_for<StatusResponse>("/etcdserverpb.Maintenance/Status", StatusRequest(), Effect::None);
}

Task<MemberListResponse> Client::members() {
    return call_for<MemberListResponse>("/etcdserverpb.Cluster/MemberList", MemberListRequest{.linearizable = true}, Effect::None);
}

Task<MemberAddResponse> Client::add_member(MemberAddRequest request) {
    return call_for<MemberAddResponse>("/etcdserverpb.Cluster/MemberAdd", std::move(request), Effect::Once);
}

Task<MemberPromoteResponse> Client::promote_member(MemberPromoteRequest request) {
    return call_for<MemberPromoteResponse>("/etcdserverpb.Cluster/MemberPromote", request, Effect::Once);
}

Task<MemberRemoveResponse> Client::remove_member(MemberRemoveRequest request) {
    return call_for<MemberRemoveResponse>("/etcdserverpb.Cluster/MemberRemove", request, Effect::Once);
}

Task<std::unique_ptr<WatchStream>> Client::watch(WatchCreateRequest request) {
    WatchRequest whole{.create_request = std::move(request)};
    CO_TRY(auto stream, co_await connections_[current_].channel->open("/etcdserverpb.Watch/Watch", encode(whole)));
    co_return std::make_unique<WatchStream>(std::move(stream));
}

Task<> Client::close() {
    for (const Connection& connection : connections_) CO_TRY_VOID(co_await connection.channel->close());
    co_return {};
}

}  // namespace porthole::store::etcd
