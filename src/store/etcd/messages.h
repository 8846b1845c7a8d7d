#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The parts of etcd's v3 API that are used: fields of `etcdserverpb` and `mvccpb` under their own names, so that their documentation can
/// be found. Other fields are skipped when received, and never sent.
namespace porthole::store::etcd {

/// Part of every answer: who has answered, and at which revision.
struct ResponseHeader {
    std::uint64_t cluster_id = 0, member_id = 0;
    std::int64_t revision = 0;
};

/// A version of a key.
struct KeyValue {
    std::string key;
    std::int64_t create_revision = 0, mod_revision = 0, version = 0;
    std::string value;
    std::int64_t lease = 0;
};

/// Keys from `key` up to, but not including, `range_end`; only `key` if that is "".
struct RangeRequest {
    std::string key, range_end;
    std::int64_t limit = 0, revision = 0;
    bool keys_only = false, count_only = false;
};
/// Keys in order; `more` if the limit has cut them off.
struct RangeResponse {
    ResponseHeader header;
    std::vector<KeyValue> kvs;
    bool more = false;
    std::int64_t count = 0;
};

/// Writes a key; lease 0 means none.
struct PutRequest {
    std::string key, value;
    std::int64_t lease = 0;
};
/// Deletes keys, named as in RangeRequest.
struct DeleteRangeRequest {
    std::string key, range_end;
};
/// The number of deleted keys.
struct DeleteRangeResponse {
    std::int64_t deleted = 0;
};

/// One operation of a transaction; exactly one field is set.
struct RequestOp {
    std::optional<RangeRequest> request_range;
    std::optional<PutRequest> request_put;
    std::optional<DeleteRangeRequest> request_delete_range;
};
/// The answer to one operation.
struct ResponseOp {
    std::optional<RangeResponse> response_range;
    std::optional<DeleteRangeResponse> response_delete_range;
};

/// A condition on one key; an absent key has 0 in all fields.
struct Compare {
    enum class Result { Equal = 0, Greater = 1, Less = 2, NotEqual = 3 };
    enum class Target { Version = 0, Create = 1, Mod = 2 };
    Result result = Result::Equal;
    Target target = Target::Version;
    std::string key;
    std::optional<std::int64_t> version, create_revision, mod_revision;  ///< only that of the target is set
};

/// `success` is executed if all comparisons hold, otherwise `failure`.
struct TxnRequest {
    std::vector<Compare> compare;
    std::vector<RequestOp> success, failure;
};
/// Which of them was executed, and its answers in order.
struct TxnResponse {
    ResponseHeader header;
    bool succeeded = false;
    std::vector<ResponseOp> responses;
};

/// Compacts everything older than a revision.
struct CompactionRequest {
    std::int64_t revision = 0;
};
/// Empty but for the header.
struct CompactionResponse {
    ResponseHeader header;
};

/// A watch from a revision on, of keys named as in RangeRequest.
struct WatchCreateRequest {
    std::string key, range_end;
    std::int64_t start_revision = 0;
    bool progress_notify = false, fragment = false;
};
/// What a client sends on a watch stream.
struct WatchRequest {
    std::optional<WatchCreateRequest> create_request;
};
/// One change of one key; of a deletion only key and mod revision are set.
struct WatchEvent {
    enum class Type { Put = 0, Delete = 1 };
    Type type = Type::Put;
    KeyValue kv;
};
/// Events in order of revision; none if the header only reports progress. `fragment`: continued in the next message.
struct WatchResponse {
    ResponseHeader header;
    bool created = false, canceled = false;
    std::int64_t compact_revision = 0;
    std::string cancel_reason;
    bool fragment = false;
    std::vector<WatchEvent> events;
};

/// Requests a lease.
struct LeaseGrantRequest {
    std::int64_t ttl = 0, id = 0;  ///< seconds; 0: etcd chooses
};
/// The granted lease.
struct LeaseGrantResponse {
    std::int64_t id = 0, ttl = 0;
    std::string error;
};
/// Ends a lease and deletes its keys.
struct LeaseRevokeRequest {
    std::int64_t id = 0;
};
/// Empty but for the header.
struct LeaseRevokeResponse {
    ResponseHeader header;
};
/// Restarts the time of a lease.
struct LeaseKeepAliveRequest {
    std::int64_t id = 0;
};
/// The lease's new time to live.
struct LeaseKeepAliveResponse {
    std::int64_t id = 0, ttl = 0;  ///< ttl 0: no such lease
};

/// Asks for the remaining time of a lease.
struct LeaseTimeToLiveRequest {
    std::int64_t id = 0;
};
/// In seconds; -1: no such lease.
struct LeaseTimeToLiveResponse {
    std::int64_t id = 0, ttl = 0, granted_ttl = 0;
};

/// Asks a member for its state.
struct StatusRequest {};
/// The state of a member.
struct StatusResponse {
    ResponseHeader header;
    std::string version;
    std::int64_t db_size = 0;
    std::uint64_t leader = 0;
    std::vector<std::string> errors;  ///< alarms, as text
};

/// A member, as the cluster knows it; without a name, it has never run. `etcdserverpb.Member`, whose name is taken here.
struct ClusterMember {
    std::uint64_t id = 0;
    std::string name;
    std::vector<std::string> peer_urls;
    bool is_learner = false;  ///< it gets everything and does not vote
};
/// `linearizable`, which is unknown before etcd 3.5: as the majority knows them, not only the member that is asked.
struct MemberListRequest {
    bool linearizable = false;
};
/// All members.
struct MemberListResponse {
    std::vector<ClusterMember> members;
};
/// Adds a member, which votes unless it is a learner. It has no name until it runs.
struct MemberAddRequest {
    std::vector<std::string> peer_urls;
    bool is_learner = false;
};
/// The members with the new one.
struct MemberAddResponse {
    std::vector<ClusterMember> members;
};
/// Lets a learner vote, once it has nearly all that the leader has.
struct MemberPromoteRequest {
    std::uint64_t id = 0;
};
/// All members.
struct MemberPromoteResponse {
    std::vector<ClusterMember> members;
};
/// Takes a member out of the cluster for ever: it cannot come back with its data.
struct MemberRemoveRequest {
    std::uint64_t id = 0;
};
/// The other members.
struct MemberRemoveResponse {
    std::vector<ClusterMember> members;
};

/// Bytes of a message. Instantiated for the messages above.
template <class Message>
std::string encode(const Message& message);
/// Error: InternalError for bytes that are not such a message.
template <class Message>
Result<Message> decode(std::string_view bytes);

}  // namespace porthole::store::etcd
