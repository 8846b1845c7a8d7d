#include "kubelet/volumes/csi/csi_node_info.h"

#include <algorithm>
#include <limits>

#include "api/storage_v1.h"
#include "base/result.h"
#include "base/strings.h"
#include "objects/csi_translation.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using namespace api::storage::v1;
using api::core::v1::Node;
using schema::Value;

constexpr const char* NodeIdAnnotation = "csi.volume.kubernetes.io/nodeid";
constexpr const char* MigratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";
constexpr Duration FirstRetry = 200ms, LongestRetry = 10s;

CSINodeDriver entry_of(const std::string& name, const CsiNodeDriver& info) {
    CSINodeDriver entry;
    entry.name = name;
    entry.node_id = info.node_id;
    for (const auto& [key, value] : info.topology) entry.topology_keys.push_back(key);
    if (info.most_volumes > 0)
        entry.allocatable.emplace().count =
            static_cast<std::int32_t>(std::min<std::int64_t>(info.most_volumes, std::numeric_limits<std::int32_t>::max()));
    return entry;
}

Result<void> check_topology(const Node& node, const CsiNodeDriver& info) {
    for (const auto& [key, value] : info.topology)
        if (const auto found = node.metadata.labels.find(key); found != node.metadata.labels.end() && found->second != value)
            return Error(Reason::Conflict, "detected topology value collision: driver reported " + quote(key) + ":" + quote(value) +
                                               " but existing label is " + quote(key) + ":" + quote(found->second));
    return {};
}

}  // namespace

CsiNodeInfo::CsiNodeInfo(client::Client& client, Logger log, std::string node_name)
    : client_(client), log_(std::move(log)), node_name_(std::move(node_name)) {}

void CsiNodeInfo::node_seen(const std::string& uid) {
    if (uid == node_uid_) return;
    stale_ = true;
    wake_.set();
}

Task<> CsiNodeInfo::run(std::function<void()> initialized) {
    Duration pause = FirstRetry;
    for (;;) {
        wake_.reset();
        const bool first = !is_initialized();
        Result<void> published;
        if (stale_ || !gone_.empty()) published = co_await publish();
        if (is_cancelled(published)) co_return published;
        if (published) {
            pause = FirstRetry;
            if (first && is_initialized()) initialized();
            CO_TRY_VOID(co_await wake_.wait());
            continue;
        }
        if (!is_not_found(published)) log_.warn("CSINode not published", {{"error", published.error().message}});
        const auto woken = co_await with_timeout(wake_.wait(), pause, "CSINode");
        if (is_cancelled(woken)) co_return woken;
        pause = std::min<Duration>(pause * 2, LongestRetry);
    }
}

Task<> CsiNodeInfo::install(std::string driver, CsiNodeDriver info) {
    if (info.node_id.empty()) co_return Error(Reason::BadRequest, "error adding CSI driver node info: driverNodeID must not be empty");
    auto published = co_await publish_with(std::move(driver), std::move(info));
    if (is_cancelled(published) || published) co_return published;
    co_return std::move(published).error().with_context("error updating CSINode object with CSI driver node info");
}

/// The labels are compared while no other driver publishes: of two that contradict each other the second is refused.
Task<> CsiNodeInfo::publish_with(std::string driver, CsiNodeDriver info) {
    CO_TRY(const auto permit, co_await one_at_a_time_.acquire());
    CO_TRY(const Node node, co_await client_.get<Node>({"", node_name_}));
    CO_TRY_VOID(check_topology(node, info));
    auto before = drivers_.extract(driver);
    drivers_[driver] = std::move(info);
    auto published = co_await publish_to(node);
    if (published) {
        gone_.erase(driver);
        co_return {};
    }
    drivers_.erase(driver);
    if (before) drivers_.insert(std::move(before));
    co_return published;
}

Task<> CsiNodeInfo::set_limit(std::string driver, std::int64_t most_volumes) {
    const auto found = drivers_.find(driver);
    if (found == drivers_.end() || found->second.most_volumes == most_volumes) co_return {};
    found->second.most_volumes = most_volumes;
    stale_ = true;
    auto published = co_await publish();
    if (published || is_cancelled(published)) co_return published;
    wake_.set();
    co_return std::move(published).error().with_context("error updating the limit of volumes in the CSINode object");
}

Task<> CsiNodeInfo::uninstall(std::string driver) {
    drivers_.erase(driver);
    gone_.insert(driver);
    auto published = co_await publish();
    if (published || is_cancelled(published)) co_return published;
    wake_.set();
    co_return std::move(published).error().with_context("error uninstalling CSI driver from CSINode object");
}

/// Brings both objects to what is known of drivers.
Task<> CsiNodeInfo::publish() {
    CO_TRY(const auto permit, co_await one_at_a_time_.acquire());
    CO_TRY(const Node node, co_await client_.get<Node>({"", node_name_}));
    co_return co_await publish_to(node);
}

Task<> CsiNodeInfo::publish_to(const Node& node) {
    const std::set<std::string> gone = gone_;
    CO_TRY_VOID(co_await publish_node(node));
    CO_TRY_VOID(co_await publish_csi_node(node.metadata.uid));
    node_uid_ = node.metadata.uid;
    stale_ = false;
    for (const std::string& driver : gone)
        if (!drivers_.contains(driver)) gone_.erase(driver);
    co_return {};
}

/// Labels of topology stay when their driver goes: volumes may still be bound by them. One that somebody has changed stays as it is, as
/// upstream looks at them only when a driver registers.
Task<> CsiNodeInfo::publish_node(const Node& node) {
    const auto found = node.metadata.annotations.find(NodeIdAnnotation);
    const std::string before = found == node.metadata.annotations.end() ? "" : found->second;
    Value ids = Value::object();
    if (!before.empty()) {
        auto parsed = schema::parse_json(before);
        if (!parsed || !parsed->is_object())
            co_return Error(Reason::BadRequest, "failed to parse node's " + quote(NodeIdAnnotation) + " annotation value");
        ids = *std::move(parsed);
    }
    Value labels = Value::object();
    for (const std::string& driver : gone_) ids.erase(driver);
    for (const auto& [driver, info] : drivers_) {
        ids[driver] = info.node_id;
        for (const auto& [key, value] : info.topology)
            if (!node.metadata.labels.contains(key)) labels[key] = value;
    }
    const std::string after = ids.as_object().empty() ? "" : schema::to_json(ids);
    Value metadata = Value::object();
    if (after != before) metadata["annotations"] = Value::object({{NodeIdAnnotation, after.empty() ? Value() : Value(after)}});
    if (!labels.as_object().empty()) metadata["labels"] = std::move(labels);
    if (metadata.as_object().empty()) co_return {};
    const std::string body = schema::to_json(Value::object({{"metadata", std::move(metadata)}}));
    CO_TRY_VOID(co_await client_.patch<Node>({"", node_name_}, client::PatchType::StrategicMerge, body));
    co_return {};
}

Task<> CsiNodeInfo::publish_csi_node(std::string node_uid) {
    const client::NamespacedName key{"", node_name_};
    auto there = co_await client_.get<CSINode>(key);
    if (!there && !is_not_found(there)) co_return std::move(there).error();
    const auto owned = [&](const CSINode& node) {
        return std::ranges::any_of(node.metadata.owner_references,
                                   [&](const auto& owner) { return owner.kind == "Node" && owner.uid == node_uid; });
    };
    if (there && !owned(*there)) {
        // Of a node of the same name that is gone.
        CO_TRY_VOID(co_await client_.remove<CSINode>(key, {.uid = there->metadata.uid}));
        there = Error(Reason::NotFound, "");
    }
    CSINode wanted;
    if (there) wanted = *there;
    std::erase_if(wanted.spec.drivers,
                  [&](const CSINodeDriver& entry) { return gone_.contains(entry.name) || drivers_.contains(entry.name); });
    for (const auto& [driver, info] : drivers_) wanted.spec.drivers.push_back(entry_of(driver, info));
    // Upstream's control plane attaches in-tree volumes by their drivers only to nodes that say so.
    wanted.metadata.annotations[MigratedPlugins] = join(objects::in_tree_plugins(), ",");
    if (there) {
        const auto by_name = [](const CSINodeDriver& a, const CSINodeDriver& b) { return a.name < b.name; };
        std::vector<CSINodeDriver> before = there->spec.drivers, after = wanted.spec.drivers;
        std::ranges::sort(before, by_name);
        std::ranges::sort(after, by_name);
        if (before == after && there->metadata.annotations == wanted.metadata.annotations) co_return {};
        CO_TRY_VOID(co_await client_.update(std::move(wanted)));
        co_return {};
    }
    wanted.metadata.name = node_name_;
    auto& owner = wanted.metadata.owner_references.emplace_back();
    owner.api_version = "v1";
    owner.kind = "Node";
    owner.name = node_name_;
    owner.uid = node_uid;
    CO_TRY_VOID(co_await client_.create(std::move(wanted)));
    co_return {};
}

}  // namespace porthole::kubelet
