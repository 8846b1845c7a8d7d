#include "kubelet/eviction.h"

#include "base/result.h"

#include <algorithm>
#include <unordered_map>

namespace porthole::kubelet {
namespace {

constexpr Duration LookPeriod = std::chrono::seconds(10);
constexpr const char* EphemeralStorage = "ephemeral-storage";

std::string binary_text(std::int64_t bytes) { return Quantity::from_value(bytes / 1024 * 1024, Quantity::Format::BinarySi).to_string(); }

struct Candidate {
    std::shared_ptr<const core::Pod> pod;
    std::int64_t usage = 0, request = 0;
    bool exceeds() const { return usage > request; }
};

/// Who goes first: above its request, lower priority, further above its request.
bool goes_before(const Candidate& a, const Candidate& b) {
    if (a.exceeds() != b.exceeds()) return a.exceeds();
    const std::int32_t a_priority = a.pod->spec.priority.value_or(0), b_priority = b.pod->spec.priority.value_or(0);
    if (a_priority != b_priority) return a_priority < b_priority;
    return a.usage - a.request > b.usage - b.request;
}

std::uint64_t sum(const std::map<std::string, std::uint64_t>& amounts) {
    std::uint64_t all = 0;
    for (const auto& [name, amount] : amounts) all += amount;
    return all;
}

std::uint64_t bytes_of(const std::map<std::string, std::uint64_t>& amounts, const std::string& name) {
    const auto found = amounts.find(name);
    return found == amounts.end() ? 0 : found->second;
}

/// No limit is none of zero.
bool exceeds(std::uint64_t used, const Quantity& limit) { return limit.value() > 0 && used > static_cast<std::uint64_t>(limit.value()); }

}  // namespace

Eviction::Eviction(Services services, std::string disk, EvictionThresholds thresholds)
    : services_(std::move(services)), disk_path_(std::move(disk)), thresholds_(thresholds) {}

Task<> Eviction::run() {
    for (;;) {
        auto looked = co_await look();
        if (is_cancelled(looked)) co_return std::move(looked).error();
        if (!looked) services_.log.warn("the node's pressure cannot be told", {{"error", looked.error().message}});
        CO_TRY_VOID(co_await services_.loop.sleep(LookPeriod));
    }
}

void Eviction::note(Pressure& pressure, bool now) {
    pressure.now = now;
    if (now) pressure.last_seen = services_.loop.now();
    pressure.holds = now || (pressure.holds && services_.loop.now() - pressure.last_seen < thresholds_.transition);
}

Task<> Eviction::look() {
    CO_TRY_VOID(co_await evict_for_limits());
    const HostUsage usage = services_.host.usage();
    note(memory_, thresholds_.memory_available > 0 && usage.memory_available > 0 && usage.memory_available < thresholds_.memory_available);
    if (memory_.now) CO_TRY_VOID(co_await evict_for_memory(usage.memory_available));
    CO_TRY(const FileSystemUsage disk, services_.files.usage(disk_path_));
    const auto wanted = static_cast<std::uint64_t>(static_cast<double>(disk.capacity) * thresholds_.disk_available);
    const auto inodes_wanted = static_cast<std::uint64_t>(static_cast<double>(disk.inodes) * thresholds_.inodes_free);
    note(disk_, disk.available < wanted || disk.inodes_free < inodes_wanted);
    if (disk_.now) CO_TRY_VOID(co_await evict_for_disk(disk.available, wanted));
    co_return {};
}

Task<std::map<std::string, std::int64_t>> Eviction::memory_by_pod() {
    std::map<std::string, std::int64_t> usage;
    CO_TRY(const auto stats, co_await services_.runtime.list_container_stats({}));
    for (const cri::ContainerStats& one : stats.stats) {
        if (!one.attributes || !one.memory || !one.memory->working_set_bytes) continue;
        const auto uid = one.attributes->labels.find(PodUidLabel);
        if (uid != one.attributes->labels.end()) usage[uid->second] += static_cast<std::int64_t>(one.memory->working_set_bytes->value);
    }
    co_return usage;
}

Task<> Eviction::evict_for_memory(std::int64_t available) {
    CO_TRY(const auto usage, co_await memory_by_pod());
    evict_one(usage, "memory",
              "Threshold quantity: " + binary_text(thresholds_.memory_available) + ", available: " + binary_text(available) + ". ");
    co_return {};
}

Task<> Eviction::evict_for_disk(std::uint64_t available, std::uint64_t wanted) {
    CO_TRY(const std::uint64_t freed, co_await services_.images.remove_unused(wanted > available ? wanted - available : 1));
    if (available + freed >= wanted) co_return {};
    CO_TRY(const auto layers, co_await writable_layers());
    std::map<std::string, std::int64_t> usage;
    for (const auto& pod : services_.pods.active()) {
        const auto own = layers.find(pod->metadata.uid);
        std::uint64_t used = services_.storage.of(pod->metadata.uid).on_node_disk().bytes;
        if (own != layers.end()) used += sum(own->second);
        usage[pod->metadata.uid] = static_cast<std::int64_t>(used);
    }
    evict_one(usage, EphemeralStorage,
              "Threshold quantity: " + binary_text(static_cast<std::int64_t>(wanted)) +
                  ", available: " + binary_text(static_cast<std::int64_t>(available)) + ". ");
    co_return {};
}

Task<std::map<std::string, std::map<std::string, std::uint64_t>>> Eviction::writable_layers() {
    std::map<std::string, std::map<std::string, std::uint64_t>> layers;
    std::map<std::pair<std::string, std::string>, std::uint32_t> attempts;
    CO_TRY(const auto stats, co_await services_.runtime.list_container_stats({}));
    for (const cri::ContainerStats& one : stats.stats) {
        if (!one.attributes || !one.attributes->metadata || !one.writable_layer || !one.writable_layer->used_bytes) continue;
        const auto uid = one.attributes->labels.find(PodUidLabel);
        if (uid == one.attributes->labels.end()) continue;
        const std::string& name = one.attributes->metadata->name;
        std::uint32_t& newest = attempts[{uid->second, name}];
        if (one.attributes->metadata->attempt < newest) continue;
        newest = one.attributes->metadata->attempt;
        layers[uid->second][name] = one.writable_layer->used_bytes->value;
    }
    co_return layers;
}

Task<> Eviction::evict_for_limits() {
    CO_TRY(const auto layers, co_await writable_layers());
    for (const auto& pod : services_.pods.active()) {
        if (is_spared(*pod)) continue;
        const auto own = layers.find(pod->metadata.uid);
        const std::string message = exceeded_limit(*pod, own == layers.end() ? std::map<std::string, std::uint64_t>() : own->second);
        if (!message.empty()) evict(*pod, message);
    }
    co_return {};
}

/// The message of the eviction; "" where the pod keeps its limits.
std::string Eviction::exceeded_limit(const core::Pod& pod, const std::map<std::string, std::uint64_t>& layers) const {
    const StorageUse& use = services_.storage.of(pod.metadata.uid);
    std::unordered_map<std::string_view, const VolumeUse*> volumes;  // there may be thousands
    for (const VolumeUse& volume : use.volumes) volumes.emplace(volume.name, &volume);
    for (const core::Volume& volume : pod.spec.volumes) {
        if (!volume.empty_dir || !volume.empty_dir->size_limit) continue;
        const auto found = volumes.find(volume.name);
        if (found != volumes.end() && exceeds(found->second->used.bytes, *volume.empty_dir->size_limit))
            return "Usage of EmptyDir volume \"" + volume.name + "\" exceeds the limit \"" + volume.empty_dir->size_limit->to_string() +
                   "\". ";
    }
    const Quantity total = amount_of(objects::pod_limits(pod.spec), EphemeralStorage);
    if (exceeds(use.on_node_disk().bytes + sum(layers), total))
        return "Pod ephemeral local storage usage exceeds the total limit of containers " + total.to_string() + ". ";
    for (const ContainerSpec& spec : all_containers(pod)) {
        const std::string& name = spec.container.name;
        const Quantity limit = amount_of(spec.container.resources.limits, EphemeralStorage);
        const auto log = use.logs.find(name);
        if (exceeds(bytes_of(layers, name) + (log == use.logs.end() ? 0 : log->second.bytes), limit))
            return "Container " + name + " exceeded its local ephemeral storage limit \"" + limit.to_string() + "\". ";
    }
    return "";
}

bool Eviction::is_spared(const core::Pod& pod) const {
    const PodWorker* worker = services_.pods.find(pod.metadata.uid);
    return is_critical_pod(pod) || !worker || worker->is_terminating();
}

void Eviction::evict(const core::Pod& pod, const std::string& message) {
    services_.log.warn("pod is evicted", {{"pod", pod_key(pod)}, {"why", message}});
    services_.events.warning(reference_to(pod), "Evicted", message);
    services_.pods.evict(pod.metadata.uid, {.grace = std::chrono::seconds(1), .reason = "Evicted", .message = message});
}

void Eviction::evict_one(const std::map<std::string, std::int64_t>& usage, const char* resource, const std::string& text) {
    std::vector<Candidate> candidates;
    for (const auto& pod : services_.pods.active()) {
        if (is_spared(*pod)) continue;
        const auto used = usage.find(pod->metadata.uid);
        candidates.push_back({pod, used == usage.end() ? 0 : used->second, amount_of(objects::pod_requests(pod->spec), resource).value()});
    }
    if (candidates.empty()) return;
    const Candidate& first = *std::min_element(candidates.begin(), candidates.end(), goes_before);
    std::string message = std::string("The node was low on resource: ") + resource + ". " + text;
    if (first.exceeds())
        message += "Container " + first.pod->spec.containers.front().name + " was using " + binary_text(first.usage) + ", request is " +
                   (first.request ? binary_text(first.request) : "0") + ", has larger consumption of " + resource + ". ";
    evict(*first.pod, message);
}

}  // namespace porthole::kubelet
