#include "kubelet/status_manager.h"

#include <algorithm>
#include <charconv>

#include "base/result.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using schema::Value;

constexpr Duration SameReportPeriod = std::chrono::seconds(10);

bool is_owned(std::string_view type) {
    using Condition = core::PodConditionType;
    for (const char* own : {Condition::PodScheduled, Condition::PodReadyToStartContainers, Condition::Initialized, Condition::Ready,
                            Condition::ContainersReady, Condition::DisruptionTarget, Condition::PodResizePending,
                            Condition::PodResizeInProgress, Condition::AllContainersRestarting})
        if (type == own) return true;
    return false;
}

/// Members that others write: a report may be older than what they say.
bool is_others(std::string_view member) {
    return member == "nominatedNodeName" || member == "resourceClaimStatuses" || member == "extendedResourceClaimStatus";
}

Value tree_of(const core::PodStatus& status) { return schema::parse_json(schema::encode_json(status)).value_or(Value()); }

const Value* find_condition(const Value& conditions, std::string_view type) {
    if (!conditions.is_array()) return nullptr;
    for (const Value& one : conditions.as_array())
        if (one.string_at({"type"}) == type) return &one;
    return nullptr;
}

/// Our conditions that differ. A merge keeps what a patch does not name: what has gone is named as null.
Value changed_conditions(const Value& before, const Value& now) {
    Value changed = Value::array();
    if (!now.is_array()) return changed;
    for (const Value& condition : now.as_array()) {
        if (!is_owned(condition.string_at({"type"}))) continue;
        const Value* old = find_condition(before, condition.string_at({"type"}));
        if (old && *old == condition) continue;
        Value patch = condition;
        if (old)
            for (const schema::Member& member : old->as_object())
                if (!patch.find(member.key)) patch[member.key] = nullptr;
        changed.as_array().push_back(std::move(patch));
    }
    // Those of a resize come and go.
    for (const char* type : {"PodResizePending", "PodResizeInProgress"}) {
        if (find_condition(before, type) && !find_condition(now, type))
            changed.as_array().push_back(Value::object({{"$patch", "delete"}, {"type", type}}));
    }
    return changed;
}

/// The merge patch that makes `now` of `before`.
Value changed_members(const Value& before, const Value& now) {
    Value changed = Value::object();
    for (const schema::Member& member : now.as_object()) {
        const Value* old = before.find(member.key);
        if (old && *old == member.value) continue;
        changed[member.key] = old && old->is_object() && member.value.is_object() ? changed_members(*old, member.value) : member.value;
    }
    for (const schema::Member& member : before.as_object())
        if (!now.find(member.key)) changed[member.key] = nullptr;
    return changed;
}

std::int64_t version_of(const core::Pod& pod) {
    std::int64_t version = 0;
    const std::string& text = pod.metadata.resource_version;
    std::from_chars(text.data(), text.data() + text.size(), version);
    return version;
}

/// Whether `pod` is an earlier state of the same pod as `other`.
bool is_earlier(const core::Pod& pod, const core::Pod& other) {
    return pod.metadata.uid == other.metadata.uid && version_of(pod) < version_of(other);
}

}  // namespace

std::string status_patch(const std::string& uid, const core::PodStatus& before, const core::PodStatus& now) {
    const Value old_tree = tree_of(before), new_tree = tree_of(now);
    Value status = Value::object();
    for (const schema::Member& member : new_tree.as_object()) {
        const Value* old_value = old_tree.find(member.key);
        if ((old_value && *old_value == member.value) || is_others(member.key)) continue;
        if (member.key == "conditions") {
            Value changed = changed_conditions(schema::at(old_tree, "conditions"), member.value);
            if (!changed.as_array().empty()) status["conditions"] = std::move(changed);
        } else if (member.key == "podIPs" || member.key == "hostIPs") {
            // Lists that would be merged: say that this is all of it. Upstream 1.20 takes a list that it does not have yet as it
            // comes, and the directive for an address.
            Value list = member.value;
            if (old_value) list.as_array().push_back(Value::object({{"$patch", "replace"}}));
            status[member.key] = std::move(list);
        } else if (old_value && old_value->is_object() && member.value.is_object()) {
            status[member.key] = changed_members(*old_value, member.value);
        } else {
            status[member.key] = member.value;
        }
    }
    for (const schema::Member& member : old_tree.as_object())
        if (!new_tree.find(member.key) && member.key != "conditions" && !is_others(member.key)) status[member.key] = nullptr;
    if (status.as_object().empty()) return "";
    return schema::to_json(Value::object({{"metadata", Value::object({{"uid", uid}})}, {"status", std::move(status)}}));
}

const core::PodStatus* StatusManager::find(const std::string& uid) const {
    const auto found = entries_.find(uid);
    return found == entries_.end() || !found->second.status ? nullptr : &*found->second.status;
}

void StatusManager::touch(const std::string& uid) {
    dirty_.insert(uid);
    wake_.set();
}

void StatusManager::set(const core::Pod& pod, core::PodStatus status) {
    Entry& entry = entries_[pod.metadata.uid];
    if (entry.status == status) return;
    entry.status = std::move(status);
    touch(pod.metadata.uid);
}

void StatusManager::mark_finished(const std::string& uid) {
    entries_[uid].finished = true;
    touch(uid);
}

void StatusManager::observe(const std::string& uid, const core::Pod& api_pod) {
    Entry& entry = entries_[uid];
    if (entry.api && is_earlier(api_pod, *entry.api)) return;
    if (!entry.api || entry.api->metadata.uid != api_pod.metadata.uid) entry.sent.reset();
    entry.api = api_pod;
    touch(uid);
}

void StatusManager::unobserve(const std::string& uid) {
    if (const auto found = entries_.find(uid); found != entries_.end()) found->second.api.reset();
}

void StatusManager::begin_anew(const std::string& uid) {
    const auto found = entries_.find(uid);
    if (found == entries_.end()) return;
    std::optional<core::Pod> api = std::move(found->second.api);
    found->second = Entry();
    found->second.api = std::move(api);
}

void StatusManager::forget(const std::string& uid) {
    entries_.erase(uid);
    dirty_.erase(uid);
}

Task<> StatusManager::run() {
    for (;;) {
        CO_TRY_VOID(co_await wake_.wait());
        wake_.reset();
        while (!dirty_.empty()) {
            const std::string uid = *dirty_.begin();
            dirty_.erase(dirty_.begin());
            CO_TRY_VOID(co_await write(uid));
        }
    }
}

Task<> StatusManager::write(std::string uid) {
    const auto found = entries_.find(uid);
    if (found == entries_.end() || !found->second.api) co_return {};
    Entry& entry = found->second;
    // The same report is not sent again at once, should the server have stored something else.
    const bool just_sent = entry.sent == entry.status && loop_.now() - entry.sent_at < SameReportPeriod;
    if (entry.status) {
        std::string body = status_patch(entry.api->metadata.uid, entry.api->status, *entry.status);
        if (!body.empty() && just_sent) {
            loop_.call_after(SameReportPeriod, [this, uid] {
                if (entries_.contains(uid)) touch(uid);
            });
        } else if (!body.empty()) {
            entry.sent = entry.status;
            entry.sent_at = loop_.now();
            co_return co_await patch(uid, std::move(body), client::key_of(*entry.api));
        }
    }
    if (entry.finished && entry.api->metadata.deletion_timestamp) co_return co_await remove(uid);
    co_return {};
}

Task<> StatusManager::patch(std::string uid, std::string body, client::NamespacedName key) {
    auto patched = co_await client_.patch<core::Pod>(key, client::PatchType::StrategicMerge, std::move(body), "status");
    const auto found = entries_.find(uid);
    if (found == entries_.end()) co_return {};
    Entry& entry = found->second;
    if (patched) {
        entry.retry = {};
        // Meanwhile a later state may have been observed, or the pod's removal, or its successor.
        if (entry.api && is_earlier(*entry.api, *patched)) entry.api = std::move(*patched);
        // Something may have been reported meanwhile, or the pod waits to be deleted.
        if (entry.finished) touch(uid);
        co_return {};
    }
    if (is_cancelled(patched)) co_return std::move(patched).error();
    entry.sent.reset();
    try_again(uid, "pod status cannot be written", key, patched.error());
    co_return {};
}

Task<> StatusManager::remove(std::string uid) {
    const core::Pod& api = *entries_[uid].api;
    client::DeleteOptions options;
    options.uid = api.metadata.uid;
    options.grace_period_seconds = 0;
    const client::NamespacedName key = client::key_of(api);
    auto removed = co_await client_.remove<core::Pod>(key, std::move(options));
    if (removed || !entries_.contains(uid)) co_return {};
    if (is_cancelled(removed)) co_return std::move(removed).error();
    try_again(uid, "ended pod cannot be deleted", key, removed.error());
    co_return {};
}

/// Also after NotFound and Conflict. They usually mean that the pod was removed, but a server also answers Conflict when others keep
/// writing to the pod, and NotFound may be older than the copy. unobserve() decides: without the copy nothing is written.
void StatusManager::try_again(const std::string& uid, std::string_view what, const client::NamespacedName& key, const Error& error) {
    using namespace std::chrono_literals;
    const bool may_be_gone = error.reason == Reason::NotFound || error.reason == Reason::Conflict;
    const Logger::Fields fields = {{"pod", key.text()}, {"uid", uid}, {"error", error.message}};
    may_be_gone ? log_.debug(what, fields) : log_.warn(what, fields);
    Entry& entry = entries_[uid];
    if (entry.retry_pending) return;
    entry.retry_pending = true;
    entry.retry = entry.retry == Duration::zero() ? Duration(1s) : std::min<Duration>(entry.retry * 2, 10s);
    loop_.call_after(entry.retry, [this, uid] {
        const auto found = entries_.find(uid);
        if (found == entries_.end()) return;
        found->second.retry_pending = false;
        touch(uid);
    });
}

}  // namespace porthole::kubelet
