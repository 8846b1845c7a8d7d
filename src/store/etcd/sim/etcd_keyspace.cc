#include "store/etcd/sim/etcd_keyspace.h"

#include <algorithm>

#include "base/result.h"
#include "net/grpc/grpc.h"

namespace porthole::store::etcd {
namespace {

bool in_range(const std::string& key, const std::string& from, const std::string& end) {
    return end.empty() ? key == from : key >= from && key < end;
}

}  // namespace

template <class Visit>
void EtcdKeyspace::each(const std::string& from, const std::string& end, std::int64_t revision, Visit visit) const {
    for (auto at = versions_.lower_bound(from); at != versions_.end() && in_range(at->first, from, end); ++at) {
        const Versions& versions = at->second;
        const auto later = revision == 0 ? versions.end() : versions.upper_bound(revision);
        if (later != versions.begin() && std::prev(later)->second) visit(std::prev(later)->second);
    }
}

std::size_t EtcdKeyspace::size() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(versions_, [](const auto& of_key) { return of_key.second.rbegin()->second != nullptr; }));
}

const KeyValue* EtcdKeyspace::find(const std::string& key) const {
    const auto found = versions_.find(key);
    return found == versions_.end() ? nullptr : found->second.rbegin()->second.get();
}

std::map<std::string, std::int64_t> EtcdKeyspace::revisions(const std::string& prefix) const {
    std::map<std::string, std::int64_t> found;
    for (auto at = versions_.lower_bound(prefix); at != versions_.end() && at->first.starts_with(prefix); ++at)
        if (const KeyValuePtr& newest = at->second.rbegin()->second) found[at->first] = newest->mod_revision;
    return found;
}

Result<RangeResponse> EtcdKeyspace::read(const RangeRequest& request) const {
    if (request.revision != 0 && request.revision < compacted_)
        return net::error_of_grpc(net::GrpcStatus::OutOfRange, "etcdserver: mvcc: required revision has been compacted");
    RangeResponse response;
    each(request.key, request.range_end, request.revision, [&](const KeyValuePtr& stored) {
        ++response.count;
        response.more = request.limit > 0 && response.count > request.limit;
        if (response.more) return;
        response.kvs.push_back(*stored);
        if (request.keys_only) response.kvs.back().value.clear();
    });
    return response;
}

std::vector<WatchEvent> EtcdKeyspace::changes(std::int64_t revision, const std::string& from, const std::string& end) const {
    std::vector<WatchEvent> events;
    const auto first = std::ranges::lower_bound(log_, revision, {}, [](const WatchEvent& event) { return event.kv.mod_revision; });
    std::copy_if(first, log_.end(), std::back_inserter(events), [&](const WatchEvent& event) { return in_range(event.kv.key, from, end); });
    return events;
}

void EtcdKeyspace::change(const std::string& key, const std::string* value, std::int64_t lease) {
    const std::int64_t revision = revision_ + 1;
    const KeyValue* before = find(key);
    KeyValue next{.key = key, .mod_revision = revision};
    if (value) {
        next.value = *value;
        next.lease = lease;
        next.create_revision = before ? before->create_revision : revision;
        next.version = before ? before->version + 1 : 1;
    }
    versions_[key][revision] = value ? std::make_shared<const KeyValue>(next) : nullptr;
    log_.push_back({.type = value ? WatchEvent::Type::Put : WatchEvent::Type::Delete, .kv = std::move(next)});
    if (observed) observed(log_.back());
}

std::int64_t EtcdKeyspace::remove_range(const DeleteRangeRequest& request) {
    std::vector<std::string> keys;
    each(request.key, request.range_end, 0, [&](const KeyValuePtr& stored) { keys.push_back(stored->key); });
    for (const std::string& key : keys) change(key, nullptr, 0);
    return static_cast<std::int64_t>(keys.size());
}

void EtcdKeyspace::finish_revision() {
    ++revision_;
    if (finished) finished();
}

void EtcdKeyspace::put_all(const std::map<std::string, std::string>& values, std::int64_t lease) {
    for (const auto& [key, value] : values) change(key, &value, lease);
    finish_revision();
}

void EtcdKeyspace::remove(const std::string& key) {
    change(key, nullptr, 0);
    finish_revision();
}

void EtcdKeyspace::remove_leased(std::int64_t lease) {
    std::vector<std::string> keys;
    for (const auto& [key, versions] : versions_)
        if (const KeyValuePtr& newest = versions.rbegin()->second; newest && newest->lease == lease) keys.push_back(key);
    for (const std::string& key : keys) change(key, nullptr, 0);
    if (!keys.empty()) finish_revision();
}

bool EtcdKeyspace::holds(const Compare& compare) const {
    const KeyValue* found = find(compare.key);
    std::int64_t is = 0, wanted = 0;
    if (compare.target == Compare::Target::Mod) {
        wanted = compare.mod_revision.value_or(0);
        if (found) is = found->mod_revision;
    } else {
        CHECK(compare.target == Compare::Target::Version);
        wanted = compare.version.value_or(0);
        if (found) is = found->version;
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

Result<TxnResponse> EtcdKeyspace::carry_out(const TxnRequest& request) {
    TxnResponse response;
    response.succeeded = std::ranges::all_of(request.compare, [&](const Compare& compare) { return holds(compare); });
    const std::size_t before = log_.size();
    for (const RequestOp& op : response.succeeded ? request.success : request.failure) {
        ResponseOp& done = response.responses.emplace_back();
        if (op.request_range) {
            TRY(done.response_range, read(*op.request_range));
        } else if (op.request_put) {
            change(op.request_put->key, &op.request_put->value, op.request_put->lease);
        } else {
            done.response_delete_range = DeleteRangeResponse{.deleted = remove_range(*op.request_delete_range)};
        }
    }
    if (log_.size() > before) finish_revision();
    return response;
}

void EtcdKeyspace::compact(std::int64_t revision) {
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

void EtcdKeyspace::restore(std::int64_t revision) {
    for (auto& [key, versions] : versions_) versions.erase(versions.upper_bound(revision), versions.end());
    std::erase_if(versions_, [](const auto& of_key) { return of_key.second.empty(); });
    std::erase_if(log_, [&](const WatchEvent& event) { return event.kv.mod_revision > revision; });
    revision_ = revision;
}

}  // namespace porthole::store::etcd
