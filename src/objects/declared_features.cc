#include "objects/declared_features.h"

#include <algorithm>

#include "objects/pod_resources.h"
#include "objects/restart_rules.h"
#include "schema/convert.h"

namespace porthole::objects {
namespace {

namespace core = api::core::v1;

constexpr std::string_view ResizePods = "InPlacePodLevelResourcesVerticalScaling", ResizeInit = "InPlacePodVerticalScalingInitContainers",
                           RestartAll = "RestartAllContainersOnContainerExits", MappedHost = "UserNamespacesHostNetworkSupport";

bool same(const core::ResourceRequirements& one, const core::ResourceRequirements& other) {
    return schema::to_value(one) == schema::to_value(other);
}

bool resizes_pod(const core::PodSpec& before, const core::PodSpec& after) {
    if (!before.resources || !after.resources) return bool(before.resources) != bool(after.resources);
    return !same(*before.resources, *after.resources);
}

bool resizes_init_container(const core::PodSpec& before, const core::PodSpec& after) {
    for (std::size_t i = 0; i < std::min(before.init_containers.size(), after.init_containers.size()); ++i) {
        const core::Container &was = before.init_containers[i], &is = after.init_containers[i];
        if (!is_sidecar(was) && !same(was.resources, is.resources)) return true;
    }
    return false;
}

}  // namespace

std::vector<std::string> features_of_node(std::string_view operating_system) {
    if (operating_system == "windows") return {std::string(RestartAll)};
    return {std::string(ResizePods), std::string(ResizeInit), std::string(RestartAll)};
}

std::vector<std::string_view> features_to_run(const core::PodSpec& spec) {
    std::vector<std::string_view> needed;
    if (may_restart_all_containers(spec)) needed.push_back(RestartAll);
    if (spec.host_network && !spec.host_users.value_or(true)) needed.push_back(MappedHost);
    return needed;
}

std::vector<std::string_view> features_to_update(const core::PodSpec& before, const core::PodSpec& after) {
    std::vector<std::string_view> needed;
    if (resizes_pod(before, after)) needed.push_back(ResizePods);
    if (resizes_init_container(before, after)) needed.push_back(ResizeInit);
    return needed;
}

std::string missing_features(const std::vector<std::string_view>& needed, const std::vector<std::string>& declared) {
    std::string missing;
    for (const std::string_view one : needed) {
        if (std::ranges::find(declared, one) != declared.end()) continue;
        missing += (missing.empty() ? "" : ", ") + std::string(one);
    }
    return missing;
}

}  // namespace porthole::objects
