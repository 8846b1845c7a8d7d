#include "windows/inference.h"

#include <algorithm>

#include "base/strings.h"
#include "windows/image_builds.h"

namespace porthole::windows {
namespace {

constexpr std::string_view OsKeys[] = {"kubernetes.io/os", "beta.kubernetes.io/os"};
/// What clusters taint their Windows nodes with, in addition.
constexpr std::string_view TaintKeys[] = {"os", "node.kubernetes.io/os", "kubernetes.io/os", "beta.kubernetes.io/os"};

bool is_system(std::string_view value) { return value == "windows" || value == "linux"; }

/// The key and value of the label that chooses the system; "" where the labels do not.
std::pair<std::string_view, std::string_view> chosen_by(const std::map<std::string, std::string>& labels) {
    for (const std::string_view key : OsKeys)
        if (const auto found = labels.find(std::string(key)); found != labels.end()) return {key, found->second};
    // Labels that nodes of Windows alone have.
    for (const std::string_view key : {BuildLabel, WineLabel})
        if (labels.contains(std::string(key))) return {key, "windows"};
    return {};
}

InferredSystem by_selector(const core::PodSpec& spec, const std::string& path) {
    const auto [key, system] = chosen_by(spec.node_selector);
    if (system.empty()) return {};
    return {std::string(system),
            path + ".nodeSelector[\"" + std::string(key) + "\"] " +
                (key == OsKeys[0] || key == OsKeys[1] ? "is " + std::string(system) : "is one of Windows nodes"),
            true};
}

InferredSystem by_class(const core::PodSpec& spec, const std::string& path, const ClassSelectors& classes) {
    if (!spec.runtime_class_name) return {};
    const auto found = classes.find(*spec.runtime_class_name);
    if (found == classes.end()) return {};
    const auto [key, system] = chosen_by(found->second);
    if (system.empty()) return {};
    return {std::string(system), path + ".runtimeClassName is " + found->first + ", whose nodes run " + std::string(system), true};
}

InferredSystem by_tolerations(const core::PodSpec& spec, const std::string& path) {
    for (std::size_t i = 0; i < spec.tolerations.size(); ++i) {
        const core::Toleration& one = spec.tolerations[i];
        const std::string value = to_lower(one.value);
        if (std::ranges::find(TaintKeys, one.key) != std::end(TaintKeys) && is_system(value))
            return {value, path + ".tolerations[" + std::to_string(i) + "] is for " + one.key + "=" + one.value};
    }
    return {};
}

InferredSystem by_images(const core::PodSpec& spec, const std::string& path) {
    const auto in = [&](const auto& containers, const char* list) -> InferredSystem {
        for (std::size_t i = 0; i < containers.size(); ++i)
            if (is_windows_image(containers[i].image))
                return {"windows", path + "." + list + "[" + std::to_string(i) + "].image is " + containers[i].image};
        return {};
    };
    InferredSystem found = in(spec.containers, "containers");
    return found.system.empty() ? in(spec.init_containers, "initContainers") : found;
}

}  // namespace

InferredSystem infer_system(const core::PodSpec& spec, std::string_view at, const ClassSelectors& classes) {
    const std::string path(at);
    if (spec.os && !spec.os->name.empty()) return {spec.os->name, path + ".os.name is " + spec.os->name, true};
    if (auto found = by_selector(spec, path); !found.system.empty()) return found;
    if (const std::string_view required = system_asked_for(spec); !required.empty())
        return {std::string(required), path + ".affinity.nodeAffinity requires " + std::string(required), true};
    if (auto found = by_class(spec, path, classes); !found.system.empty()) return found;
    if (auto found = by_tolerations(spec, path); !found.system.empty()) return found;
    return by_images(spec, path);
}

}  // namespace porthole::windows
