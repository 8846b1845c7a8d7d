#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/core_v1.h"
#include "base/values/quantity.h"

/// The resources of a pod as a whole (KEP-753, KEP-2837), as upstream's component-helpers/resource computes them, from the spec alone.
namespace porthole::objects {

using ResourceList = std::map<std::string, Quantity>;

/// Whether the init container keeps running together with the containers (KEP-753).
inline bool is_sidecar(const api::core::v1::Container& container) {
    return container.restart_policy == api::core::v1::ContainerRestartPolicy::Always;
}

Quantity amount_of(const ResourceList& list, const std::string& name);  ///< zero where it is not listed
ResourceList& operator+=(ResourceList& sum, const ResourceList& more);
/// For each resource the larger amount.
void raise_to(ResourceList& highest, const ResourceList& other);
/// Adds to each resource that `amounts` names what `more` has of it.
void add_to_named(ResourceList& amounts, const ResourceList& more);

/// KEP-753's rule for any kind of amounts: the sum for all containers and sidecars, or that for an init container and the sidecars started
/// before it, whichever is more. `amounts_of(container, is_init)` returns the amounts of one, none negative; Amounts has +=, raise_to() and
/// add_to_named(). Takes as long as the containers have amounts.
template <class Amounts, class AmountsOf>
Amounts most_in_use(const api::core::v1::PodSpec& spec, AmountsOf amounts_of) {
    Amounts running, sidecars, initializing;
    for (const api::core::v1::Container& container : spec.containers) running += amounts_of(container, false);
    for (const api::core::v1::Container& container : spec.init_containers) {
        if (is_sidecar(container)) {
            sidecars += amounts_of(container, true);
            continue;
        }
        // What only the sidecars have is in the sum of the running pod, which has all of them.
        Amounts moment = amounts_of(container, true);
        add_to_named(moment, sidecars);
        raise_to(initializing, moment);
    }
    running += sidecars;
    raise_to(running, initializing);
    return running;
}

enum class Overhead : bool { Excluded, Included };

/// The largest amounts in use at a time: all containers and sidecars, or one init container with the sidecars started before it. The pod's
/// own cpu, memory and huge pages, if specified, replace these sums; spec.overhead is added.
ResourceList pod_requests(const api::core::v1::PodSpec& spec, Overhead overhead = Overhead::Included);
/// As pod_requests(); overhead is only added to resources that have a limit.
ResourceList pod_limits(const api::core::v1::PodSpec& spec, Overhead overhead = Overhead::Included);

/// Whether the resource may be stated for the pod as a whole: cpu, memory and huge pages.
bool is_pod_level_resource(std::string_view name);
/// Whether the pod itself specifies such a request or limit.
bool has_pod_level_resources(const api::core::v1::PodSpec& spec);

/// core::PodQOSClass: Guaranteed, Burstable or BestEffort, from the pod's own cpu and memory if it specifies any, otherwise from its
/// containers'. A missing request counts as equal to the limit.
std::string qos_class(const api::core::v1::PodSpec& spec);

}  // namespace porthole::objects
