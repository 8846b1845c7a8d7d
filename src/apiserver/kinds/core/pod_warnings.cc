// What a pod's spec is taken with although it is hardly meant so, in upstream's words. See kubernetes: pkg/api/pod/warnings.go.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/validation/names.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::ContainerPort;
using api::core::v1::EnvVar;
using api::core::v1::NodeSelectorTerm;
using api::meta::v1::ObjectMeta;

using Warnings = std::vector<std::string>;

constexpr std::string_view MatchesNoPod = "a null labelSelector results in matching no pod";

struct Deprecated {
    std::string_view name, message;
};
constexpr Deprecated NodeLabels[] = {
    {"beta.kubernetes.io/arch", R"(deprecated since v1.14; use "kubernetes.io/arch" instead)"},
    {"beta.kubernetes.io/os", R"(deprecated since v1.14; use "kubernetes.io/os" instead)"},
    {"failure-domain.beta.kubernetes.io/region", R"(deprecated since v1.17; use "topology.kubernetes.io/region" instead)"},
    {"failure-domain.beta.kubernetes.io/zone", R"(deprecated since v1.17; use "topology.kubernetes.io/zone" instead)"},
    {"beta.kubernetes.io/instance-type", R"(deprecated since v1.17; use "node.kubernetes.io/instance-type" instead)"},
};
constexpr Deprecated Annotations[] = {
    {"scheduler.alpha.kubernetes.io/critical-pod", R"(non-functional in v1.16+; use the "priorityClassName" field instead)"},
    {"security.alpha.kubernetes.io/sysctls", R"(non-functional in v1.11+; use the "sysctls" field instead)"},
    {"security.alpha.kubernetes.io/unsafe-sysctls", R"(non-functional in v1.11+; use the "sysctls" field instead)"},
};

void add(Warnings& warnings, const FieldPath& path, std::string_view message) {
    warnings.push_back(fmt::format("{}: {}", path.text(), message));
}

const Deprecated* find_deprecated(std::string_view label) {
    const auto* found = std::ranges::find(NodeLabels, label, &Deprecated::name);
    return found == std::end(NodeLabels) ? nullptr : found;
}

void warn_of(const NodeSelectorTerm& term, const FieldPath& path, Warnings& warnings) {
    for (std::size_t i = 0; i < term.match_expressions.size(); ++i) {
        if (const Deprecated* label = find_deprecated(term.match_expressions[i].key))
            add(warnings, (path / "matchExpressions").index(i) / "key", label->message);
    }
}

void warn_of_node_choice(const PodSpec& spec, const FieldPath& path, Warnings& warnings) {
    for (const auto& [key, value] : spec.node_selector) {
        if (const Deprecated* label = find_deprecated(key)) add(warnings, (path / "nodeSelector").key(key), label->message);
    }
    if (!spec.affinity || !spec.affinity->node_affinity) return;
    const auto& affinity = *spec.affinity->node_affinity;
    const FieldPath below = path / "affinity" / "nodeAffinity";
    if (const auto& required = affinity.required_during_scheduling_ignored_during_execution) {
        const FieldPath terms = below / "requiredDuringSchedulingIgnoredDuringExecution" / "nodeSelectorTerms";
        for (std::size_t i = 0; i < required->node_selector_terms.size(); ++i)
            warn_of(required->node_selector_terms[i], terms.index(i), warnings);
    }
    const FieldPath preferred = below / "preferredDuringSchedulingIgnoredDuringExecution";
    for (std::size_t i = 0; i < affinity.preferred_during_scheduling_ignored_during_execution.size(); ++i)
        warn_of(affinity.preferred_during_scheduling_ignored_during_execution[i].preference, preferred.index(i) / "preference", warnings);
}

void warn_of_spreading(const PodSpec& spec, const FieldPath& path, Warnings& warnings) {
    for (std::size_t i = 0; i < spec.topology_spread_constraints.size(); ++i) {
        const auto& constraint = spec.topology_spread_constraints[i];
        const FieldPath at = (path / "topologySpreadConstraints").index(i);
        if (const Deprecated* label = find_deprecated(constraint.topology_key))
            add(warnings, at / "topologyKey", fmt::format("{} is {}", label->name, label->message));
        if (!constraint.label_selector) add(warnings, at / "labelSelector", MatchesNoPod);
    }
}

/// Affinity and anti-affinity between pods.
template <class PodTerms>
void warn_of_terms(const PodTerms& terms, const FieldPath& path, Warnings& warnings) {
    const auto& required = terms.required_during_scheduling_ignored_during_execution;
    for (std::size_t i = 0; i < required.size(); ++i) {
        if (!required[i].label_selector)
            add(warnings, (path / "requiredDuringSchedulingIgnoredDuringExecution").index(i) / "labelSelector", MatchesNoPod);
    }
    const auto& preferred = terms.preferred_during_scheduling_ignored_during_execution;
    for (std::size_t i = 0; i < preferred.size(); ++i) {
        if (!preferred[i].pod_affinity_term.label_selector)
            add(warnings, (path / "preferredDuringSchedulingIgnoredDuringExecution").index(i) / "podAffinityTerm" / "labelSelector",
                MatchesNoPod);
    }
}

void warn_of_annotations(const ObjectMeta& metadata, const PodSpec& spec, const FieldPath& path, Warnings& warnings) {
    if (metadata.annotations.empty()) return;
    const FieldPath at = path / "metadata" / "annotations";
    const auto has = [&](const std::string& key) { return metadata.annotations.contains(key); };
    for (const auto& [key, message] : Annotations) {
        if (has(std::string(key))) add(warnings, at.key(key), message);
    }
    constexpr std::string_view Seccomp = R"(non-functional in v1.27+; use the "seccompProfile" field instead)";
    const std::string of_pod = "seccomp.security.alpha.kubernetes.io/pod", of_container = "container.seccomp.security.alpha.kubernetes.io/";
    if ((!spec.security_context || !spec.security_context->seccomp_profile) && has(of_pod)) add(warnings, at.key(of_pod), Seccomp);
    for (const auto* containers : {&spec.init_containers, &spec.containers}) {
        for (const Container& container : *containers) {
            const bool set = container.security_context && container.security_context->seccomp_profile;
            if (!set && has(of_container + container.name)) add(warnings, at.key(of_container + container.name), Seccomp);
        }
    }
}

void warn_of_volumes(const PodSpec& spec, const FieldPath& path, Warnings& warnings) {
    for (std::size_t i = 0; i < spec.volumes.size(); ++i) {
        const Volume& volume = spec.volumes[i];
        const auto gone = [&](const auto& source, const char* name, std::string_view message) {
            if (source) add(warnings, (path / "volumes").index(i) / name, message);
        };
        gone(volume.photon_persistent_disk, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+");
        gone(volume.git_repo, "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+");
        gone(volume.scale_io, "scaleIO", "deprecated in v1.16, non-functional in v1.22+");
        gone(volume.flocker, "flocker", "deprecated in v1.22, non-functional in v1.25+");
        gone(volume.storageos, "storageOS", "deprecated in v1.22, non-functional in v1.25+");
        gone(volume.quobyte, "quobyte", "deprecated in v1.22, non-functional in v1.25+");
        gone(volume.glusterfs, "glusterfs", "deprecated in v1.25, non-functional in v1.26+");
        gone(volume.cephfs, "cephfs", "deprecated in v1.28, non-functional in v1.31+");
        gone(volume.rbd, "rbd", "deprecated in v1.28, non-functional in v1.31+");
    }
}

void warn_of_doubles(const PodSpec& spec, const FieldPath& path, Warnings& warnings) {
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < spec.host_aliases.size(); ++i) {
        const std::string& ip = spec.host_aliases[i].ip;
        if (!seen.insert(ip).second) add(warnings, (path / "hostAliases").index(i) / "ip", fmt::format("duplicate ip \"{}\"", ip));
    }
    seen.clear();
    const auto& secrets = spec.image_pull_secrets;
    const auto at = [&](std::size_t i) { return (path / "imagePullSecrets").index(i) / "name"; };
    for (std::size_t i = 0; i < secrets.size(); ++i) {
        if (!seen.insert(secrets[i].name).second) add(warnings, at(i), fmt::format("duplicate name \"{}\"", secrets[i].name));
    }
    for (std::size_t i = 0; i < secrets.size(); ++i) {
        if (secrets[i].name.empty()) add(warnings, at(i), "invalid empty name \"\"");
    }
}

/// Bytes come whole. `list` is "limits", "requests" or "overhead".
void warn_of_fractions(const std::map<std::string, Quantity>& amounts, const FieldPath& path, Warnings& warnings) {
    for (const char* name : {"memory", "ephemeral-storage"}) {
        const auto found = amounts.find(name);
        if (found != amounts.end() && found->second.milli_value() % 1000 != 0)
            add(warnings, path.key(name),
                fmt::format("fractional byte value \"{}\" is invalid, must be an integer", found->second.to_string()));
    }
}

/// A second value of a name is meant only where it builds on the first, as in X="$(X):more".
bool hides(const EnvVar& later) {
    const std::string reference = "$(" + later.name + ")";
    return later.value_from || later.value == reference || !later.value.contains(reference);
}

void warn_of_environment(const Container& container, const FieldPath& path, Warnings& warnings) {
    if (container.env.size() < 2) return;
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < container.env.size(); ++i) {
        const EnvVar& variable = container.env[i];
        if (seen.insert(variable.name).second || !hides(variable)) continue;
        add(warnings, (path / "env").index(i),
            fmt::format("hides previous definition of \"{}\", which may be dropped when using apply", variable.name));
    }
}

/// The ports of all containers together, since they share the pod's address.
class PortWarnings {
public:
    explicit PortWarnings(Warnings& warnings) : warnings_(warnings) {}

    void take(const std::vector<ContainerPort>& ports, const FieldPath& path) {
        for (std::size_t i = 0; i < ports.size(); ++i) {
            const FieldPath at = (path / "ports").index(i);
            auto& others = known_[{ports[i].container_port, ports[i].protocol}];
            for (const auto& [other, where] : others) {
                if (const std::string_view how = clash(ports[i], *other); !how.empty())
                    add(warnings_, at, fmt::format("{} port definition with {}", how, where));
            }
            others.emplace_back(&ports[i], at.text());
        }
    }

private:
    static std::string_view clash(const ContainerPort& one, const ContainerPort& other) {
        if (one.host_ip == other.host_ip && one.host_port == other.host_port) return "duplicate";
        if (one.host_port == 0 || other.host_port == 0) return "overlapping";
        if (one.host_port == other.host_port && one.host_ip.empty() != other.host_ip.empty()) return "dangerously ambiguous";
        return "";
    }

    Warnings& warnings_;
    std::map<std::pair<std::int32_t, std::string>, std::vector<std::pair<const ContainerPort*, std::string>>> known_;
};

void warn_of_containers(const PodSpec& spec, const FieldPath& path, Warnings& warnings) {
    PortWarnings ports(warnings);
    const auto each = [&](const auto& visit) {
        for (std::size_t i = 0; i < spec.init_containers.size(); ++i) visit(spec.init_containers[i], (path / "initContainers").index(i));
        for (std::size_t i = 0; i < spec.containers.size(); ++i) visit(spec.containers[i], (path / "containers").index(i));
    };
    each([&](const Container& container, const FieldPath& at) {
        warn_of_fractions(container.resources.limits, at / "resources" / "limits", warnings);
        warn_of_fractions(container.resources.requests, at / "resources" / "requests", warnings);
        warn_of_environment(container, at, warnings);
    });
    each([&](const Container& container, const FieldPath& at) { ports.take(container.ports, at); });
}

}  // namespace

void warn_of_pod(const ObjectMeta& metadata, const PodSpec& spec, const FieldPath& path, std::vector<std::string>& warnings) {
    const FieldPath at = path / "spec";
    warn_of_node_choice(spec, at, warnings);
    warn_of_spreading(spec, at, warnings);
    warn_of_annotations(metadata, spec, path, warnings);
    warn_of_app_armor(metadata, spec, path, warnings);
    warn_of_volumes(spec, at, warnings);
    warn_of_doubles(spec, at, warnings);
    warn_of_fractions(spec.overhead, at / "overhead", warnings);
    warn_of_containers(spec, at, warnings);
    if (spec.termination_grace_period_seconds.value_or(0) < 0)
        add(warnings, at / "terminationGracePeriodSeconds", "must be >= 0; negative values are invalid and will be treated as 1");
    if (!spec.affinity) return;
    if (const auto& near = spec.affinity->pod_affinity) warn_of_terms(*near, at / "affinity" / "podAffinity", warnings);
    if (const auto& far = spec.affinity->pod_anti_affinity) warn_of_terms(*far, at / "affinity" / "podAntiAffinity", warnings);
}

void warn_of_name(const std::string& name, std::string_view use, std::vector<std::string>& warnings) {
    const auto problems = names::check_dns1123_label(name);
    if (problems.empty()) return;
    add(warnings, "metadata.name",
        fmt::format("this is used in {}, which can result in surprising behavior; a DNS label is recommended: [{}]", use,
                    fmt::join(problems, " ")));
}

}  // namespace porthole::apiserver
