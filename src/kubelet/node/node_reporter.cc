#include "kubelet/node/node_reporter.h"

#include <algorithm>
#include <cstdlib>

#include "base/result.h"
#include "objects/conditions.h"
#include "objects/declared_features.h"
#include "schema/json/json.h"
#include "windows/builds.h"

namespace porthole::kubelet {
namespace {

const std::string HugePages = "hugepages-";

using namespace std::chrono_literals;
using schema::Value;
using Lease = api::coordination::v1::Lease;

constexpr Duration StatusPeriod = 10s, ReportPeriod = 5min, LeasePeriod = 10s;
constexpr std::size_t ImageLimit = 50, NamesPerImage = 5;
constexpr const char* UnsupportedBuild = "UnsupportedOSBuild";

Value tree_of(const core::NodeStatus& status) { return schema::parse_json(schema::encode_json(status)).value_or(Value()); }

/// Times that move with every report do not count as a change.
Value without_heartbeats(core::NodeStatus status) {
    for (core::NodeCondition& one : status.conditions) one.last_heartbeat_time = Timestamp();
    return tree_of(status);
}

/// A strategic merge patch with what differs; lists that would be merged are replaced as a whole.
std::string node_patch(const core::NodeStatus& before, const core::NodeStatus& now) {
    const Value old_tree = tree_of(before), new_tree = tree_of(now);
    Value status = Value::object();
    for (const schema::Member& member : new_tree.as_object()) {
        const Value* old_value = old_tree.find(member.key);
        if (old_value && *old_value == member.value) continue;
        Value value = member.value;
        if (member.key == "addresses" && old_value) value.as_array().push_back(Value::object({{"$patch", "replace"}}));
        if (member.key == "capacity" || member.key == "allocatable") {
            for (const schema::Member& resource :
                 schema::at(old_tree, member.key).is_object() ? schema::at(old_tree, member.key).as_object() : schema::Object())
                if (!value.find(resource.key)) value[resource.key] = nullptr;
        }
        status[member.key] = std::move(value);
    }
    if (!before.volumes_in_use.empty() && now.volumes_in_use.empty()) status["volumesInUse"] = nullptr;
    return schema::to_json(Value::object({{"status", std::move(status)}}));
}

/// All sizes that the kernel has, also those without pages: "hugepages-2048kB" is the resource "hugepages-2Mi".
void add_huge_pages(FileSystem& files, ResourceList& capacity) {
    const std::string folder = "/sys/kernel/mm/hugepages";
    capacity["hugepages-1Gi"] = capacity["hugepages-2Mi"] = Quantity::from_value(0);
    for (const std::string& name : files.list(folder).value_or(std::vector<std::string>())) {
        const std::int64_t kilobytes = std::atoll(name.substr(name.find('-') + 1).c_str());
        const std::int64_t pages = std::atoll(files.read(folder + "/" + name + "/nr_hugepages").value_or("").c_str());
        if (kilobytes <= 0) continue;
        const Quantity size = Quantity::from_value(kilobytes * 1024, Quantity::Format::BinarySi);
        capacity[HugePages + size.to_string()] = Quantity::from_value(pages * kilobytes * 1024, Quantity::Format::BinarySi);
    }
}

}  // namespace

ResourceList extended_resources(const ResourceList& amounts) {
    ResourceList extended;
    for (const auto& [name, amount] : amounts)
        if (is_extended_resource(name)) extended[name] = amount;
    return extended;
}

ResourceList node_capacity(const NodeIdentity& identity, const HostFacts& facts, FileSystem& files) {
    ResourceList capacity;
    capacity["cpu"] = Quantity::from_value(facts.processors);
    capacity["memory"] = Quantity::from_value(facts.memory / 1024 * 1024, Quantity::Format::BinarySi);
    capacity["pods"] = Quantity::from_value(identity.max_pods);
    if (const auto usage = files.usage(identity.root_directory))
        capacity["ephemeral-storage"] =
            Quantity::from_value(static_cast<std::int64_t>(usage->capacity) / 1024 * 1024, Quantity::Format::BinarySi);
    if (facts.operating_system == "linux") add_huge_pages(files, capacity);
    return capacity;
}

ResourceList node_allocatable(const NodeIdentity& identity, const ResourceList& capacity) {
    ResourceList allocatable = capacity;
    const auto take = [&](const std::string& name, const Quantity& amount) {
        const auto found = allocatable.find(name);
        if (found == allocatable.end()) return;
        found->second -= amount;
        if (found->second.is_negative()) found->second = Quantity::from_value(0);
    };
    for (const auto* reserved : {&identity.kube_reserved, &identity.system_reserved})
        for (const auto& [name, amount] : *reserved) take(name, amount);
    for (const auto& [name, amount] : capacity)
        if (name.starts_with(HugePages)) take("memory", amount);
    take("memory", Quantity::from_value(identity.eviction_memory));
    const std::int64_t disk = amount_of(capacity, "ephemeral-storage").value();
    take("ephemeral-storage", Quantity::from_value(static_cast<std::int64_t>(static_cast<double>(disk) * identity.eviction_storage)));
    return allocatable;
}

NodeReporter::NodeReporter(Services services, NodeIdentity identity)
    : services_(std::move(services)), identity_(std::move(identity)), facts_(services_.host.describe()) {}

core::ObjectReference NodeReporter::reference() const {
    core::ObjectReference reference;
    reference.kind = "Node";
    reference.api_version = "v1";
    reference.name = identity_.name;
    reference.uid = identity_.name;  // as every kubelet does; `kubectl describe node` looks for it
    return reference;
}

Task<core::Node> NodeReporter::initial_node() {
    core::Node node = new_node(identity_, facts_);
    fill_status(node.status);
    co_return node;
}

/// The node with these labels, whatever it had under their keys.
Task<core::Node> NodeReporter::correct_labels(core::Node there, std::map<std::string, std::string> wanted) {
    Value labels = Value::object();
    for (const auto& [key, value] : wanted)
        if (const auto found = there.metadata.labels.find(key); found == there.metadata.labels.end() || found->second != value)
            labels[key] = value;
    if (labels.as_object().empty()) co_return std::move(there);
    const std::string body = schema::to_json(Value::object({{"metadata", Value::object({{"labels", std::move(labels)}})}}));
    co_return co_await services_.client.patch<core::Node>({"", identity_.name}, client::PatchType::StrategicMerge, body);
}

Task<> NodeReporter::register_node() {
    CO_TRY(core::Node node, co_await initial_node());
    auto made = co_await services_.client.create(node);
    if (!made && made.error().reason != Reason::AlreadyExists) co_return std::move(made).error();
    if (!made) {
        CO_TRY(core::Node there, co_await services_.client.get<core::Node>({"", identity_.name}));
        CO_TRY(made, co_await correct_labels(std::move(there), node.metadata.labels));
    }
    node_uid_ = made->metadata.uid;
    last_ = std::move(*made);
    registered_ = true;
    services_.log.info("node is registered", {{"node", identity_.name}});
    services_.events.normal(reference(), "Starting", "Starting kubelet.");
    if (std::string unknown = windows::unknown_build(facts_.windows_build); !unknown.empty())
        services_.events.warning(reference(), UnsupportedBuild, std::move(unknown));
    co_return {};
}

void NodeReporter::set_condition(core::NodeStatus& status, core::NodeCondition made, const char* event) {
    const Timestamp now(services_.loop.wall_now());
    const core::NodeCondition* known = objects::find_condition(status.conditions, made.type);
    const std::string before = known ? known->status : "";
    objects::set_condition(status.conditions, made, now);
    objects::find_condition(status.conditions, made.type)->last_heartbeat_time = now;
    std::string& last = last_condition_[made.type];
    // After a start the other conditions are told as they are; readiness only where it has changed, as by upstream's kubelet.
    const bool old_news = last.empty() && made.type == core::NodeConditionType::Ready && (before.empty() || before == made.status);
    if (last != made.status && registered_ && !old_news)
        services_.events.normal(reference(), event, "Node " + identity_.name + " status is now: " + event);
    if (registered_) last = made.status;
}

void NodeReporter::fill_status(core::NodeStatus& status) {
    const NodeHealth health = services_.health();
    status.volumes_in_use = health.volumes_in_use;
    const ResourceList extended = extended_resources(status.capacity);
    status.capacity = node_capacity(identity_, facts_, services_.files);
    status.allocatable = node_allocatable(identity_, status.capacity);
    status.capacity.insert(extended.begin(), extended.end());
    status.allocatable.insert(extended.begin(), extended.end());
    for (const auto& [name, amounts] : health.devices) {
        status.capacity[name] = Quantity::from_value(amounts.capacity);
        status.allocatable[name] = Quantity::from_value(amounts.allocatable);
    }
    status.addresses = node_addresses(identity_);
    status.daemon_endpoints.kubelet_endpoint.port = identity_.port;

    core::NodeSystemInfo& info = status.node_info;
    info.machine_id = facts_.machine_id;
    info.system_uuid = facts_.system_uuid;
    info.boot_id = facts_.boot_id;
    info.kernel_version = facts_.kernel_version;
    info.os_image = facts_.os_image;
    info.container_runtime_version = health.runtime_version;
    status.runtime_handlers = health.runtime_handlers;
    status.declared_features = objects::features_of_node(facts_.operating_system);
    info.kubelet_version = identity_.version;
    info.operating_system = facts_.operating_system;
    info.architecture = facts_.architecture;
    status.images = images_;

    std::vector<HealthCondition> conditions = health_conditions(health);
    HealthCondition ready = std::move(conditions.back());
    conditions.pop_back();
    for (HealthCondition& one : conditions) set_condition(status, std::move(one.condition), one.event);
    // Only where it is true, or was: nobody looks for its absence, and a patch does not take a condition away.
    const std::string unknown = windows::unknown_build(facts_.windows_build);
    const bool told = objects::find_condition(status.conditions, UnsupportedBuild);
    if (!unknown.empty()) {
        set_condition(status, node_condition(UnsupportedBuild, true, UnsupportedBuild, unknown), UnsupportedBuild);
    } else if (told) {
        set_condition(status, node_condition(UnsupportedBuild, false, "SupportedOSBuild", "nodes are known to run on this build"),
                      "SupportedOSBuild");
    }
    set_condition(status, std::move(ready.condition), ready.event);
}

Task<> NodeReporter::refresh_images() {
    auto listed = co_await services_.images.list_images({});
    if (!listed) co_return {};  // the runtime's trouble is told by the Ready condition
    std::sort(listed->images.begin(), listed->images.end(), [](const cri::Image& a, const cri::Image& b) { return a.size > b.size; });
    images_.clear();
    for (const cri::Image& image : listed->images) {
        if (images_.size() == ImageLimit) break;
        core::ContainerImage& shown = images_.emplace_back();
        for (const auto* names : {&image.repo_digests, &image.repo_tags})
            for (const std::string& name : *names)
                if (shown.names.size() < NamesPerImage) shown.names.push_back(name);
        shown.size_bytes = static_cast<std::int64_t>(image.size);
    }
    co_return {};
}

Task<> NodeReporter::report() {
    if (!registered_) CO_TRY_VOID(co_await register_node());
    CO_TRY_VOID(co_await refresh_images());
    auto node = co_await services_.client.get<core::Node>({"", identity_.name});
    if (!node) {
        // Somebody deleted it: a node that lives comes back.
        if (is_not_found(node)) registered_ = false;
        co_return std::move(node).error();
    }
    auto labels = system_labels(facts_);
    labels.merge(runtime_labels(services_.health().runtime_version));
    CO_TRY(node, co_await correct_labels(std::move(*node), std::move(labels)));
    const core::NodeStatus before = node->status;
    fill_status(node->status);
    const bool changed = !(without_heartbeats(before) == without_heartbeats(node->status));
    if (!changed && services_.loop.now() - reported_ < ReportPeriod && reported_ != MonotonicTime()) co_return {};
    CO_TRY(last_, co_await services_.client.patch<core::Node>({"", identity_.name}, client::PatchType::StrategicMerge,
                                                              node_patch(before, node->status), "status"));
    reported_ = services_.loop.now();
    co_return {};
}

Task<> NodeReporter::run_status() {
    for (;;) {
        wake_.reset();
        auto reported = co_await report();
        if (is_cancelled(reported)) co_return std::move(reported).error();
        if (!reported) services_.log.warn("node status cannot be reported", {{"error", reported.error().message}});
        const Duration pause = reported ? StatusPeriod : registered_ ? Duration(2s) : Duration(500ms);
        const auto woken = co_await with_timeout(wake_.wait(), pause, "node status");
        if (is_cancelled(woken)) co_return cancelled_error();
    }
}

Task<> NodeReporter::renew_lease() {
    const client::NamespacedName key{NodeLeaseNamespace, identity_.name};
    auto lease = co_await services_.client.get<Lease>(key);
    const bool fresh = is_not_found(lease);
    if (!lease && !fresh) co_return std::move(lease).error();
    Lease wanted = renewed_lease(lease ? std::move(*lease) : Lease(), identity_.name, node_uid_, services_.loop.wall_now());
    auto written = fresh ? services_.client.create(std::move(wanted)) : services_.client.update(std::move(wanted));
    CO_TRY_VOID(co_await std::move(written));
    co_return {};
}

Task<> NodeReporter::run_lease() {
    for (;;) {
        auto renewed = registered_ ? co_await renew_lease() : Result<void>();
        if (is_cancelled(renewed)) co_return std::move(renewed).error();
        if (!renewed) services_.log.warn("node lease cannot be renewed", {{"error", renewed.error().message}});
        CO_TRY_VOID(co_await services_.loop.sleep(renewed && registered_ ? LeasePeriod : Duration(1s)));
    }
}

}  // namespace porthole::kubelet
