#include "windows/rules.h"

#include <algorithm>

namespace porthole::windows {
namespace {

using core::PodSecurityContext;
using core::PodSpec;
using core::ResourceRequirements;
using core::SecurityContext;
using enum Outcome;

constexpr std::int32_t DefaultAffinitySeconds = 10800;
constexpr std::string_view NotThere = "WindowsFieldIgnored";

// A field that is optional, a list or a flag, by its member.
template <class Part, auto Member>
bool is_set(const Part& part) {
    const auto& field = part.*Member;
    if constexpr (requires { field.has_value(); })
        return field.has_value();
    else if constexpr (requires { field.empty(); })
        return !field.empty();
    else
        return field;
}
template <class Part, auto Member>
void clear(Part& part) {
    part.*Member = {};
}
template <auto Member>
constexpr Field<PodSpec> pod_field{is_set<PodSpec, Member>, clear<PodSpec, Member>};
template <auto Member>
constexpr Field<PodSecurityContext> pod_security_field{is_set<PodSecurityContext, Member>, clear<PodSecurityContext, Member>};
template <auto Member>
constexpr Field<SecurityContext> container_field{is_set<SecurityContext, Member>, clear<SecurityContext, Member>};

/// An ignored field of spec.securityContext or of a container's, of which Windows has no equal.
template <auto Member>
constexpr PodRule ignored_in_pod(std::string_view field, std::string_view words) {
    return {.rule = {field, Ignored, NotThere, words}, .pod_security = pod_security_field<Member>};
}
template <auto Member>
constexpr PodRule ignored_in_container(std::string_view field, std::string_view words) {
    return {.rule = {field, Ignored, NotThere, words}, .container_security = container_field<Member>};
}

template <class Context>
bool host_process_in(const Context& context) {
    return context && context->windows_options && context->windows_options->host_process.value_or(false);
}

/// Host processes are on the host's network by nature.
bool wants_host_network(const PodSpec& spec) {
    const auto of_container = [](const auto& container) { return host_process_in(container.security_context); };
    return spec.host_network && !host_process_in(spec.security_context) && !std::ranges::any_of(spec.containers, of_container);
}

bool shares_processes(const PodSpec& spec) { return spec.share_process_namespace.value_or(false); }
bool is_privileged(const SecurityContext& context) { return context.privileged.value_or(false); }

bool wants_cluster_dns_on_host_network(const PodSpec& spec) { return spec.dns_policy == "ClusterFirstWithHostNet"; }

/// Suffixes of the pod's own that come after the first in the list, and so are never tried.
bool has_idle_suffixes(const PodSpec& spec) {
    if (!spec.dns_config) return false;
    return spec.dns_config->searches.size() > (spec.dns_policy == "None" ? 1u : 0u);
}

bool request_differs_from_limit(const ResourceRequirements& resources) {
    const auto request = resources.requests.find("memory"), limit = resources.limits.find("memory");
    return request != resources.requests.end() && limit != resources.limits.end() && request->second != limit->second;
}

bool is_unbounded(const ResourceRequirements& resources) { return resources.limits.empty() && resources.requests.empty(); }

bool has_name_with_colon(const std::vector<core::EnvVar>& environment) {
    return std::ranges::any_of(environment, [](const core::EnvVar& one) { return one.name.contains(':'); });
}

constexpr bool is_pipe(std::string_view path) { return path.starts_with("\\\\.\\pipe\\"); }

/// A named pipe of the host where files belong, files where a pipe does, or a pipe with a type, which is one of files.
bool misplaces_pipe(const PodSpec& spec) {
    const auto is_of_pipe = [&](const core::VolumeMount& mount) {
        const auto volume = std::ranges::find(spec.volumes, mount.name, &core::Volume::name);
        return volume != spec.volumes.end() && volume->host_path && is_pipe(volume->host_path->path);
    };
    const auto in_wrong_place = [&](const auto& container) {
        return std::ranges::any_of(container.volume_mounts,
                                   [&](const auto& mount) { return is_pipe(mount.mount_path) != is_of_pipe(mount); });
    };
    return std::ranges::any_of(spec.volumes,
                               [](const core::Volume& volume) {
                                   return volume.host_path && is_pipe(volume.host_path->path) &&
                                          !volume.host_path->type.value_or("").empty();
                               }) ||
           std::ranges::any_of(spec.init_containers, in_wrong_place) || std::ranges::any_of(spec.containers, in_wrong_place);
}

bool has_image_volume(const PodSpec& spec) {
    return std::ranges::any_of(spec.volumes, [](const core::Volume& volume) { return volume.image.has_value(); });
}

bool may_land_on_either(const PodSpec& spec, Systems systems) {
    return systems.linux && systems.windows && spec.node_name.empty() && system_asked_for(spec).empty();
}

bool is_not_kept_on_its_system(const PodSpec& spec, Systems systems) {
    if (!spec.os || spec.os->name.empty() || !spec.node_name.empty() || selects_its_system(spec)) return false;
    return spec.os->name == "windows" ? systems.linux || !systems.windows : systems.windows;
}

bool has_own_affinity_timeout(const core::Service& service) {
    const auto& config = service.spec.session_affinity_config;
    return config && config->client_ip && config->client_ip->timeout_seconds.value_or(DefaultAffinitySeconds) != DefaultAffinitySeconds;
}

constexpr std::string_view NoUids = "Windows has no numeric users; runAsUserName chooses the account";
constexpr std::string_view NoSelinux = "there is no SELinux on Windows";
constexpr std::string_view NoSeccomp = "there is no seccomp on Windows";
constexpr std::string_view NoApparmor = "there is no AppArmor on Windows";
constexpr std::string_view NoGroups = "volumes on Windows have no owning group";
constexpr std::string_view NoUserNamespaces = "there are no user namespaces on Windows";

constexpr PodRule PodRules[] = {
    {.rule = {"spec.hostNetwork", Ignored, "HostNetworkUnsupported",
              "Windows has no host network for pods; the pod gets an address of the pod network"},
     .pod = {wants_host_network, clear<PodSpec, &PodSpec::host_network>}},
    {.rule = {"spec.dnsPolicy", Ignored, "UnsupportedDNSPolicy",
              "ClusterFirstWithHostNet is not supported on Windows; ClusterFirst is used instead"},
     .pod = {wants_cluster_dns_on_host_network, [](PodSpec& spec) { spec.dns_policy = "ClusterFirst"; }}},
    {.rule = {"spec.dnsConfig.searches", Advised, "DNSConfigForming",
              "Windows tries the first DNS suffix of a pod only; the others have no effect"},
     .pod = {has_idle_suffixes}},
    {.rule = {"spec.hostPID", Refused, "HostPIDUnsupported", "processes of a Windows host cannot be shared with pods"},
     .pod = pod_field<&PodSpec::host_pid>},
    {.rule = {"spec.hostIPC", Refused, "HostIPCUnsupported", "IPC of a Windows host cannot be shared with pods"},
     .pod = pod_field<&PodSpec::host_ipc>},
    {.rule = {"spec.shareProcessNamespace", Refused, "ShareProcessNamespaceUnsupported",
              "containers of a Windows pod share its network, not their processes"},
     .pod = {shares_processes}},
    {.rule = {"spec.containers[*].securityContext.privileged", Refused, "CreateContainerConfigError",
              "privileged containers are not supported on Windows"},
     .container_security = {is_privileged}},
    {.rule = {"spec.hostUsers", Ignored, NotThere, NoUserNamespaces}, .pod = pod_field<&PodSpec::host_users>},
    ignored_in_pod<&PodSecurityContext::se_linux_options>("spec.securityContext.seLinuxOptions", NoSelinux),
    ignored_in_pod<&PodSecurityContext::seccomp_profile>("spec.securityContext.seccompProfile", NoSeccomp),
    ignored_in_pod<&PodSecurityContext::fs_group>("spec.securityContext.fsGroup", NoGroups),
    ignored_in_pod<&PodSecurityContext::fs_group_change_policy>("spec.securityContext.fsGroupChangePolicy", NoGroups),
    ignored_in_pod<&PodSecurityContext::sysctls>("spec.securityContext.sysctls", "there are no sysctls on Windows"),
    ignored_in_pod<&PodSecurityContext::run_as_user>("spec.securityContext.runAsUser", NoUids),
    ignored_in_pod<&PodSecurityContext::run_as_group>("spec.securityContext.runAsGroup", NoUids),
    ignored_in_pod<&PodSecurityContext::supplemental_groups>("spec.securityContext.supplementalGroups", NoUids),
    ignored_in_pod<&PodSecurityContext::supplemental_groups_policy>("spec.securityContext.supplementalGroupsPolicy", NoUids),
    ignored_in_pod<&PodSecurityContext::app_armor_profile>("spec.securityContext.appArmorProfile", NoApparmor),
    ignored_in_pod<&PodSecurityContext::se_linux_change_policy>("spec.securityContext.seLinuxChangePolicy", NoSelinux),
    ignored_in_container<&SecurityContext::se_linux_options>("spec.containers[*].securityContext.seLinuxOptions", NoSelinux),
    ignored_in_container<&SecurityContext::seccomp_profile>("spec.containers[*].securityContext.seccompProfile", NoSeccomp),
    ignored_in_container<&SecurityContext::capabilities>("spec.containers[*].securityContext.capabilities",
                                                         "Windows has no POSIX capabilities"),
    ignored_in_container<&SecurityContext::read_only_root_filesystem>("spec.containers[*].securityContext.readOnlyRootFilesystem",
                                                                      "the root file system of a Windows container is writable"),
    ignored_in_container<&SecurityContext::allow_privilege_escalation>("spec.containers[*].securityContext.allowPrivilegeEscalation",
                                                                       "Windows has no equivalent"),
    ignored_in_container<&SecurityContext::proc_mount>("spec.containers[*].securityContext.procMount", "there is no /proc on Windows"),
    ignored_in_container<&SecurityContext::run_as_user>("spec.containers[*].securityContext.runAsUser", NoUids),
    ignored_in_container<&SecurityContext::run_as_group>("spec.containers[*].securityContext.runAsGroup", NoUids),
    ignored_in_container<&SecurityContext::app_armor_profile>("spec.containers[*].securityContext.appArmorProfile", NoApparmor),
    {.rule = {"spec.volumes[*].hostPath", Advised, "",
              "a named pipe of the host (\\\\.\\pipe\\NAME, without a type) can be mounted at \\\\.\\pipe\\NAME only, and nothing else can "
              "be mounted there: the container will not start"},
     .pod = {misplaces_pipe}},
    {.rule = {"spec.volumes[*].image", Advised, "", "Windows nodes have no image volumes: the container will not start"},
     .pod = {has_image_volume}},
    {.rule = {"spec.containers[*].resources.requests[memory]", Advised, "",
              "differs from the limit, and Windows cannot guarantee it: set the limit only, or make both equal"},
     .resources = {request_differs_from_limit}},
    {.rule = {"spec.containers[*].resources", Advised, "", "without requests or limits a Windows node can be overcommitted"},
     .resources = {is_unbounded}},
    // Kubernetes refused such names until 1.31, then let them in by default (KEP-4369), so that refusing them would break manifests made
    // for it. What made people ask for them, sections of .NET's configuration, is better served by '__', which every shell can set too.
    {.rule = {"spec.containers[*].env", Advised, "EnvironmentNameWithColon",
              "has a name with ':', which Kubernetes before 1.32 refuses and not every shell or program can set or read; write '__' for "
              "':', which .NET treats as the same"},
     .environment = {has_name_with_colon},
     .on_every_system = true},
};

constexpr PlacementRule PlacementRules[] = {
    {.rule = {"spec.os", Advised, "",
              "the cluster has Linux and Windows nodes and the pod may land on either: set spec.os.name and "
              "nodeSelector[\"kubernetes.io/os\"]"},
     .applies = may_land_on_either},
    {.rule = {"spec.os.name", Advised, "",
              "does not choose the node, and a node of another system refuses the pod: set nodeSelector[\"kubernetes.io/os\"] too"},
     .applies = is_not_kept_on_its_system},
};

constexpr ServiceRule ServiceRules[] = {
    {.rule = {"spec.sessionAffinityConfig.clientIP.timeoutSeconds", Ignored, "",
              "has no effect on Windows nodes, which use a timeout of their own"},
     .applies = has_own_affinity_timeout},
};

}  // namespace

std::span<const PodRule> pod_rules() { return PodRules; }
std::span<const PlacementRule> placement_rules() { return PlacementRules; }
std::span<const ServiceRule> service_rules() { return ServiceRules; }

}  // namespace porthole::windows
