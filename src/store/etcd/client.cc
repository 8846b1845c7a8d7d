#include "store/etcd/client.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::store::etcd {
namespace {

using net::GrpcStatus;

constexpr Duration ConnectTime = std::chrono::seconds(2);
constexpr Duration PauseTime = std::chrono::milliseconds(100);
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
    if (message == "etcdserver: no leader" || message == "etcdserver: too many requests" || message == "raft proposal dropped")
        return Failure::NotBegun;
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
    };
    static constexpr Row Rows[] = {
        {"etcdserver: mvcc: database space exceeded", Reason::Unknown},
        {"etcdserver: mvcc: required revision has been compacted", Reason::Expired},
        {"etcdserver: request is too large", Reason::RequestEntityTooLarge},
        {"etcdserver: too many operations in txn request", Reason::RequestEntityTooLarge},
        {"etcdserver: requested lease not found", Reason::NotFound},
        {"etcdserver: corrupt cluster", Reason::InternalError},
    };
    if (error.message.starts_with("gRPC: message of")) return Error(Reason::RequestEntityTooLarge, error.message);
    for (const Row& row : Rows)
        if (error.message == row.message) return Error(row.reason, error.message);
    // Its reasons are about our right to use etcd, not about the right of who has sent a request to us.
    return Error(Reason::InternalError, "etcd: " + error.message);
}

net::GrpcChannelOptions options_of(const Member& member) {
    return {.scheme = member.scheme,
            .authority = member.authority,
            .metadata = {{"hasleader", "true"}},
            .largest = LargestAnswer,
            .connect_time = ConnectTime};
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
        net::GrpcChannelOptions options = options_of(member);
        connections_.push_back(
            {std::move(member.name), std::make_unique<net::GrpcChannel>(loop, std::move(member.dial), std::move(options)), ""});
    }
}

void Client::move_on() { current_ = (current_ + 1) % connections_.size(); }

Error Client::no_member(bool uncertain) const {
    std::string problems;
    for (const Connection& connection : connections_) {
        if (connection.problem.empty()) continue;
        problems += (problems.empty() ? "" : "; ") + connection.name + ": " + connection.problem;
    }
    if (uncertain)
        return Error(Reason::Timeout, "etcd has not answered, and whether the request was carried out is unknown (" + problems + ")");
    return Error(Reason::ServiceUnavailable, "etcd is not available (" + problems + ")");
}

Task<Client::Answer> Client::call(std::string method, std::string request, Effect effect) {
    const MonotonicTime until = loop_.now() + PatienceTime;
    Answer answer;
    for (std::size_t attempt = 1;; ++attempt) {
        const std::size_t asked = current_;
        auto bytes = co_await connections_[asked].channel->call(method, request, effect == Effect::Once ? OnlyAttemptTime : AttemptTime);
        if (bytes) {
            connections_[asked].problem.clear();
            answer.bytes = std::move(*bytes);
            co_return answer;
        }
        if (is_cancelled(bytes)) co_return bytes.error();
        const Failure failure = failure_of(bytes.error());
        if (failure == Failure::Refused) co_return refused_error(std::move(bytes).error());
        connections_[asked].problem = bytes.error().message;
        if (current_ == asked) move_on();
        answer.tried_before = answer.tried_before || failure == Failure::Uncertain;
        if ((answer.tried_before && effect == Effect::Once) || loop_.now() >= until)
            co_return no_member(answer.tried_before && effect != Effect::None);
        if (attempt % connections_.size() == 0) CO_TRY_VOID(co_await loop_.sleep(PauseTime));
    }
}

template <class Response, class Request>
Task<Response> Client::call_for(std::string method, Request request, Effect effect) {
    CO_TRY(const Answer answer, co_await call(std::move(method), encode(request), effect));
    co_return decode<Response>(answer.bytes);
}

Task<RangeResponse> Client::range(RangeRequest request) {
    return call_for<RangeResponse>("/etcdserverpb.KV/Range", std::move(request), Effect::None);
}

Task<Client::TxnOutcome> Client::txn(TxnRequest request, bool repeatable) {
    CO_TRY(const Answer answer, co_await call("/etcdserverpb.KV/Txn", encode(request), repeatable ? Effect::Repeatable : Effect::Once));
    CO_TRY(TxnResponse response, decode<TxnResponse>(answer.bytes));
    co_return TxnOutcome{std::move(response), answer.tried_before};
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

Task<StatusResponse> Client::status() {
    return call_for<StatusResponse>("/etcdserverpb.Maintenance/Status", StatusRequest(), Effect::None);
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
