#include "kubelet/eviction.h"

#include "base/result.h"

#include <algorithm>

namespace porthole::kubelet {
namespace {

constexpr Duration LookPeriod = std::chrono::seconds(10);

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
    std::map<std::string, std::int64_t> usage;
    CO_TRY(const auto stats, co_await services_.runtime.list_container_stats({}));
    for (const cri::ContainerStats& one : stats.stats) {
        if (!one.attributes || !one.writable_layer || !one.writable_layer->used_bytes) continue;
        const auto uid = one.attributes->labels.find(PodUidLabel);
        if (uid != one.attributes->labels.end()) usage[uid->second] += static_cast<std::int64_t>(one.writable_layer->used_bytes->value);
    }
    evict_one(usage, "ephemeral-storage",
              "Threshold quantity: " + binary_text(static_cast<std::int64_t>(wanted)) +
                  ", available: " + binary_text(static_cast<std::int64_t>(available)) + ". ");
    co_return {};
}

bool Eviction::evict_one(const std::map<std::string, std::int64_t>& usage, const char* resource, const std::string& text) {
    std::vector<Candidate> candidates;
    for (const auto& pod : services_.pods.active()) {
        const PodWorker* worker = services_.pods.find(pod->metadata.uid);
        if (is_critical_pod(*pod) || !worker || worker->is_terminating()) continue;
        const auto used = usage.find(pod->metadata.uid);
        candidates.push_back({pod, used == usage.end() ? 0 : used->second, amount_of(objects::pod_requests(pod->spec), resource).value()});
    }
    if (candidates.empty()) return false;
    const Candidate& first = *std::min_element(candidates.begin(), candidates.end(), goes_before);
    std::string message = std::string("The node was low on resource: ") + resource + ". " + text;
    if (first.exceeds())
        message += "Container " + first.pod->spec.containers.front().name + " was using " + binary_text(first.usage) + ", request is " +
                   (first.request ? binary_text(first.request) : "0") + ", has larger consumption of " + resource + ". ";
    services_.log.warn("pod is evicted", {{"pod", pod_key(*first.pod)}, {"resource", resource}});
    services_.events.warning(reference_to(*first.pod), "Evicted", message);
    services_.pods.evict(first.pod->metadata.uid, {.grace = std::chrono::seconds(1), .reason = "Evicted", .message = message});
    return true;
}

}  // namespace porthole::kubelet
