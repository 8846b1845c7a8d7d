#include "windows/manifest_rules.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "windows/accounts.h"

namespace porthole::windows {
namespace {

using schema::Value;
using enum Outcome;

/// A kind of a version that Kubernetes no longer serves.
struct Removed {
    std::string_view version, kind;
    std::string_view now;  ///< the version whose fields are the same; "" when they differ
};
constexpr Removed RemovedKinds[] = {
    {"extensions/v1beta1", "Deployment", "apps/v1"},
    {"extensions/v1beta1", "DaemonSet", "apps/v1"},
    {"extensions/v1beta1", "ReplicaSet", "apps/v1"},
    {"extensions/v1beta1", "Job", "batch/v1"},
    {"extensions/v1beta1", "NetworkPolicy", "networking.k8s.io/v1"},
    {"extensions/v1beta1", "Ingress", "networking.k8s.io/v1"},  // whose fields a rule of their own mends
    {"apps/v1beta1", "Deployment", "apps/v1"},
    {"apps/v1beta1", "StatefulSet", "apps/v1"},
    {"apps/v1beta2", "Deployment", "apps/v1"},
    {"apps/v1beta2", "StatefulSet", "apps/v1"},
    {"apps/v1beta2", "DaemonSet", "apps/v1"},
    {"apps/v1beta2", "ReplicaSet", "apps/v1"},
    {"apps/v1alpha1", "PetSet", ""},
    {"batch/v2alpha1", "CronJob", "batch/v1"},
    {"batch/v2alpha1", "ScheduledJob", ""},
    {"batch/v1beta1", "CronJob", "batch/v1"},
    {"networking.k8s.io/v1beta1", "Ingress", "networking.k8s.io/v1"},
    {"networking.k8s.io/v1beta1", "IngressClass", "networking.k8s.io/v1"},
    {"policy/v1beta1", "PodDisruptionBudget", "policy/v1"},
    {"rbac.authorization.k8s.io/v1alpha1", "", "rbac.authorization.k8s.io/v1"},
    {"rbac.authorization.k8s.io/v1beta1", "", "rbac.authorization.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "StorageClass", "storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "VolumeAttachment", "storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "CSIDriver", "storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "CSINode", "storage.k8s.io/v1"},
    {"scheduling.k8s.io/v1alpha1", "PriorityClass", "scheduling.k8s.io/v1"},
    {"scheduling.k8s.io/v1beta1", "PriorityClass", "scheduling.k8s.io/v1"},
    {"node.k8s.io/v1beta1", "RuntimeClass", "node.k8s.io/v1"},
    {"coordination.k8s.io/v1beta1", "Lease", "coordination.k8s.io/v1"},
    {"autoscaling/v2beta1", "HorizontalPodAutoscaler", ""},
    {"autoscaling/v2beta2", "HorizontalPodAutoscaler", "autoscaling/v2"},
    {"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", ""},
    {"admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration", ""},
    {"admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration", ""},
};

const Removed* find_removed(std::string_view version, std::string_view kind) {
    const auto found = std::ranges::find_if(
        RemovedKinds, [&](const Removed& one) { return one.version == version && (one.kind.empty() || one.kind == kind); });
    return found == std::end(RemovedKinds) ? nullptr : found;
}

/// A repository of Docker Hub that Microsoft has moved.
struct Moved {
    std::string_view from, to;
};
constexpr Moved MovedRepositories[] = {
    {"microsoft/windowsservercore", "mcr.microsoft.com/windows/servercore"},
    {"microsoft/nanoserver", "mcr.microsoft.com/windows/nanoserver"},
    {"microsoft/iis", "mcr.microsoft.com/windows/servercore/iis"},
    {"microsoft/aspnet", "mcr.microsoft.com/dotnet/framework/aspnet"},
    {"microsoft/dotnet-framework", "mcr.microsoft.com/dotnet/framework/runtime"},
};

using Paths = std::vector<std::string>;
std::string dotted(std::string_view pod, std::string_view below) { return std::string(pod) + "." + std::string(below); }

Paths find_removed_version(const Value& object, std::string_view) {
    return find_removed(object.string_at({"apiVersion"}), object.string_at({"kind"})) ? Paths{"apiVersion"} : Paths();
}

Paths find_missing_selector(const Value& object, std::string_view) {
    constexpr std::string_view Kinds[] = {"Deployment", "DaemonSet", "ReplicaSet", "StatefulSet"};
    if (std::ranges::find(Kinds, object.string_at({"kind"})) == std::end(Kinds)) return {};
    const std::string_view version = object.string_at({"apiVersion"});
    if (!version.starts_with("apps/") && version != "extensions/v1beta1") return {};
    const Value* spec = object.find("spec");
    const Value* selector = spec ? spec->find("selector") : nullptr;
    return spec && spec->find("template") && (!selector || selector->is_null()) ? Paths{"spec"} : Paths();
}

/// Keys of the node selector and of the required affinity that have another name since 1.14.
Paths find_old_label(const Value& object, std::string_view pod, std::string_view key) {
    Paths found;
    const Value* spec = pod.empty() ? nullptr : value_at(object, pod);
    if (!spec) return found;
    if (const Value* selector = spec->find("nodeSelector"); selector && selector->find(key))
        found.push_back(dotted(pod, "nodeSelector[" + std::string(key) + "]"));
    constexpr std::string_view Terms = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    const Value* terms = value_at(*spec, Terms);
    for (std::size_t i = 0; terms && terms->is_array() && i < terms->as_array().size(); ++i) {
        const Value* expressions = terms->as_array()[i].find("matchExpressions");
        for (std::size_t j = 0; expressions && expressions->is_array() && j < expressions->as_array().size(); ++j)
            if (expressions->as_array()[j].string_at({"key"}) == key)
                found.push_back(
                    dotted(pod, std::string(Terms) + "[" + std::to_string(i) + "].matchExpressions[" + std::to_string(j) + "].key"));
    }
    return found;
}
Paths find_old_os_label(const Value& object, std::string_view pod) { return find_old_label(object, pod, "beta.kubernetes.io/os"); }
Paths find_old_arch_label(const Value& object, std::string_view pod) { return find_old_label(object, pod, "beta.kubernetes.io/arch"); }

Paths find_field_annotations(const Value& object, std::string_view pod) {
    constexpr std::string_view Prefixes[] = {"scheduler.alpha.kubernetes.io/", "pod.alpha.kubernetes.io/init-containers",
                                             "pod.beta.kubernetes.io/init-containers"};
    Paths found;
    if (pod.empty()) return found;
    const std::string path = std::string(pod.substr(0, pod.size() - 4)) + "metadata.annotations";
    const Value* annotations = value_at(object, path);
    if (!annotations || !annotations->is_object()) return found;
    for (const schema::Member& member : annotations->as_object())
        if (std::ranges::any_of(Prefixes, [&](std::string_view prefix) { return member.key.starts_with(prefix); }))
            found.push_back(path + "[" + member.key + "]");
    return found;
}

const Moved* find_moved(std::string_view image) {
    std::string_view name = image.substr(0, image.find_first_of(":@"));
    for (const std::string_view host : {"docker.io/", "index.docker.io/"})
        if (name.starts_with(host)) name.remove_prefix(host.size());
    const auto found = std::ranges::find(MovedRepositories, name, &Moved::from);
    return found == std::end(MovedRepositories) ? nullptr : found;
}

Paths find_moved_images(const Value& object, std::string_view pod) {
    Paths found;
    for (const char* list : {"initContainers", "containers"}) {
        const Value* containers = pod.empty() ? nullptr : value_at(object, dotted(pod, list));
        for (std::size_t i = 0; containers && containers->is_array() && i < containers->as_array().size(); ++i)
            if (find_moved(containers->as_array()[i].string_at({"image"})))
                found.push_back(dotted(pod, std::string(list) + "[" + std::to_string(i) + "].image"));
    }
    return found;
}

Paths find_pod_security_policy(const Value& object, std::string_view) {
    return object.string_at({"kind"}) == "PodSecurityPolicy" ? Paths{"kind"} : Paths();
}

/// The fields of a backend that is written as before networking.k8s.io/v1.
void add_old_backend(const Value* backend, const std::string& path, Paths& found) {
    for (const char* field : {"serviceName", "servicePort"})
        if (backend && backend->find(field)) found.push_back(path + "." + field);
}

/// What an Ingress of networking.k8s.io/v1 writes in another way than those before it.
Paths find_old_ingress(const Value& object, std::string_view) {
    Paths found;
    const Value* spec = object.find("spec");
    if (!spec || object.string_at({"kind"}) != "Ingress" || object.string_at({"apiVersion"}) != "networking.k8s.io/v1") return found;
    if (spec->find("backend")) found.emplace_back("spec.backend");
    add_old_backend(spec->find("defaultBackend"), "spec.defaultBackend", found);
    const Value* rules = spec->find("rules");
    for (std::size_t i = 0; rules && rules->is_array() && i < rules->as_array().size(); ++i) {
        const Value* paths = rules->as_array()[i].at_path({"http", "paths"});
        for (std::size_t j = 0; paths && paths->is_array() && j < paths->as_array().size(); ++j) {
            const Value& one = paths->as_array()[j];
            const std::string path = "spec.rules[" + std::to_string(i) + "].http.paths[" + std::to_string(j) + "]";
            if (one.find("backend") && !one.find("pathType")) found.push_back(path);
            add_old_backend(one.find("backend"), path + ".backend", found);
        }
    }
    return found;
}

Paths find_unusable_accounts(const Value& object, std::string_view pod) {
    constexpr std::string_view Account = "securityContext.windowsOptions.runAsUserName";
    Paths found;
    const auto look_at = [&](const std::string& path) {
        const Value* name = value_at(object, path);
        if (name && name->is_string() && !account_problems(name->as_string()).empty()) found.push_back(path);
    };
    if (pod.empty()) return found;
    look_at(dotted(pod, Account));
    for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
        const Value* containers = value_at(object, dotted(pod, list));
        for (std::size_t i = 0; containers && containers->is_array() && i < containers->as_array().size(); ++i)
            look_at(dotted(pod, std::string(list) + "[" + std::to_string(i) + "]." + std::string(Account)));
    }
    return found;
}

std::string problems_of_account(const Value& name) {
    std::vector<std::string> problems;
    for (const std::string_view one : account_problems(name.as_string())) problems.emplace_back(one);
    return join(problems, "; ");
}

constexpr ManifestRule Rules[] = {
    {{"WIN214", "spec.containers[*].securityContext.windowsOptions.runAsUserName", Refused, "",
      "cannot be the name of an account of Windows", "write USER, such as ContainerUser, or DOMAIN\\USER", "1.18"},
     find_unusable_accounts,
     problems_of_account},
    {{"WIN701", "apiVersion", Refused, "", "is a version that Kubernetes no longer serves",
      "write the current version: kubectl api-resources lists them", "1.16"},
     find_removed_version},
    {{"WIN702", "spec", Refused, "", "has no selector, which apps/v1 does not derive from the labels of the template",
      "add selector.matchLabels with the labels of the template", "1.16"},
     find_missing_selector},
    {{"WIN703", "spec.nodeSelector[beta.kubernetes.io/os]", Advised, "", "is the old name of a node label", "write kubernetes.io/os"},
     find_old_os_label},
    {{"WIN704", "spec.nodeSelector[beta.kubernetes.io/arch]", Advised, "", "is the old name of a node label", "write kubernetes.io/arch"},
     find_old_arch_label},
    {{"WIN705", "metadata.annotations[scheduler.alpha.kubernetes.io/*]", Ignored, "",
      "has been a field of the spec since Kubernetes 1.8, and the annotation has no effect",
      "write spec.tolerations, spec.affinity, spec.priorityClassName or spec.initContainers", "1.8"},
     find_field_annotations},
    {{"WIN706", "spec.containers[*].image", Advised, "", "is in a repository of Docker Hub that Microsoft no longer maintains",
      "use the repository's successor in mcr.microsoft.com, with the tag of a build of Windows", "1.14"},
     find_moved_images},
    {{"WIN707", "spec.rules[*].http.paths[*].backend", Refused, "", "is not written as in networking.k8s.io/v1",
      "write backend.service.name, backend.service.port.number (or port.name), a pathType for each path, and defaultBackend for backend",
      "1.22"},
     find_old_ingress},
    {{"WIN708", "kind", Refused, "", "was removed from Kubernetes, with the admission plugin that enforced it",
      "delete it, and label each namespace pod-security.kubernetes.io/enforce with privileged, baseline or restricted", "1.25"},
     find_pod_security_policy},
};

constexpr Rule Unreadable = {
    "WIN901", "spec", Refused, "", "does not have the form that its kind requires", "write the fields as kubectl explain shows them"};

}  // namespace

const Rule& unreadable_rule() { return Unreadable; }

std::span<const ManifestRule> manifest_rules() { return Rules; }

std::string_view current_version(std::string_view api_version, std::string_view kind) {
    const Removed* found = find_removed(api_version, kind);
    return found ? found->now : "";
}

std::string moved_image(std::string_view image) {
    const Moved* found = find_moved(image);
    const std::size_t tag = image.find_first_of(":@");
    if (!found || tag == image.npos || image.substr(tag) == ":latest") return "";
    return std::string(found->to) + std::string(image.substr(tag));
}

std::vector<std::string> steps_of(std::string_view path) {
    std::vector<std::string> steps;
    while (!path.empty()) {
        if (path.front() == '[') {
            const std::size_t end = std::min(path.find(']'), path.size());
            steps.emplace_back(path.substr(1, end - 1));
            path.remove_prefix(std::min(end + 1, path.size()));
        } else {
            if (path.front() == '.') path.remove_prefix(1);
            const std::size_t end = std::min(path.find_first_of(".["), path.size());
            steps.emplace_back(path.substr(0, end));
            path.remove_prefix(end);
        }
    }
    return steps;
}

const Value* value_at(const Value& root, std::span<const std::string> steps) {
    const Value* at = &root;
    for (const std::string& step : steps) {
        if (at->is_array()) {
            std::size_t index = 0;
            const auto [end, code] = std::from_chars(step.data(), step.data() + step.size(), index);
            if (code != std::errc() || end != step.data() + step.size() || index >= at->as_array().size()) return nullptr;
            at = &at->as_array()[index];
        } else if (!(at = at->find(step))) {
            return nullptr;
        }
    }
    return at;
}

const Value* value_at(const Value& root, std::string_view path) { return value_at(root, steps_of(path)); }

}  // namespace porthole::windows
