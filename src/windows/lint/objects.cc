#include "windows/lint/objects.h"

#include <algorithm>

#include "windows/manifest_rules.h"

namespace porthole::windows::lint {
namespace {

using schema::Value;

/// The kinds that are, or make, pods.
struct PodKind {
    std::string_view kind, pod;
};
constexpr std::string_view InTemplate = "spec.template.spec", InJobTemplate = "spec.jobTemplate.spec.template.spec";
constexpr PodKind PodKinds[] = {
    {"Pod", "spec"},
    {"PodTemplate", "template.spec"},
    {"ReplicationController", InTemplate},
    {"ReplicaSet", InTemplate},
    {"Deployment", InTemplate},
    {"DaemonSet", InTemplate},
    {"StatefulSet", InTemplate},
    {"PetSet", InTemplate},
    {"Job", InTemplate},
    {"CronJob", InJobTemplate},
    {"ScheduledJob", InJobTemplate},
};

/// Kinds of others may have the same names.
bool is_of_kubernetes(std::string_view api_version) {
    return api_version == "v1" || api_version.starts_with("apps/") || api_version.starts_with("batch/") ||
           api_version == "extensions/v1beta1";
}

std::string pod_path(const Value& object) {
    if (!is_of_kubernetes(object.string_at({"apiVersion"}))) return "";
    const auto found = std::ranges::find(PodKinds, object.string_at({"kind"}), &PodKind::kind);
    if (found == std::end(PodKinds)) return "";
    const Value* spec = value_at(object, found->pod);
    return spec && spec->is_object() ? std::string(found->pod) : "";
}

void collect(const Value& value, const std::string& path, int depth, std::vector<Object>& found) {
    const std::string_view kind = value.string_at({"kind"});
    if (kind.empty() || value.string_at({"apiVersion"}).empty()) return;
    const Value* items = kind.ends_with("List") ? value.find("items") : nullptr;
    if (!items || !items->is_array() || depth == 0) {
        found.push_back({&value, path, pod_path(value)});
        return;
    }
    for (std::size_t i = 0; i < items->as_array().size(); ++i)
        collect(items->as_array()[i], joined(path, "items[" + std::to_string(i) + "]"), depth - 1, found);
}

}  // namespace

std::vector<Object> objects_in(const Value& document) {
    constexpr int ListsInLists = 4;
    std::vector<Object> found;
    collect(document, "", ListsInLists, found);
    return found;
}

std::string name_of(const Value& object) {
    const std::string_view space = object.string_at({"metadata", "namespace"});
    std::string name(object.string_at({"metadata", "name"}));
    if (name.empty()) name = object.string_at({"metadata", "generateName"});
    return std::string(object.string_at({"kind"})) + (name.empty() ? "" : " ") + std::string(space) + (space.empty() ? "" : "/") + name;
}

std::string joined(std::string_view path, std::string_view below) {
    return std::string(path) + (path.empty() || below.empty() ? "" : ".") + std::string(below);
}

}  // namespace porthole::windows::lint
