#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/core_v1.h"
#include "base/values/quantity.h"

/// What a pod as a whole asks for (KEP-753, KEP-2837), as upstream's component-helpers/resource counts it, from the spec alone.
namespace porthole::objects {

using ResourceList = std::map<std::string, Quantity>;

/// Whether the init container keeps running while the containers do (KEP-753).
inline bool is_sidecar(const api::core::v1::Container& container) {
    return container.restart_policy == api::core::v1::ContainerRestartPolicy::Always;
}

Quantity amount_of(const ResourceList& list, const std::string& name);  ///< zero where it is not listed
ResourceList& operator+=(ResourceList& sum, const ResourceList& more);
/// For each resource the larger amount.
void raise_to(ResourceList& highest, const ResourceList& other);

/// KEP-753's rule over any kind of amounts: what all containers and sidecars need together, or an init container together with the
/// sidecars that were started before it, where that is more. `amounts_of(container, is_init)` yields what one needs; Amounts has += and
/// raise_to().
template <class Amounts, class AmountsOf>
Amounts most_in_use(const api::core::v1::PodSpec& spec, AmountsOf amounts_of) {
    Amounts running, sidecars, initializing;
    for (const api::core::v1::Container& container : spec.containers) running += amounts_of(container, false);
    for (const api::core::v1::Container& container : spec.init_containers) {
        Amounts moment = sidecars;
        moment += amounts_of(container, true);
        raise_to(initializing, moment);
        if (is_sidecar(container)) sidecars = std::move(moment);
    }
    running += sidecars;
    raise_to(running, initializing);
    return running;
}

enum class Overhead : bool { Excluded, Included };

/// The most that is in use at a time: all containers and sidecars together, or one init container with the sidecars that were started
/// before it. What the pod itself states of cpu, memory and huge pages takes the place of these sums; spec.overhead is added.
ResourceList pod_requests(const api::core::v1::PodSpec& spec, Overhead overhead = Overhead::Included);
/// As pod_requests(); overhead is added only to what has a limit.
ResourceList pod_limits(const api::core::v1::PodSpec& spec, Overhead overhead = Overhead::Included);

/// Whether the resource may be stated for the pod as a whole: cpu, memory and huge pages.
bool is_pod_level_resource(std::string_view name);
/// Whether the pod states such a request or limit.
bool has_pod_level_resources(const api::core::v1::PodSpec& spec);

/// core::PodQOSClass: Guaranteed, Burstable or BestEffort, from cpu and memory of the pod itself, where it states any, or else of its
/// containers. A request that is missing counts as equal to the limit.
std::string qos_class(const api::core::v1::PodSpec& spec);

}  // namespace porthole::objects
