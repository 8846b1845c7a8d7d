#include <algorithm>

#include "apiserver/kinds/core/pod_spec.h"
#include "objects/pod_resources.h"

/// What a pod asks for as a whole (KEP-2837), beside its containers.
namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using objects::ResourceList;

bool is_of_huge_pages(std::string_view name) { return name.starts_with("hugepages-"); }

/// Of all containers together; `list` picks the requests or the limits.
ResourceList of_containers(const PodSpec& spec, const ResourceList ResourceRequirements::* list) {
    return objects::most_in_use<ResourceList>(
        spec, [&](const Container& container, bool) -> const ResourceList& { return container.resources.*list; });
}

void validate_against_containers(const PodSpec& spec, const FieldPath& path, FieldErrors& errors) {
    const auto check_sum = [&](const char* what, const ResourceList& whole, const ResourceList& sums, auto concerns) {
        for (const auto& [name, sum] : sums)
            if (const auto own = whole.find(name); own != whole.end() && concerns(name) && sum > own->second)
                errors.invalid((path / what).key(name), own->second.to_string(),
                               std::string("must be greater than or equal to aggregate container ") + what + " of " + sum.to_string());
    };
    const auto any = [](std::string_view) { return true; };
    check_sum("requests", spec.resources->requests, of_containers(spec, &ResourceRequirements::requests), any);
    check_sum("limits", spec.resources->limits, of_containers(spec, &ResourceRequirements::limits), is_of_huge_pages);
    for (std::size_t i = 0; i < spec.containers.size(); ++i) {
        for (const auto& [name, limit] : spec.containers[i].resources.limits)
            if (const auto own = spec.resources->limits.find(name); own != spec.resources->limits.end() && limit > own->second)
                errors.invalid((path / "containers").index(i).key(name) / "limits", limit.to_string(),
                               "must be less than or equal to pod limits of " + own->second.to_string());
    }
}

}  // namespace

void default_pod_level_resources(PodSpec& spec) {
    if (!spec.resources) return;
    ResourceRequirements& whole = *spec.resources;
    if (whole.limits.empty() && whole.requests.empty()) return;
    for (const auto& [name, sum] : of_containers(spec, &ResourceRequirements::limits))
        if (is_of_huge_pages(name) && !whole.requests.contains(name)) whole.limits.emplace(name, sum);
    if (whole.limits.empty()) return;
    for (const auto& [name, sum] : of_containers(spec, &ResourceRequirements::requests))
        if (objects::is_pod_level_resource(name) && !is_of_huge_pages(name)) whole.requests.emplace(name, sum);
    for (const auto& [name, limit] : whole.limits)
        if (objects::is_pod_level_resource(name)) whole.requests.emplace(name, limit);
}

void validate_pod_level_resources(const PodSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (!spec.resources) return;
    if (spec.os && spec.os->name == "windows") return errors.forbidden(path, "may not be set for a windows pod");
    if (!spec.resources->claims.empty()) errors.forbidden(path / "claims", "claims may not be set for Resources at pod-level");
    validate_resources(*spec.resources, path, errors);
    for (const auto& [what, list] : {std::pair("limits", &spec.resources->limits), std::pair("requests", &spec.resources->requests)})
        for (const auto& [name, amount] : *list)
            if (!objects::is_pod_level_resource(name)) errors.not_supported((path / what).key(name), name, {"cpu", "hugepages-", "memory"});
    validate_against_containers(spec, path, errors);
}

}  // namespace porthole::apiserver
