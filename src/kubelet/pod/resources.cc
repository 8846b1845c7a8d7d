#include "kubelet/pod/resources.h"

#include <algorithm>

namespace porthole::kubelet {
namespace {

constexpr const char* Cpu = "cpu";
constexpr const char* Memory = "memory";
constexpr std::int64_t GuaranteedOomScore = -997;

void add(ResourceList& sum, const ResourceList& more) {
    for (const auto& [name, amount] : more) sum[name] += amount;
}

void raise(ResourceList& highest, const ResourceList& other) {
    for (const auto& [name, amount] : other) {
        const auto [at, made] = highest.emplace(name, amount);
        if (!made && at->second < amount) at->second = amount;
    }
}

/// `list_of` picks requests or limits of a container.
ResourceList pod_sum(const core::Pod& pod, const ResourceList core::ResourceRequirements::* list_of) {
    ResourceList running, initialising;
    for (const core::Container& container : pod.spec.containers) add(running, container.resources.*list_of);
    ResourceList sidecars;
    for (const core::Container& container : pod.spec.init_containers) {
        if (is_sidecar(container)) {
            add(sidecars, container.resources.*list_of);
            raise(initialising, sidecars);
        } else {
            ResourceList moment = sidecars;
            add(moment, container.resources.*list_of);
            raise(initialising, moment);
        }
    }
    add(running, sidecars);
    raise(running, initialising);
    if (pod.spec.resources)
        for (const auto& [name, amount] : (*pod.spec.resources).*list_of) running[name] = amount;
    return running;
}

bool is_compute(const std::string& name) { return name == Cpu || name == Memory; }

bool is_set(const core::ResourceRequirements& resources) {
    const auto counts = [](const auto& item) { return is_compute(item.first) && !item.second.is_zero(); };
    return std::any_of(resources.requests.begin(), resources.requests.end(), counts) ||
           std::any_of(resources.limits.begin(), resources.limits.end(), counts);
}

bool is_guaranteed(const core::ResourceRequirements& resources) {
    for (const char* name : {Cpu, Memory}) {
        const Quantity limit = amount_of(resources.limits, name);
        if (limit.is_zero()) return false;
        const auto request = resources.requests.find(name);
        if (request != resources.requests.end() && request->second != limit) return false;
    }
    return true;
}

}  // namespace

Quantity amount_of(const ResourceList& list, const std::string& name) {
    const auto found = list.find(name);
    return found == list.end() ? Quantity() : found->second;
}

std::string qos_class_of(const core::Pod& pod) {
    if (pod.spec.resources && is_set(*pod.spec.resources))
        return is_guaranteed(*pod.spec.resources) ? core::PodQOSClass::Guaranteed : core::PodQOSClass::Burstable;
    bool any = false, all = true;
    for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers}) {
        for (const core::Container& container : *list) {
            any = any || is_set(container.resources);
            all = all && is_guaranteed(container.resources);
        }
    }
    if (!any) return core::PodQOSClass::BestEffort;
    return all ? core::PodQOSClass::Guaranteed : core::PodQOSClass::Burstable;
}

ResourceList pod_requests(const core::Pod& pod) {
    ResourceList sum = pod_sum(pod, &core::ResourceRequirements::requests);
    add(sum, pod.spec.overhead);
    return sum;
}

ResourceList pod_limits(const core::Pod& pod) {
    ResourceList sum = pod_sum(pod, &core::ResourceRequirements::limits);
    for (const auto& [name, amount] : pod.spec.overhead)
        if (const auto limit = sum.find(name); limit != sum.end() && !limit->second.is_zero()) limit->second += amount;
    return sum;
}

std::int64_t oom_score_adjustment(const core::Pod& pod, const core::Container& container, std::int64_t memory_capacity) {
    if (is_critical_pod(pod)) return GuaranteedOomScore;
    const std::string qos = qos_class_of(pod);
    if (qos == core::PodQOSClass::Guaranteed) return GuaranteedOomScore;
    if (qos == core::PodQOSClass::BestEffort || memory_capacity <= 0) return 1000;

    const auto score = [&](const core::Container& of) {
        return 1000 - 1000 * amount_of(of.resources.requests, Memory).value() / memory_capacity;
    };
    std::int64_t adjustment = score(container);
    // A sidecar must outlive the containers that it serves.
    if (is_sidecar(container))
        for (const core::Container& regular : pod.spec.containers) adjustment = std::min(adjustment, score(regular));
    return std::clamp<std::int64_t>(adjustment, 1000 + GuaranteedOomScore, 999);
}

std::int64_t cpu_shares_of(std::int64_t milli_cpu) { return std::clamp<std::int64_t>(milli_cpu * 1024 / 1000, 2, 262'144); }

std::int64_t cpu_quota_of(std::int64_t milli_cpu) {
    return milli_cpu <= 0 ? 0 : std::max<std::int64_t>(milli_cpu * CpuPeriod / 1000, 1000);
}

}  // namespace porthole::kubelet
