#include "apiserver/aggregation/api_service_order.h"

#include <algorithm>

#include "schema/version_order.h"

namespace porthole::apiserver {
namespace {

struct Entry {
    std::string_view group, version;
    ApiPriority priority;
};

constexpr Entry Entries[] = {
    // The aggregation layer's own group comes first, but has no object: it cannot be given away.
    {"", "v1", {18000, 1}},
    {"apps", "v1", {17800, 15}},
    {"events.k8s.io", "v1", {17750, 15}},
    {"authentication.k8s.io", "v1", {17700, 15}},
    {"authorization.k8s.io", "v1", {17600, 15}},
    {"autoscaling", "v1", {17500, 15}},
    {"autoscaling", "v2", {17500, 30}},
    {"batch", "v1", {17400, 15}},
    {"certificates.k8s.io", "v1", {17300, 15}},
    {"certificates.k8s.io", "v1beta1", {17300, 9}},
    {"certificates.k8s.io", "v1alpha1", {17300, 1}},
    {"networking.k8s.io", "v1", {17200, 15}},
    {"networking.k8s.io", "v1beta1", {17200, 9}},
    {"policy", "v1", {17100, 15}},
    {"rbac.authorization.k8s.io", "v1", {17000, 15}},
    {"storage.k8s.io", "v1", {16800, 15}},
    {"storage.k8s.io", "v1beta1", {16800, 9}},
    {"storage.k8s.io", "v1alpha1", {16800, 1}},
    {"apiextensions.k8s.io", "v1", {16700, 15}},
    {"admissionregistration.k8s.io", "v1", {16700, 15}},
    {"admissionregistration.k8s.io", "v1beta1", {16700, 12}},
    {"admissionregistration.k8s.io", "v1alpha1", {16700, 9}},
    {"scheduling.k8s.io", "v1", {16600, 15}},
    {"coordination.k8s.io", "v1", {16500, 15}},
    {"coordination.k8s.io", "v1beta1", {16500, 13}},
    {"coordination.k8s.io", "v1alpha2", {16500, 12}},
    {"node.k8s.io", "v1", {16300, 15}},
    {"discovery.k8s.io", "v1", {16200, 15}},
    {"resource.k8s.io", "v1", {16200, 21}},
    {"resource.k8s.io", "v1beta2", {16200, 15}},
    {"resource.k8s.io", "v1beta1", {16200, 9}},
    {"resource.k8s.io", "v1alpha3", {16200, 1}},
    {"flowcontrol.apiserver.k8s.io", "v1", {16100, 21}},
    {"internal.apiserver.k8s.io", "v1alpha1", {16000, 9}},
    {"storagemigration.k8s.io", "v1beta1", {15800, 9}},
    // Once before apps; last, so that whoever names a resource without its group gets apps/v1.
    {"extensions", "v1beta1", {15700, 1}},
};

}  // namespace

std::optional<ApiPriority> built_in_priority(std::string_view group, std::string_view version) {
    const auto found = std::ranges::find_if(Entries, [&](const Entry& one) { return one.group == group && one.version == version; });
    if (found == std::end(Entries)) return std::nullopt;
    return found->priority;
}

std::string api_service_name(std::string_view group, std::string_view version) { return std::string(version).append(".").append(group); }

bool is_preferred(std::string_view left_version, std::int32_t left, std::string_view right_version, std::int32_t right) {
    return left != right ? left > right : schema::is_preferred_version(left_version, right_version);
}

}  // namespace porthole::apiserver
