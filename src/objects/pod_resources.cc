#include "objects/pod_resources.h"

#include <algorithm>

namespace porthole::objects {

using api::core::v1::Container;
using api::core::v1::PodQOSClass;
using api::core::v1::PodSpec;
using api::core::v1::ResourceRequirements;

namespace {

constexpr const char* Cpu = "cpu";
constexpr const char* Memory = "memory";

/// `list` picks the requests or the limits.
ResourceList pod_total(const PodSpec& spec, const ResourceList ResourceRequirements::* list) {
    ResourceList running =
        most_in_use<ResourceList>(spec, [&](const Container& container, bool) -> const ResourceList& { return container.resources.*list; });
    if (!spec.resources) return running;
    for (const auto& [name, amount] : (*spec.resources).*list)
        if (is_pod_level_resource(name)) running[name] = amount;
    return running;
}

bool is_set(const ResourceRequirements& resources) {
    const auto counts = [](const auto& item) { return (item.first == Cpu || item.first == Memory) && !item.second.is_zero(); };
    return std::ranges::any_of(resources.requests, counts) || std::ranges::any_of(resources.limits, counts);
}

bool is_guaranteed(const ResourceRequirements& resources) {
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

ResourceList& operator+=(ResourceList& sum, const ResourceList& more) {
    for (const auto& [name, amount] : more) sum[name] += amount;
    return sum;
}

void raise_to(ResourceList& highest, const ResourceList& other) {
    for (const auto& [name, amount] : other) {
        const auto [at, added] = highest.emplace(name, amount);
        if (!added && at->second < amount) at->second = amount;
    }
}

void add_to_named(ResourceList& amounts, const ResourceList& more) {
    for (auto& [name, amount] : amounts)
        if (const auto found = more.find(name); found != more.end()) amount += found->second;
}

ResourceList pod_requests(const PodSpec& spec, Overhead overhead) {
    ResourceList sum = pod_total(spec, &ResourceRequirements::requests);
    if (overhead == Overhead::Included) sum += spec.overhead;
    return sum;
}

ResourceList pod_limits(const PodSpec& spec, Overhead overhead) {
    ResourceList sum = pod_total(spec, &ResourceRequirements::limits);
    if (overhead == Overhead::Excluded) return sum;
    for (const auto& [name, amount] : spec.overhead)
        if (const auto limit = sum.find(name); limit != sum.end() && !limit->second.is_zero()) limit->second += amount;
    return sum;
}

bool is_pod_level_resource(std::string_view name) { return name == Cpu || name == Memory || name.starts_with("hugepages-"); }

bool has_pod_level_resources(const PodSpec& spec) {
    const auto counts = [](const auto& item) { return is_pod_level_resource(item.first); };
    return spec.resources && (std::ranges::any_of(spec.resources->requests, counts) || std::ranges::any_of(spec.resources->limits, counts));
}

std::string qos_class(const PodSpec& spec) {
    if (spec.resources && is_set(*spec.resources)) return is_guaranteed(*spec.resources) ? PodQOSClass::Guaranteed : PodQOSClass::Burstable;
    bool any = false, all = true;
    for (const auto* list : {&spec.init_containers, &spec.containers}) {
        for (const Container& container : *list) {
            any = any || is_set(container.resources);
            all = all && is_guaranteed(container.resources);
        }
    }
    if (!any) return PodQOSClass::BestEffort;
    return all ? PodQOSClass::Guaranteed : PodQOSClass::Burstable;
}

}  // namespace porthole::objects
