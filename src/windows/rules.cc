#include "windows/rules.h"

#include <algorithm>

#include "base/strings.h"
#include "windows/builds.h"
#include "windows/image_builds.h"

namespace porthole::windows {
namespace {

using core::PodSecurityContext;
using core::PodSpec;
using core::ResourceRequirements;
using core::SecurityContext;
using core::Volume;
using core::VolumeMount;
using enum Outcome;

constexpr std::int32_t DefaultAffinitySeconds = 10800;
constexpr std::int32_t DefaultMode = 0644;
constexpr std::int64_t DefaultGraceSeconds = 30;
constexpr std::string_view DefaultMessagePath = "/dev/termination-log";
constexpr std::string_view NotThere = "WindowsFieldIgnored";
constexpr std::string_view RemoveIt = "remove it";

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
constexpr PodRule ignored_in_pod(std::string_view code, std::string_view field, std::string_view words, std::string_view remedy = RemoveIt,
                                 std::string_view since = "1.14") {
    return {.rule = {code, field, Ignored, NotThere, words, remedy, since}, .pod_security = pod_security_field<Member>};
}
template <auto Member>
constexpr PodRule ignored_in_container(std::string_view code, std::string_view field, std::string_view words,
                                       std::string_view remedy = RemoveIt, std::string_view since = "1.14") {
    return {.rule = {code, field, Ignored, NotThere, words, remedy, since}, .container_security = container_field<Member>};
}

/// The modes of files in a volume of that source: its default, and those of its items.
template <auto Source>
bool has_own_mode(const Volume& volume) {
    return volume.*Source && (volume.*Source)->default_mode.value_or(DefaultMode) != DefaultMode;
}
template <auto Source>
void clear_mode(Volume& volume) {
    if (volume.*Source) (volume.*Source)->default_mode = DefaultMode;
}
constexpr auto HasMode = [](const auto& item) { return item.mode.has_value(); };
constexpr auto ForgetMode = [](auto& item) { item.mode.reset(); };
template <auto Source>
bool has_items_with_mode(const Volume& volume) {
    return volume.*Source && std::ranges::any_of((volume.*Source)->items, HasMode);
}
template <auto Source>
void clear_items_modes(Volume& volume) {
    if (volume.*Source) std::ranges::for_each((volume.*Source)->items, ForgetMode);
}
/// Calls `visit(items)` for each list of items that the sources of a projected volume have.
template <class Volume, class Visit>
void for_each_projected_items(Volume& volume, Visit visit) {
    if (!volume.projected) return;
    for (auto& source : volume.projected->sources) {
        if (source.secret) visit(source.secret->items);
        if (source.config_map) visit(source.config_map->items);
        if (source.downward_api) visit(source.downward_api->items);
    }
}
bool has_projected_items_with_mode(const Volume& volume) {
    bool found = false;
    for_each_projected_items(volume, [&](const auto& items) { found = found || std::ranges::any_of(items, HasMode); });
    return found;
}
void clear_projected_items_modes(Volume& volume) {
    for_each_projected_items(volume, [](auto& items) { std::ranges::for_each(items, ForgetMode); });
}
template <auto Source>
constexpr PodRule default_mode(std::string_view code, std::string_view field) {
    return {.rule = {code, field, Ignored, NotThere, "file modes have no effect on Windows",
                     "leave the default, 0644; accounts and ACLs within the container decide who reads the files"},
            .volume = {has_own_mode<Source>, clear_mode<Source>}};
}
template <auto Source>
constexpr PodRule items_mode(std::string_view code, std::string_view field) {
    return {.rule = {code, field, Ignored, NotThere, "have a mode, and file modes have no effect on Windows", "remove mode"},
            .volume = {has_items_with_mode<Source>, clear_items_modes<Source>}};
}

template <class Context>
bool runs_as_host_process(const Context& context) {
    return context.windows_options && context.windows_options->host_process.value_or(false);
}
template <class Context>
bool host_process_in(const Context& context) {
    return context && runs_as_host_process(*context);
}

/// Host processes are on the host's network by nature.
bool wants_host_network(const PodSpec& spec) {
    const auto of_container = [](const auto& container) { return host_process_in(container.security_context); };
    return spec.host_network && !host_process_in(spec.security_context) && !std::ranges::any_of(spec.containers, of_container);
}

bool lacks_host_processes(const Conditions& conditions) { return !runs_host_processes(conditions.runtime); }
bool lacks_files_as_mounts(const Conditions& conditions) { return !mounts_files(conditions.runtime); }
bool lacks_grace_periods(const Conditions& conditions) { return !keeps_grace_periods(conditions.runtime); }

bool has_own_message_path(const std::string& path) { return !path.empty() && path != DefaultMessagePath; }
bool has_own_grace_period(const PodSpec& spec) {
    return spec.termination_grace_period_seconds.value_or(DefaultGraceSeconds) != DefaultGraceSeconds;
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

bool is_in_memory(const Volume& volume) { return volume.empty_dir && !volume.empty_dir->medium.empty(); }
bool is_nfs(const Volume& volume) { return volume.nfs.has_value(); }
bool is_propagated(const VolumeMount& mount) { return mount.mount_propagation.value_or("None") != "None"; }
bool has_devices(const std::vector<core::VolumeDevice>& devices) { return !devices.empty(); }

bool wants_huge_pages(const ResourceRequirements& resources) {
    const auto is_huge = [](const auto& one) { return one.first.starts_with("hugepages-"); };
    return std::ranges::any_of(resources.requests, is_huge) || std::ranges::any_of(resources.limits, is_huge);
}

bool is_of_other_build(std::string_view image, const Conditions& conditions) {
    const std::uint32_t build = conditions.build == 0 ? 0 : build_of_image(image);
    return build != 0 && build != conditions.build;
}

bool wants_hyper_v(std::string_view key, std::string_view value) {
    return key == "experimental.windows.kubernetes.io/isolation-type" && value == "hyperv";
}
bool is_of_app_armor(std::string_view key, std::string_view) { return key.starts_with("container.apparmor.security.beta.kubernetes.io/"); }
bool is_of_seccomp(std::string_view key, std::string_view) {
    return key == "seccomp.security.alpha.kubernetes.io/pod" || key.starts_with("container.seccomp.security.alpha.kubernetes.io/");
}

/// "Windows" for "windows": label values are compared with their case.
bool misspells_system(const PodSpec& spec) {
    const auto found = spec.node_selector.find("kubernetes.io/os");
    if (found == spec.node_selector.end()) return false;
    const std::string meant = to_lower(found->second);
    return meant != found->second && (meant == "windows" || meant == "linux");
}

bool has_affinity(const core::Service& service) { return service.spec.session_affinity == "ClientIP"; }

bool has_affinity_on_old_build(const core::Service& service, const Conditions& conditions) {
    return has_affinity(service) && conditions.build != 0 && conditions.build < FirstBuildWithAffinity;
}

bool has_own_affinity_timeout(const core::Service& service, const Conditions& conditions) {
    const auto& config = service.spec.session_affinity_config;
    return !has_affinity_on_old_build(service, conditions) && config && config->client_ip &&
           config->client_ip->timeout_seconds.value_or(DefaultAffinitySeconds) != DefaultAffinitySeconds;
}

bool limits_sources(const core::Service& service, const Conditions&) { return !service.spec.load_balancer_source_ranges.empty(); }

bool has_sctp(const core::Service& service, const Conditions&) {
    return std::ranges::any_of(service.spec.ports, [](const core::ServicePort& port) { return port.protocol == "SCTP"; });
}

bool is_ipv6_on_overlay(const core::Service& service, const Conditions& conditions) {
    return conditions.network == PodNetwork::Overlay &&
           std::ranges::find(service.spec.ip_families, "IPv6") != service.spec.ip_families.end();
}

constexpr std::string_view NoUids = "Windows has no numeric users; runAsUserName chooses the account";
constexpr std::string_view UseUserName = "remove it; write securityContext.windowsOptions.runAsUserName, such as ContainerUser";
constexpr std::string_view NoSelinux = "there is no SELinux on Windows";
constexpr std::string_view NoSeccomp = "there is no seccomp on Windows";
constexpr std::string_view NoApparmor = "there is no AppArmor on Windows";
constexpr std::string_view NoGroups = "volumes on Windows have no owning group";
constexpr std::string_view NoUserNamespaces = "there are no user namespaces on Windows";
constexpr std::string_view NoSubPaths = "sub-paths are not supported on Windows, where only whole volumes can be mounted";
constexpr std::string_view NoHostProcesses = "needs containerd 1.6 or later; older ones and Docker would start an ordinary container";
constexpr std::string_view UpdateContainerd = "update containerd on the nodes, or run the program as a service of the host";
constexpr std::string_view MountWhole = "mount the whole volume at a separate directory";

// Codes: 1 processes and isolation, 2 security, 3 storage, 4 network, 5 containers and resources, 6 placement. The others are in
// placement_rules.cc, platform_rules.cc and manifest_rules.cc.
constexpr PodRule PodRules[] = {
    {.rule = {"WIN101", "spec.hostNetwork", Ignored, "HostNetworkUnsupported",
              "Windows has no host network for pods; the pod gets an address of the pod network",
              "remove it, and reach the pod through a Service or a hostPort"},
     .pod = {wants_host_network, clear<PodSpec, &PodSpec::host_network>}},
    {.rule = {"WIN401", "spec.dnsPolicy", Ignored, "UnsupportedDNSPolicy",
              "ClusterFirstWithHostNet is not supported on Windows; ClusterFirst is used instead", "write ClusterFirst"},
     .pod = {wants_cluster_dns_on_host_network, [](PodSpec& spec) { spec.dns_policy = "ClusterFirst"; }}},
    {.rule = {"WIN402", "spec.dnsConfig.searches", Advised, "DNSConfigForming",
              "Windows tries only the first DNS suffix of a pod; the others have no effect",
              "write full names, such as web.default.svc.cluster.local"},
     .pod = {has_idle_suffixes}},
    {.rule = {"WIN102", "spec.hostPID", Refused, "HostPIDUnsupported", "processes of a Windows host cannot be shared with pods", RemoveIt},
     .pod = pod_field<&PodSpec::host_pid>},
    {.rule = {"WIN103", "spec.hostIPC", Refused, "HostIPCUnsupported", "IPC of a Windows host cannot be shared with pods", RemoveIt},
     .pod = pod_field<&PodSpec::host_ipc>},
    {.rule = {"WIN104", "spec.shareProcessNamespace", Refused, "ShareProcessNamespaceUnsupported",
              "containers of a Windows pod share its network, not their processes", "remove it; containers reach each other by localhost"},
     .pod = {shares_processes}},
    {.rule = {"WIN106", "metadata.annotations[experimental.windows.kubernetes.io/isolation-type]", Refused, "HyperVIsolationUnsupported",
              "Hyper-V isolation is not supported: process isolation is the only mode of Windows nodes",
              "remove it, or name a RuntimeClass whose handler isolates by Hyper-V", "1.10", Maturity::Alpha},
     .annotation = wants_hyper_v},
    {.rule = {"WIN201", "spec.containers[*].securityContext.privileged", Refused, OfContainer,
              "privileged containers are not supported on Windows",
              "remove it; programs that manage the host use windowsOptions.hostProcess and hostNetwork"},
     .container_security = {is_privileged}},
    {.rule = {"WIN105", "spec.hostUsers", Ignored, NotThere, NoUserNamespaces, RemoveIt, "1.25"}, .pod = pod_field<&PodSpec::host_users>},
    ignored_in_pod<&PodSecurityContext::se_linux_options>("WIN202", "spec.securityContext.seLinuxOptions", NoSelinux),
    ignored_in_pod<&PodSecurityContext::seccomp_profile>("WIN203", "spec.securityContext.seccompProfile", NoSeccomp, RemoveIt, "1.19"),
    ignored_in_pod<&PodSecurityContext::fs_group>("WIN204", "spec.securityContext.fsGroup", NoGroups),
    ignored_in_pod<&PodSecurityContext::fs_group_change_policy>("WIN205", "spec.securityContext.fsGroupChangePolicy", NoGroups, RemoveIt,
                                                                "1.20"),
    ignored_in_pod<&PodSecurityContext::sysctls>("WIN206", "spec.securityContext.sysctls", "there are no sysctls on Windows"),
    ignored_in_pod<&PodSecurityContext::run_as_user>("WIN207", "spec.securityContext.runAsUser", NoUids, UseUserName),
    ignored_in_pod<&PodSecurityContext::run_as_group>("WIN208", "spec.securityContext.runAsGroup", NoUids, UseUserName),
    ignored_in_pod<&PodSecurityContext::supplemental_groups>("WIN209", "spec.securityContext.supplementalGroups", NoUids),
    ignored_in_pod<&PodSecurityContext::supplemental_groups_policy>("WIN210", "spec.securityContext.supplementalGroupsPolicy", NoUids,
                                                                    RemoveIt, "1.31"),
    ignored_in_pod<&PodSecurityContext::app_armor_profile>("WIN211", "spec.securityContext.appArmorProfile", NoApparmor, RemoveIt, "1.30"),
    ignored_in_pod<&PodSecurityContext::se_linux_change_policy>("WIN212", "spec.securityContext.seLinuxChangePolicy", NoSelinux, RemoveIt,
                                                                "1.32"),
    {.rule = {"WIN213", "spec.securityContext.windowsOptions.hostProcess", Refused, "HostProcessUnsupported", NoHostProcesses,
              UpdateContainerd, "1.22"},
     .pod_security = {runs_as_host_process},
     .where = lacks_host_processes},
    ignored_in_container<&SecurityContext::se_linux_options>("WIN221", "spec.containers[*].securityContext.seLinuxOptions", NoSelinux),
    ignored_in_container<&SecurityContext::seccomp_profile>("WIN222", "spec.containers[*].securityContext.seccompProfile", NoSeccomp,
                                                            RemoveIt, "1.19"),
    ignored_in_container<&SecurityContext::capabilities>("WIN223", "spec.containers[*].securityContext.capabilities",
                                                         "Windows has no POSIX capabilities"),
    ignored_in_container<&SecurityContext::read_only_root_filesystem>("WIN224", "spec.containers[*].securityContext.readOnlyRootFilesystem",
                                                                      "the root file system of a Windows container is writable",
                                                                      "remove it; volumes can be read-only"),
    ignored_in_container<&SecurityContext::allow_privilege_escalation>(
        "WIN225", "spec.containers[*].securityContext.allowPrivilegeEscalation", "Windows has no equivalent"),
    ignored_in_container<&SecurityContext::proc_mount>("WIN226", "spec.containers[*].securityContext.procMount",
                                                       "there is no /proc on Windows"),
    ignored_in_container<&SecurityContext::run_as_user>("WIN227", "spec.containers[*].securityContext.runAsUser", NoUids, UseUserName),
    ignored_in_container<&SecurityContext::run_as_group>("WIN228", "spec.containers[*].securityContext.runAsGroup", NoUids, UseUserName),
    ignored_in_container<&SecurityContext::app_armor_profile>("WIN229", "spec.containers[*].securityContext.appArmorProfile", NoApparmor,
                                                              RemoveIt, "1.30"),
    {.rule = {"WIN233", "spec.containers[*].securityContext.windowsOptions.hostProcess", Refused, "HostProcessUnsupported", NoHostProcesses,
              UpdateContainerd, "1.22"},
     .container_security = {runs_as_host_process},
     .where = lacks_host_processes},
    {.rule = {"WIN231", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/*]", Ignored, NotThere, NoApparmor, RemoveIt},
     .annotation = is_of_app_armor},
    {.rule = {"WIN232", "metadata.annotations[*seccomp.security.alpha.kubernetes.io/*]", Ignored, NotThere, NoSeccomp, RemoveIt},
     .annotation = is_of_seccomp},
    {.rule = {"WIN301", "spec.volumes[*].hostPath", Advised, "",
              "a named pipe of the host (\\\\.\\pipe\\NAME, without a type) can be mounted at \\\\.\\pipe\\NAME only, and nothing else can "
              "be mounted there: the container will not start",
              "give volume and mount the form \\\\.\\pipe\\NAME, and the volume no type"},
     .pod = {misplaces_pipe}},
    {.rule = {"WIN302", "spec.volumes[*].image", Advised, "", "Windows nodes have no image volumes: the container will not start",
              "copy the files into an emptyDir by an init container", "1.31"},
     .volume = {[](const Volume& volume) { return volume.image.has_value(); }}},
    {.rule = {"WIN303", "spec.volumes[*].emptyDir.medium", Refused, OfVolume, "memory-backed emptyDir is not supported on Windows",
              "remove it: the volume is then on the node's disk"},
     .volume = {is_in_memory}},
    {.rule = {"WIN304", "spec.volumes[*].nfs", Refused, OfVolume, "NFS volumes are not supported on Windows",
              "use an SMB share through a CSI driver"},
     .volume = {is_nfs}},
    {.rule = {"WIN305", "spec.containers[*].volumeMounts[*].subPath", Refused, OfContainer, NoSubPaths, MountWhole, "1.14",
              Maturity::Stable, "WindowsSubPath"},
     .mount = {is_set<VolumeMount, &VolumeMount::sub_path>}},
    {.rule = {"WIN306", "spec.containers[*].volumeMounts[*].subPathExpr", Refused, OfContainer, NoSubPaths, MountWhole, "1.14",
              Maturity::Stable, "WindowsSubPath"},
     .mount = {is_set<VolumeMount, &VolumeMount::sub_path_expr>}},
    {.rule = {"WIN307", "spec.containers[*].volumeMounts[*].mountPropagation", Refused, "MountPropagationUnsupported",
              "mounts of a Windows container are its own; propagation other than None is not supported", RemoveIt},
     .mount = {is_propagated}},
    {.rule = {"WIN308", "spec.containers[*].volumeDevices", Refused, "VolumeModeBlockUnsupported",
              "volume mode Block is not supported on Windows", "claim a volume with volumeMode Filesystem, and list it in volumeMounts"},
     .devices = {has_devices}},
    default_mode<&Volume::config_map>("WIN311", "spec.volumes[*].configMap.defaultMode"),
    default_mode<&Volume::secret>("WIN312", "spec.volumes[*].secret.defaultMode"),
    default_mode<&Volume::projected>("WIN313", "spec.volumes[*].projected.defaultMode"),
    default_mode<&Volume::downward_api>("WIN314", "spec.volumes[*].downwardAPI.defaultMode"),
    items_mode<&Volume::config_map>("WIN315", "spec.volumes[*].configMap.items"),
    items_mode<&Volume::secret>("WIN316", "spec.volumes[*].secret.items"),
    {.rule = {"WIN317", "spec.volumes[*].projected.sources", Ignored, NotThere,
              "have items with a mode, and file modes have no effect on Windows", "remove mode"},
     .volume = {has_projected_items_with_mode, clear_projected_items_modes}},
    items_mode<&Volume::downward_api>("WIN318", "spec.volumes[*].downwardAPI.items"),
    {.rule = {"WIN501", "spec.containers[*].resources.requests[memory]", Advised, "",
              "differs from the limit, and Windows cannot guarantee it", "set the limit only, or make both equal"},
     .resources = {request_differs_from_limit}},
    {.rule = {"WIN502", "spec.containers[*].resources", Advised, "", "without requests or limits a Windows node can be overcommitted",
              "set resources.limits"},
     .resources = {is_unbounded}},
    // Kubernetes refused such names until 1.31, then let them in by default (KEP-4369), so that refusing them would break manifests made
    // for it. What made people ask for them, sections of .NET's configuration, is better served by '__', which every shell can set too.
    {.rule = {"WIN503", "spec.containers[*].env", Advised, "EnvironmentNameWithColon",
              "has a name with ':', which Kubernetes before 1.32 refuses and not every shell or program can set or read",
              "write '__' for ':', which .NET treats as the same"},
     .environment = {has_name_with_colon},
     .on_every_system = true},
    {.rule = {"WIN504", "spec.containers[*].resources", Refused, "HugePagesUnsupported", "Windows nodes have no huge pages",
              "remove hugepages- from requests and limits"},
     .resources = {wants_huge_pages},
     .keeps_pending = true},
    {.rule = {"WIN505", "spec.containers[*].image", Refused, "",
              "is made for another build of Windows; process isolation needs the node's build",
              "use the tag for the nodes' build, or an image of several platforms"},
     .image = is_of_other_build},
    {.rule = {"WIN506", "spec.containers[*].terminationMessagePath", Ignored, NotThere,
              "Docker on Windows mounts directories only, so that the container has no file for its last message",
              "write terminationMessagePolicy FallbackToLogsOnError, or use containerd"},
     .message_path = {has_own_message_path},
     .where = lacks_files_as_mounts},
    {.rule = {"WIN507", "spec.terminationGracePeriodSeconds", Ignored, NotThere,
              "Docker on Windows ends a container after the time that the registry of its image gives, 5 s if nothing is written there",
              "write WaitToKillServiceTimeout into the image's registry, or use containerd"},
     .pod = {has_own_grace_period},
     .where = lacks_grace_periods},
    {.rule = {"WIN603", "spec.nodeSelector[kubernetes.io/os]", Advised, "",
              "has capital letters, and label values are case-sensitive: no node has such a label", "write windows or linux"},
     .pod = {misspells_system},
     .on_every_system = true,
     .keeps_pending = true},
};

constexpr ServiceRule ServiceRules[] = {
    {.rule = {"WIN403", "spec.sessionAffinityConfig.clientIP.timeoutSeconds", Ignored, "SessionAffinityTimeoutIgnored",
              "has no effect on Windows nodes, which use their own timeout", "remove it"},
     .applies = has_own_affinity_timeout},
    {.rule = {"WIN404", "spec.sessionAffinity", Ignored, "SessionAffinityUnsupported",
              "Session Affinity is not supported on this version of Windows", "use nodes with Windows Server 2022 or later"},
     .applies = has_affinity_on_old_build},
    {.rule = {"WIN405", "spec.loadBalancerSourceRanges", Ignored, "SourceRangesIgnored", "are not enforced on Windows nodes",
              "limit the sources in front of the nodes"},
     .applies = limits_sources},
    {.rule = {"WIN406", "spec.ports", Ignored, "UnsupportedProtocol", "Windows nodes forward TCP and UDP, not SCTP",
              "use TCP or UDP, or keep the clients on Linux nodes"},
     .applies = has_sctp},
    {.rule = {"WIN407", "spec.ipFamilies", Refused, "", "Windows nodes on an overlay network have IPv4 only",
              "write IPv4, or use an l2bridge network", "1.20", Maturity::Beta},
     .applies = is_ipv6_on_overlay},
};

constexpr Rule NodeRules[] = {
    {"WIN411", "spec.externalTrafficPolicy", Ignored, "LocalTrafficPolicyNeedsDSR",
     "Local acts as Cluster on nodes whose host network service has no direct server return",
     "write Cluster, or update Windows on the nodes"},
    {"WIN412", "metadata.annotations[preserve-destination]", Ignored, "PreserveDestinationNeedsDSR",
     "has no effect on nodes whose host network service has no direct server return", "remove it, or update Windows on the nodes"},
    {"WIN413", "spec.ports[*].targetPort", Advised, "MixedTargetPorts",
     "all backends of a service port share one port on Windows nodes, where endpoints with other ports are left out",
     "give the port the same number in all pods of the service"},
    {"WIN414", "spec.selector", Advised, "TooManyBackends",
     "selects more pods than the node's version of Windows takes behind one service port; some are left out, local ones last",
     "split the service, or use nodes with Windows Server 2022 or later"},
};

}  // namespace

std::span<const PodRule> pod_rules() { return PodRules; }
std::span<const ServiceRule> service_rules() { return ServiceRules; }
std::span<const Rule> node_rules() { return NodeRules; }

}  // namespace porthole::windows
