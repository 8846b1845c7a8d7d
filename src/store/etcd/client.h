#pragma once
#include <memory>
#include <string>
#include <vector>

#include "net/grpc/grpc.h"
#include "runtime/event_loop.h"
#include "store/etcd/messages.h"

namespace porthole::store::etcd {

/// One member of an etcd cluster, by one of its client addresses.
struct Member {
    std::string name;  ///< "https://10.0.0.1:2379", for people
    net::GrpcDial dial;
    std::string scheme, authority;
};

/// The events of a watch, as etcd sends them. Destroying it ends the watch.
class WatchStream {
public:
    explicit WatchStream(std::unique_ptr<net::GrpcStream> stream) : stream_(std::move(stream)) {}
    /// Errors: Unavailable if the stream breaks off, InternalError for bytes that are not an answer.
    Task<WatchResponse> next();

private:
    std::unique_ptr<net::GrpcStream> stream_;
};

/// A client of one etcd cluster. Each call goes to one member; if it does not answer, to the next one. Lives on one loop.
///
/// A call that certainly had no effect, and a call that may be executed twice, is repeated for up to PatienceTime. Members without a leader
/// refuse immediately ("hasleader"). Errors of all calls: ServiceUnavailable if nothing was done and no member accepts the call; Timeout if
/// it is unknown whether something was done, or if a read was not answered in time; Unknown with etcd's message and a remedy while an alarm
/// is raised; NotFound for a lease; Expired for a compacted revision; RequestEntityTooLarge; otherwise as etcd reports.
class Client {
public:
    static constexpr Duration PatienceTime = std::chrono::seconds(5);  ///< an election takes one to two
    static constexpr Duration AttemptTime = std::chrono::seconds(4);   ///< of a call that can be repeated at another member

    static constexpr Duration PageTime = std::chrono::seconds(30);  ///< of a page of many objects

    /// `loop` must outlive it. Requires: at least one member.
    Client(EventLoop& loop, std::vector<Member> members);

    /// At one revision, at least as new as everything acknowledged before.
    Task<RangeResponse> range(RangeRequest request, Duration limit = AttemptTime);
    /// May be executed twice.
    Task<TxnResponse> txn(TxnRequest request);
    /// Not repeated after a failure that leaves open whether it was or will be executed; `limit` is for one attempt.
    Task<TxnResponse> txn_once(TxnRequest request, Duration limit);
    Task<CompactionResponse> compact(CompactionRequest request);
    /// If it is repeated, earlier leases remain until they expire.
    Task<LeaseGrantResponse> grant_lease(LeaseGrantRequest request);
    Task<LeaseRevokeResponse> revoke_lease(LeaseRevokeRequest request);
    Task<LeaseKeepAliveResponse> keep_lease_alive(LeaseKeepAliveRequest request);
    Task<LeaseTimeToLiveResponse> lease_time_to_live(LeaseTimeToLiveRequest request);
    /// Of the current member.
    Task<StatusResponse> status();
    Task<MemberListResponse> members();
    /// Not repeated after a failure that leaves open whether it was done.
    Task<MemberAddResponse> add_member(MemberAddRequest request);
    Task<MemberPromoteResponse> promote_member(MemberPromoteRequest request);
    Task<MemberRemoveResponse> remove_member(MemberRemoveRequest request);
    /// At the current member; not repeated.
    Task<std::unique_ptr<WatchStream>> watch(WatchCreateRequest request);

    /// Uses the next member from now on.
    void move_on();
    /// Ends the connections to members that have left a call unanswered since their last answer: other calls in progress there fail now.
    /// They may be asked again over new ones. The member `kept` keeps its own.
    void drop_silent(const std::string& kept);
    const std::string& member_name() const { return connections_[current_].member.name; }
    /// Closes connections; calls in progress fail.
    Task<> close();

private:
    struct Connection {
        Member member;
        std::unique_ptr<net::GrpcChannel> channel;
        std::string problem;  ///< why its last call failed
        bool silent = false;  ///< it has left a call unanswered since its last answer
    };
    enum class Effect { None, Repeatable, Once };
    Task<std::string> call(std::string method, std::string request, Effect effect, Duration limit);
    template <class Response, class Request>
    Task<Response> call_for(std::string method, Request request, Effect effect, Duration limit = AttemptTime);
    std::unique_ptr<net::GrpcChannel> channel_to(const Member& member) const;
    Error no_member(bool uncertain) const;

    EventLoop& loop_;
    std::vector<Connection> connections_;
    std::size_t current_ = 0;
};

}  // namespace porthole::store::etcd
